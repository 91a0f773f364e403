"""What every stage is given: the choices of the sample, and where results are written."""

from __future__ import annotations

import ctypes
import sys
from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import wraps
from pathlib import Path
from typing import Any, TypeVar

import numpy as np

from siis._types import Floats, Ints
from siis.distributed.row_blocks import Reader
from siis.distributed.work_files import load_object
from siis.model.choose import Choices
from siis.model.constraints import Constraints
from siis.model.programs import ProgramConfig

ROOMY_FACTOR = 3  # times the chosen vectors (or classes) in memory, from which on rows are in double precision
RECALL_ROWS = 500  # rows on which the search for neighbours is compared with an exact one
LARGE_ARRAY, M_MMAP_THRESHOLD = 2**21, -3  # bytes of arrays with memory of their own; the parameter of mallopt
Work = TypeVar("Work", bound=Callable[..., Any])


@dataclass(frozen=True, eq=False)
class SampleChoices:
    """Choices for all rows, made by a fit to a sample."""

    reader: Reader  # gives the features of a block, and the ids of its rows or None
    classes: Any  # (c,)
    choices: Choices
    constraints: Constraints
    tol: float
    max_iter: int


@dataclass(frozen=True, eq=False, kw_only=True)
class Settings(SampleChoices):
    """Settings of all stages."""

    folder: Path  # of the work
    n_shards: int
    seed: int
    n_components: int  # at most so many eigenvectors; memory allows no more
    n_rows: int  # of all files

    @classmethod
    def load(cls, folder: str | Path) -> Settings:
        """The settings in a work folder, which may have been moved."""
        found = load_object(Path(folder) / "settings.pickle")
        assert isinstance(found, Settings)
        return replace(found, folder=Path(folder))

    def path(self, stage: str, shard: int, block: int | None = None) -> Path:
        """The file of a shard in a stage, or of one of its blocks."""
        return self.folder / stage / (f"{shard:05d}.npz" if block is None else f"{shard:05d}-{block:06d}.npz")

    @property
    def labels_path(self) -> Path:
        """The given labels of all rows: rows (ascending), codes, and the fold in which each is held out."""
        return self.folder / "labels.npz"

    @property
    def low_memory(self) -> bool:
        """Whether memory is so short that single precision must do."""
        return self.n_components < ROOMY_FACTOR * max(self.choices.program.n_components, len(self.classes))

    @property
    def program(self) -> ProgramConfig:
        """The chosen program, with no more vectors than memory allows."""
        config = self.choices.program
        return replace(config, n_components=min(config.n_components, self.n_components))

    @property
    def recall_rows(self) -> Ints:
        """Rows on which the search for neighbours is measured, ascending."""
        n = min(RECALL_ROWS, self.n_rows)
        return np.sort(np.random.default_rng([self.seed, RECALL_ROWS]).choice(self.n_rows, n, replace=False))

    def points(self, X: Any) -> Floats:
        """Points of examples in the space of the graph, in single precision."""
        assert self.choices.space is not None
        return np.ascontiguousarray(self.choices.space(X), dtype=np.float32)


def trim_memory(work: Work) -> Work:
    """Return freed memory to the system at the end of a stage; the C library keeps it in small pieces."""

    @wraps(work)
    def done(*args: Any) -> Any:
        library = ctypes.CDLL(None) if sys.platform == "linux" else None
        is_gnu = hasattr(library, "mallopt") and hasattr(library, "malloc_trim")
        if library is not None and is_gnu:
            library.mallopt(M_MMAP_THRESHOLD, LARGE_ARRAY)
        try:
            return work(*args)
        finally:
            if library is not None and is_gnu:
                library.malloc_trim(0)

    return done  # type: ignore[return-value]
