"""Blocks of rows that a worker reads at a time."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Protocol, TypeAlias

import numpy as np

from siis._types import Features

Reader: TypeAlias = Callable[[Any], tuple[Features, list[str] | None]]  # a block -> its features, and its ids


class Block(Protocol):
    """Some rows that follow each other, in a file that all workers see."""

    @property
    def first(self) -> int:
        """Number of the first row among all."""

    @property
    def n(self) -> int:
        """Number of rows."""


@dataclass(frozen=True)
class ArrayBlock:
    """Some rows of an array in a file."""

    path: str  # of an NPY file
    start: int  # the first of them in the file
    first: int  # the same among all rows
    n: int

    def rows(self) -> Any:
        """The rows, as a view of the file."""
        return np.load(self.path, mmap_mode="r")[self.start : self.start + self.n]


@dataclass(frozen=True)
class ArrayReader:
    """Reads rows of arrays."""

    dtype: str  # the precision of all rows

    def __call__(self, block: ArrayBlock) -> tuple[Features, None]:
        """Features of a block; it has no ids."""
        return np.array(block.rows(), dtype=self.dtype, order="C"), None
