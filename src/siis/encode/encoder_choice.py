"""Which encoder is used, and the settings that its file lacks."""

from __future__ import annotations

import math
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from siis.plain_data import from_plain, to_plain

MOST_SIZE = 8192
NUMBERS = "the mean and the standard deviation of pixels (--encoder-mean, --encoder-std)"


@dataclass(frozen=True)
class EncoderChoice:
    """An encoder and its settings, as the user names them.

    Attributes
    ----------
    source : str
        Path of an ONNX file, the name of a model of timm (images) or sentence-transformers (texts), or the folder of
        one of sentence-transformers.
    size : int, optional
        Pixels of a side of the images, or tokens of a text, that it takes. None: as its file says.
    mean, std : tuple of float, optional
        Of pixels in 0..1, one for all colours or one for each of three; taken off, and divided by. None: as its file
        says, else those of ImageNet.
    tokenizer : str, optional
        Path of the tokenizer's file. None: tokenizer.json next to the ONNX file.
    """

    source: str
    size: int | None = None
    mean: tuple[float, ...] | None = None
    std: tuple[float, ...] | None = None
    tokenizer: str | None = None

    def __post_init__(self) -> None:
        if not self.source:
            raise ValueError("an encoder must be an ONNX file or the name of a model; found an empty text. Name one.")
        if self.size is not None and not 1 <= self.size <= MOST_SIZE:
            raise ValueError(
                f"the size of images or texts (--encoder-size) must be from 1 to {MOST_SIZE:,}; found {self.size}."
            )
        for numbers in (self.mean, self.std):
            if numbers is not None and (len(numbers) not in (1, 3) or not all(map(math.isfinite, numbers))):
                raise ValueError(f"{NUMBERS} must be one number or three; found {' '.join(map(str, numbers))}.")
        if self.std is not None and min(self.std) <= 0:
            raise ValueError(
                f"a standard deviation of pixels (--encoder-std) must be positive; found {min(self.std)}."
            )

    @property
    def is_file(self) -> bool:
        """Whether the source is a file, by its suffix or because it exists. A folder holds a model of a library."""
        return self.source.lower().endswith(".onnx") or Path(self.source).is_file()

    def to_plain(self) -> dict[str, Any]:
        """Give the choice as values for JSON."""
        return to_plain(self)[0]

    @classmethod
    def from_plain(cls, found: Any) -> EncoderChoice:
        """Rebuild a choice; ValueError where it is something else."""
        choice: EncoderChoice = from_plain(cls, found, {})
        return choice
