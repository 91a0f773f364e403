"""Arrays of a stage in the work folder: whole or not at all, so that whatever is there counts."""

from __future__ import annotations

import os
import pickle
import uuid
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np


def save(path: Path, **arrays: Any) -> None:
    """Write arrays, in one file that is there whole or not at all."""
    path.parent.mkdir(parents=True, exist_ok=True)
    begun = path.with_name(f".{path.name}-{uuid.uuid4().hex}")
    with begun.open("wb") as file:
        np.savez(file, **arrays)
    os.replace(begun, path)


def load(path: Path) -> dict[str, Any]:
    """Read the arrays of a file."""
    with np.load(path) as found:
        return {name: found[name] for name in found.files}


def keep(path: Path, value: Any) -> None:
    """Write an object of this program's own, for its own workers."""
    path.parent.mkdir(parents=True, exist_ok=True)
    begun = path.with_name(f".{path.name}-{uuid.uuid4().hex}")
    begun.write_bytes(pickle.dumps(value, protocol=5))
    os.replace(begun, path)


def kept(path: Path) -> Any:
    """Read such an object."""
    return pickle.loads(path.read_bytes())


def write_whole(path: Path, write: Callable[[Any], Any]) -> None:
    """Write a file that is there whole or not at all; ``write`` takes it, open for bytes."""
    begun = path.with_name(f".{path.name}-{uuid.uuid4().hex}")
    with begun.open("wb") as file:
        write(file)
    os.replace(begun, path)
