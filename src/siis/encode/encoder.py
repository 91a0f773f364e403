"""An encoder turns images or texts into features; a choice says which one, with the settings that its file lacks."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from siis._types import Floats
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


@dataclass(frozen=True)
class Content:
    """An image or a text, as bytes."""

    name: str  # for messages
    data: bytes  # a file, or a text in UTF-8


@dataclass(frozen=True, eq=False)
class Encoder:
    """A network with all that its input needs.

    Attributes
    ----------
    name : str
    digest : str
        Of the weights and of every setting: the same digest and content give the same features, to rounding.
    chunk : int
        How many contents are best handed over at once.
    run : callable
        Contents -> ndarray of float32, shape (n, d).
    settings : str
        Its settings, in words.
    """

    name: str
    digest: str
    chunk: int
    run: Callable[[Sequence[Content]], Floats]
    settings: str


def pooled(output: Any, n: int, name: str, mask: Any = None) -> Floats:
    """Means over places or tokens, (n, d); output: (n, d), (n, d, height, width) or (n, tokens, d).

    ``mask``, (n, tokens), says which tokens count; without it all do.
    """
    X = np.asarray(output, dtype=np.float32)
    if X.ndim == 4 and mask is None and X.shape[0] == n:
        X = X.mean(axis=(2, 3))
    elif X.ndim == 3 and mask is None and X.shape[0] == n:
        X = X.mean(axis=1)
    elif X.ndim == 3 and mask is not None and X.shape[:2] == mask.shape:
        X = np.einsum("btd,bt->bd", X, mask.astype(np.float32)) / mask.sum(axis=1, keepdims=True).astype(np.float32)
    if X.ndim != 2 or X.shape[0] != n or X.shape[1] == 0:
        raise ValueError(
            f"{name}: the output must be one row of numbers for each example; a batch of {n} gave shape {X.shape}. "
            "Export the network with another output."
        )
    return X
