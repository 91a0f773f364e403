"""A folder of images -> grey pixels."""

from __future__ import annotations

import os
import warnings
from dataclasses import dataclass
from pathlib import Path
from typing import Any, ClassVar, Self

import numpy as np

from siis._types import Floats
from siis.encode.pictures import REMEDY, opened
from siis.tables.encoders import Plain, only_keys, whole_number
from siis.tables.messages import readable

SUFFIXES = (".png", ".jpg", ".jpeg", ".gif", ".bmp", ".webp")
SIZE = 32
LARGEST_SIZE = 1024


@dataclass(frozen=True, eq=False)
class Pixels:
    """Turns images into rows of grey values in 0..1.

    Attributes
    ----------
    size : int
        Width and height to which every image is resized.
    """

    kind: ClassVar[str] = "images"
    size: int = SIZE

    @property
    def n_features(self) -> int:
        """Number of features, d."""
        return self.size * self.size

    def encode(self, paths: tuple[Path, ...]) -> Floats:
        """Read images.

        Parameters
        ----------
        paths : tuple of Path, length n

        Returns
        -------
        ndarray of float32, shape (n, size * size)
        """
        X = np.empty((len(paths), self.size * self.size), dtype=np.float32)
        for i, path in enumerate(paths):
            with (
                warnings.catch_warnings(),
                readable(path, "an image", REMEDY),
            ):
                warnings.simplefilter("ignore")  # large images and odd metadata are no concern of the user here
                X[i] = _grey(path, self.size)
        return X

    def to_plain(self) -> Plain:
        """Give the encoder as plain data.

        Returns
        -------
        settings : dict, JSON-able
        arrays : dict of str to ndarray
        """
        return {"size": self.size}, {}

    @classmethod
    def from_plain(cls, settings: Any, arrays: Any) -> Self:
        """Rebuild an encoder, refusing anything that is not one.

        Parameters
        ----------
        settings : dict
        arrays : dict of str to ndarray

        Returns
        -------
        Pixels
        """
        only_keys(arrays, (), "arrays")
        size = only_keys(settings, ("size",), "settings")["size"]
        return cls(whole_number(size, "size of images", LARGEST_SIZE))


def _grey(path: Path, size: int) -> Floats:
    from PIL import Image  # noqa: PLC0415 - only needed for images

    image = opened(path, "L", size, size).resize((size, size), Image.Resampling.BOX)
    return np.asarray(image, dtype=np.float32).ravel() / 255


def holds_images(folder: Path) -> bool:
    """Tell whether a folder or its sub-folders hold images.

    Parameters
    ----------
    folder : Path

    Returns
    -------
    bool
    """
    try:
        return bool(find_images(folder)[0])
    except ValueError:
        return False


def find_images(folder: Path) -> tuple[tuple[str, ...], tuple[Path, ...]]:
    """List the images of a folder and its sub-folders, in the order of their names; hidden ones do not count.

    Parameters
    ----------
    folder : Path

    Returns
    -------
    ids : tuple of str, length n
        Paths relative to the folder, with forward slashes.
    paths : tuple of Path, length n
    """
    found: list[str] = []
    for place, folders, files in os.walk(folder):
        folders[:] = [name for name in folders if not name.startswith((".", "__MACOSX"))]
        for name in files:
            if name.lower().endswith(SUFFIXES) and not name.startswith("."):
                found.append(Path(place, name).relative_to(folder).as_posix())
    if not found:
        raise ValueError(f"{folder}: must hold images ({', '.join(SUFFIXES)}); found none. Check the path.")
    ids = tuple(sorted(found))
    return ids, tuple(folder / name for name in ids)
