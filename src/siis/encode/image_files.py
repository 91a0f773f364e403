"""Images as people see them: EXIF-rotated, on a white background, with 8 bits for each colour."""

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


class UnreadableImage(ValueError):
    """An image that cannot be read: what is wrong with it, and its name."""

    def __init__(self, problem: str, name: str) -> None:
        super().__init__(problem)
        self.name = name


@contextmanager
def image_errors(name: str) -> Iterator[None]:
    """Turn any error about a damaged image into a UnreadableImage."""
    try:
        with readable(Path(name), "an image", REMEDY):
            yield
    except ValueError as problem:
        raise UnreadableImage(str(problem), name) from None


@dataclass(frozen=True)
class EmbeddedImage:
    """An image that is stored in a table; it is read like a path."""

    name: str  # for messages
    data: bytes

    def __str__(self) -> str:
        return self.name

    def read_bytes(self) -> bytes:
        """The content of the image file."""
        return self.data

    def open(self, mode: str = "rb") -> BinaryIO:
        """Open it for cell_format."""
        return io.BytesIO(self.data)


ImageSource: TypeAlias = Path | EmbeddedImage


def opened(file: Any, mode: str, width: int, height: int) -> Any:
    """Read an image; a JPEG is decoded at about twice the size that is needed, to save time."""
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
    """The largest centre crop of this shape, resized; returns uint8 of shape (height, width, colours)."""
    from PIL import Image, ImageOps  # noqa: PLC0415 - only needed for images

    with image_errors(name):
        image = ImageOps.fit(opened(io.BytesIO(data), mode, width, height), (width, height), Image.Resampling.BICUBIC)
        return np.asarray(image, dtype=np.uint8).reshape(height, width, len(mode))


def are_photographs(paths: tuple[ImageSource, ...], side: int, sample: int) -> bool:
    """Whether most images of a sample have a shorter side of at least ``side`` pixels; icons do not."""
    from PIL import Image  # noqa: PLC0415 - only needed for images

    seen = paths[:: max(1, len(paths) // sample)]
    large = 0
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # very large images are photographs, too
        for path in seen:
            with path.open("rb") as file, Image.open(file) as image:  # its head alone is read
                large += min(image.size) >= side
    return 2 * large > len(seen)
