"""Arrays of a stage in the work folder: written whole or not at all, so that a file that exists is complete."""

from __future__ import annotations

import mmap
import os
import pickle
import uuid
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np


def save(path: Path, **arrays: Any) -> None:
    """Write arrays, in one file that is there whole or not at all."""
    write_whole(path, lambda file: np.savez(file, **arrays))


def load(path: Path, *names: str) -> dict[str, Any]:
    """Read the arrays of a file, or some of them."""
    with np.load(path) as found:
        return {name: found[name] for name in names or found.files}


def has(path: Path, name: str) -> bool:
    """Whether a file holds such an array."""
    with np.load(path) as found:
        return name in found.files


def save_object(path: Path, value: Any) -> None:
    """Pickle an object for the workers of this job."""
    write_whole(path, lambda file: pickle.dump(value, file, protocol=5))


def load_object(path: Path) -> Any:
    """Load a pickled object."""
    with path.open("rb") as file:
        return pickle.load(file)


def save_arrays(path: Path, **arrays: Any) -> None:
    """Write arrays, each in a file of its own that can be mapped."""
    for name, array in arrays.items():
        write_whole(_one(path, name), partial(np.save, arr=array))


def load_array(path: Path, name: str) -> Any:
    """Read one of these arrays."""
    return np.load(_one(path, name))


def map_array(path: Path, name: str) -> Any:
    """Map one of these arrays: only pages that are read are in memory; changes do not reach the file."""
    return np.load(_one(path, name), mmap_mode="c")


def release_pages(*arrays: Any) -> None:
    """Release the pages of mapped arrays; they are read again when needed."""
    for array in arrays:
        held = getattr(array, "_mmap", None)
        if held is not None and hasattr(mmap, "MADV_DONTNEED"):
            held.madvise(mmap.MADV_DONTNEED)


def _one(path: Path, name: str) -> Path:
    return path.with_name(f"{path.stem}.{name}.npy")


def write_whole(path: Path, write: Callable[[Any], Any]) -> None:
    """Write a file that is there whole or not at all; ``write`` takes it, open for bytes."""
    path.parent.mkdir(parents=True, exist_ok=True)
    begun = path.with_name(f".{path.name}-{uuid.uuid4().hex}")
    with begun.open("wb") as file:
        write(file)
    os.replace(begun, path)
