"""Pictures for a report: small ones in its lists, and large ones."""

from __future__ import annotations

import base64
import io
from collections.abc import Sequence
from functools import cache
from typing import Any

from PIL import Image

from siis.app.report.shown import Pictures
from siis.encode.image_files import ImageSource

SIDE = 64  # pixels of a thumbnail, at most
LARGE = 480  # pixels of a large picture, at most


def thumbnails_of(images: Sequence[ImageSource] | None) -> Pictures | None:
    """Thumbnails of images; None without images."""
    return None if images is None else cache(lambda index: data_uri(_opened(images[index], SIDE)))


def large_of(images: Sequence[ImageSource] | None) -> Pictures | None:
    """Large pictures of images, None where the thumbnail shows every pixel; None without images."""
    return None if images is None else cache(lambda index: _large(_opened(images[index], LARGE)))


def data_uri(image: Any) -> str:
    """Write an image as a data URI in PNG or JPEG, whichever is smaller."""
    image.thumbnail((SIDE, SIDE))
    return min((_address(image, kind) for kind in ("PNG", "JPEG")), key=len)


def _large(image: Any) -> str | None:
    if max(image.size) <= SIDE:
        return None
    image.thumbnail((LARGE, LARGE))
    return _address(image, "JPEG")


def _opened(picture: ImageSource, side: int) -> Any:
    with picture.open("rb") as file, Image.open(file) as image:
        image.draft("RGB", (2 * side, 2 * side))  # large photographs are decoded small
        return image.convert("RGB")


def _address(image: Any, kind: str) -> str:
    out = io.BytesIO()
    image.save(out, kind, optimize=True)
    return f"data:image/{kind.lower()};base64," + base64.b64encode(out.getvalue()).decode()
