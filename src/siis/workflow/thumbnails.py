"""Small pictures for a report."""

from __future__ import annotations

import base64
import io
from collections.abc import Callable, Sequence
from functools import cache
from typing import Any

from PIL import Image

from siis.encode.pictures import Picture

SIDE = 64  # pixels, at most


def thumbnails_of(images: Sequence[Picture] | None) -> Callable[[int], str | None] | None:
    """Give the picture of each example of a folder.

    Parameters
    ----------
    images : sequence of n Path or Embedded, or None

    Returns
    -------
    callable or None
        Index -> data URI.
    """
    if images is None:
        return None

    @cache
    def thumbnail(index: int) -> str | None:
        with images[index].open("rb") as file, Image.open(file) as image:
            image.draft("RGB", (2 * SIDE, 2 * SIDE))  # large photographs are decoded small
            return data_uri(image.convert("RGB"))

    return thumbnail


def data_uri(image: Any) -> str:
    """Write an image as a PNG or a JPEG, whichever is smaller, inside an address.

    Parameters
    ----------
    image : PIL.Image.Image

    Returns
    -------
    str
    """
    image.thumbnail((SIDE, SIDE))
    return min((_address(image, kind) for kind in ("PNG", "JPEG")), key=len)


def _address(image: Any, kind: str) -> str:
    out = io.BytesIO()
    image.save(out, kind, optimize=True)
    return f"data:image/{kind.lower()};base64," + base64.b64encode(out.getvalue()).decode()
