"""Images as grey pixels, and the images of a folder."""

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
        from PIL import Image  # noqa: PLC0415 - only needed for images

        X = np.empty((len(paths), self.n_features), dtype=np.float32)
        for i, path in enumerate(paths):
            try:
                with warnings.catch_warnings(), image_errors(str(path)), path.open("rb") as file:
                    warnings.simplefilter("ignore")  # large images and odd metadata are no concern of the user here
                    image = opened(file, "L", self.size, self.size)
                    image = image.resize((self.size, self.size), Image.Resampling.BOX)
                    X[i] = np.asarray(image, dtype=np.float32).ravel() / 255
            except UnreadableImage as problem:
                broken[i] = str(problem)
        return X, ()


def left_out(ids: Sequence[str], broken: Mapping[int, str]) -> list[str]:
    """Notes that name the images that cannot be read; refuses data without any other image."""
    if not broken:
        return []
    first = broken[min(broken)]
    if len(broken) == len(ids):
        raise ValueError(first)
    names = listed([ids[i] for i in sorted(broken)])
    return [f"{plural(len(broken), 'image')} left out, which cannot be read: {names}. {first}"]


def image_names(folder: Path) -> tuple[str, ...]:
    """Paths of the images within a folder, with forward slashes, by name, without hidden ones."""
    found: list[str] = []
    for place, folders, files in os.walk(folder):
        folders[:] = [name for name in folders if not name.startswith((".", "__MACOSX"))]
        images = (name for name in files if name.lower().endswith(SUFFIXES) and not name.startswith("."))
        found += (Path(place, name).relative_to(folder).as_posix() for name in images)
    return tuple(sorted(found))


def find_images(folder: Path) -> tuple[tuple[str, ...], tuple[Path, ...]]:
    """Ids (relative paths) and paths of a folder's images."""
    ids = image_names(folder)
    if not ids:
        raise ValueError(f"{folder}: must hold images ({', '.join(SUFFIXES)}); found none. Check the path.")
    return ids, tuple(folder / name for name in ids)
