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


def write_whole(path: Path, write: Callable[[Any], Any]) -> None:
    """Write a file that is there whole or not at all; ``write`` takes it, open for bytes."""
    path.parent.mkdir(parents=True, exist_ok=True)
    begun = path.with_name(f".{path.name}-{uuid.uuid4().hex}")
    with begun.open("wb") as file:
        write(file)
    os.replace(begun, path)


def save(path: Path, **arrays: Any) -> None:
    """Write arrays into one file."""
    write_whole(path, lambda file: np.savez(file, **arrays))


def load(path: Path, *names: str) -> list[Any]:
    """Read some arrays of a file."""
    with np.load(path) as found:
        return [found[name] for name in names]


def concatenated(paths: list[Path], name: str) -> Any:
    """An array of several files, concatenated."""
    return np.concatenate([load(path, name)[0] for path in paths])


def save_object(path: Path, value: Any) -> None:
    """Pickle an object for the workers of this job."""
    write_whole(path, lambda file: pickle.dump(value, file, protocol=5))


def load_object(path: Path) -> Any:
    """Load a pickled object."""
    return pickle.loads(path.read_bytes())


def save_arrays(path: Path, **arrays: Any) -> None:
    """Write arrays, each into a file of its own that can be mapped."""
    for name, array in arrays.items():
        write_whole(_file_of(path, name), partial(np.save, arr=array))


def load_array(path: Path, name: str) -> Any:
    """Read one of these arrays."""
    return np.load(_file_of(path, name))


def map_array(path: Path, name: str) -> Any:
    """Map one of these arrays: only pages that are read are in memory; changes do not reach the file."""
    return np.load(_file_of(path, name), mmap_mode="c")


def release_pages(*arrays: Any) -> None:
    """Release the pages of mapped arrays; they are read again when needed."""
    for array in arrays:
        held = getattr(array, "_mmap", None)
        if held is not None and hasattr(mmap, "MADV_DONTNEED"):
            held.madvise(mmap.MADV_DONTNEED)


def _file_of(path: Path, name: str) -> Path:
    return path.with_name(f"{path.stem}.{name}.npy")
