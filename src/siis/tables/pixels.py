"""Folders of images as grey pixels."""

from __future__ import annotations

import os
import warnings
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, ClassVar

import numpy as np

from siis._types import Floats
from siis.encode.image_files import ImageSource, UnreadableImage, image_errors, opened
from siis.plain_data import check
from siis.texts import listed, plural

SUFFIXES = (".png", ".jpg", ".jpeg", ".gif", ".bmp", ".webp")
SIZE = 32
LARGEST_SIZE = 1024


@dataclass(frozen=True, eq=False)
class Pixels:
    """Encodes images as rows of grey values in 0..1."""

    kind: ClassVar[str] = "images"
    size: int = SIZE  # width and height to which every image is resized

    def __post_init__(self) -> None:
        check(0 < self.size <= LARGEST_SIZE, f"a size of images from 1 to {LARGEST_SIZE:,}")

    @property
    def n_features(self) -> int:
        """Number of features, d."""
        return self.size * self.size

    def encode(
        self, paths: Sequence[ImageSource], broken: dict[int, str], located: Any = None
    ) -> tuple[Floats, tuple[str, ...]]:
        """Read n images, (n, size * size), without notes; ``broken`` collects the unreadable ones."""
        X = np.empty((len(paths), self.size * self.size), dtype=np.float32)
        for i, path in enumerate(paths):
            try:
                with warnings.catch_warnings(), image_errors(str(path)):
                    warnings.simplefilter("ignore")  # large images and odd metadata are no concern of the user here
                    X[i] = _grey(path, self.size)
            except UnreadableImage as problem:
                broken[i] = str(problem)
        return X, ()


def _grey(path: ImageSource, size: int) -> Floats:
    from PIL import Image  # noqa: PLC0415 - only needed for images

    with path.open("rb") as file:
        image = opened(file, "L", size, size).resize((size, size), Image.Resampling.BOX)
    return np.asarray(image, dtype=np.float32).ravel() / 255


def left_out(ids: Sequence[str], broken: Mapping[int, str]) -> list[str]:
    """Notes that name the images that cannot be read; refuses data without any other image."""
    if not broken:
        return []
    first = broken[min(broken)]
    if len(broken) == len(ids):
        raise ValueError(first)
    names = listed([ids[i] for i in sorted(broken)])
    return [f"{plural(len(broken), 'image')} left out, which cannot be read: {names}. {first}"]


def holds_images(folder: Path) -> bool:
    """Whether a folder or its sub-folders hold images."""
    try:
        return bool(find_images(folder)[0])
    except ValueError:
        return False


def find_images(folder: Path) -> tuple[tuple[str, ...], tuple[Path, ...]]:
    """Ids (relative paths with forward slashes) and paths of a folder's images by name, without hidden ones."""
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
