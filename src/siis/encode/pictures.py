"""Pictures as people see them: turned as the camera says, on white paper, of eight bits."""

from __future__ import annotations

import io
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, BinaryIO, TypeAlias

import numpy as np

from siis.texts import readable

DEEP_MODES = ("I;16", "I;16B", "I;16L", "I")  # 16 bits for each pixel
REMEDY = "Replace it, or take it out of the folder."


class BrokenPicture(ValueError):
    """A picture that cannot be read; its argument is what is wrong with it.

    Parameters
    ----------
    problem : str
    name : str
        Path of the picture.
    """

    def __init__(self, problem: str, name: str) -> None:
        super().__init__(problem)
        self.name = name


@contextmanager
def a_picture(name: str) -> Iterator[None]:
    """Turn whatever a library says about a damaged picture into a BrokenPicture.

    Parameters
    ----------
    name : str
        Path of the picture.
    """
    try:
        with readable(Path(name), "an image", REMEDY):
            yield
    except ValueError as problem:
        raise BrokenPicture(str(problem), name) from None


@dataclass(frozen=True)
class Embedded:
    """A picture that stands in the file of a table; it is read as a path is.

    Attributes
    ----------
    name : str
        For messages.
    data : bytes
    """

    name: str
    data: bytes

    def __str__(self) -> str:
        return self.name

    def read_bytes(self) -> bytes:
        """Give the content of its file."""
        return self.data

    def open(self, mode: str = "rb") -> BinaryIO:
        """Open it for reading."""
        return io.BytesIO(self.data)


Picture: TypeAlias = Path | Embedded


def opened(file: Any, mode: str, width: int, height: int) -> Any:
    """Read a picture, at least twice as large as it is wanted where that spares time.

    Parameters
    ----------
    file : path or file object
    mode : {"L", "RGB"}
    width, height : int

    Returns
    -------
    PIL.Image.Image
    """
    from PIL import Image, ImageOps, UnidentifiedImageError  # noqa: PLC0415 - only needed for images

    try:
        found = Image.open(file)
    except UnidentifiedImageError:
        raise ValueError("its format is none of images") from None
    with found:
        found.draft(mode, (2 * width, 2 * height))  # JPEG: decode no more than is needed
        image = ImageOps.exif_transpose(found)
        if image.mode in DEEP_MODES:
            image = Image.fromarray((np.asarray(image, dtype=np.float64) / 257).astype(np.uint8))
        elif image.mode in ("RGBA", "LA", "PA") or "transparency" in image.info:
            image = image.convert("RGBA")
            paper = Image.new("RGBA", image.size, "white")  # what is behind a transparent pixel is chance
            image = Image.alpha_composite(paper, image)
        return image.convert(mode)


def centre(name: str, data: bytes, mode: str, width: int, height: int) -> Any:
    """The middle of a picture, as large as it can be in this shape.

    Parameters
    ----------
    name : str
        Its path, for messages.
    data : bytes
        Its file.
    mode : {"L", "RGB"}
    width, height : int

    Returns
    -------
    ndarray of uint8, shape (height, width, colours)
    """
    from PIL import Image, ImageOps  # noqa: PLC0415 - only needed for images

    with a_picture(name):
        image = ImageOps.fit(opened(io.BytesIO(data), mode, width, height), (width, height), Image.Resampling.BICUBIC)
        return np.asarray(image, dtype=np.uint8).reshape(height, width, len(mode))


def are_photographs(paths: tuple[Picture, ...], side: int, sample: int) -> bool:
    """Whether most pictures, of a sample, are too large to be icons or drawings of a pen.

    Parameters
    ----------
    paths : tuple of Path or Embedded
    side : int
        Pixels that the shorter side of a photograph has.
    sample : int
        How many are looked at.

    Returns
    -------
    bool
    """
    from PIL import Image  # noqa: PLC0415 - only needed for images

    seen = paths[:: max(1, len(paths) // sample)]
    large = 0
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # very large images are photographs, too
        for path in seen:
            with path.open("rb") as file, Image.open(file) as image:  # its head alone is read
                large += min(image.size) >= side
    return 2 * large > len(seen)
