"""Dask arrays and data frames -> blocks of the work folder; answers in that folder -> Dask arrays."""

from __future__ import annotations

import shutil
import tempfile
import weakref
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from itertools import accumulate, pairwise
from pathlib import Path
from typing import Any

import numpy as np
import scipy.sparse as sp
from sklearn.utils.validation import check_array

from siis._types import Ints
from siis.distributed.job import ANSWERS
from siis.distributed.row_blocks import (
    MOST_ROWS,
    ArrayReader,
    Reader,
    TableReader,
    array_blocks,
    array_rows,
    parquet_blocks,
    table_rows,
)
from siis.distributed.work_files import write_whole
from siis.distributed.workers import gathered
from siis.estimators.inputs import columns_of_texts, columns_of_times, is_squarable, refuse_columns
from siis.tables.frames import sheet_of_frame
from siis.tables.table_encoder import TableEncoder

MOST_CHARACTERS = 2_000  # characters of a message
SETTING = "siis.work-folder"  # of Dask's configuration
LABELLED = "labelled"  # the part of the answers that is about labelled rows


class WorkFolder:
    """A new folder for the work, removed with this object; what is sent to workers holds the path alone."""

    def __init__(self, path: Path | None = None) -> None:
        if path is not None:
            self.path = path
            return
        import dask  # noqa: PLC0415  (an extra)

        base = dask.config.get(SETTING, None)
        if base is not None and not Path(base).is_dir():
            raise ValueError(f"{SETTING} of Dask's configuration must be a folder; there is none at {base}. Make it.")
        self.path = Path(tempfile.mkdtemp(prefix="siis-", dir=base)).absolute()
        weakref.finalize(self, shutil.rmtree, self.path, ignore_errors=True)

    def __reduce__(self) -> Any:
        return WorkFolder, (self.path,)


def is_array(X: Any) -> bool:
    """Whether X is a Dask array."""
    return _home(X) == "dask.array"


def is_frame(X: Any) -> bool:
    """Whether X is a Dask data frame."""
    return _home(X) == "dask.dataframe" and hasattr(X, "columns")


def _home(X: Any) -> str:
    return ".".join(type(X).__module__.split(".")[:2]) if hasattr(X, "__dask_graph__") else ""


def _chunks(X: Any) -> list[Any]:
    """The chunks or partitions of X as delayed objects, each with all columns."""
    return list(X.rechunk({1: -1}).to_delayed().ravel() if is_array(X) else X.to_delayed())


@dataclass(frozen=True, eq=False)
class Rows:
    """The rows of a Dask array or data frame, in blocks of the work folder."""

    blocks: list[Any]
    sizes: list[int]  # rows of each chunk
    dtype: str | None  # of an array; None of a data frame

    @property
    def n(self) -> int:
        """Number of rows."""
        return sum(self.sizes)

    def sample(self, rows: Ints) -> tuple[Any, Reader, TableEncoder | None]:
        """Features of some rows, what reads those of all, and the encoder that was fitted to a data frame."""
        if self.dtype is not None:
            X = array_rows(self.blocks, rows).astype(self.dtype, order="C", copy=False)
            return X, ArrayReader(self.dtype), None
        encoder = TableEncoder()
        return encoder.fit_transform(table_rows(self.blocks, rows)), TableReader(encoder.recipe_.encoder), encoder


def write_rows(client: Any, X: Any, folder: Path, name: str) -> Rows:
    """Let the workers write the chunks of an array or data frame to the work folder. ``name`` is the estimator's."""
    from dask import delayed  # noqa: PLC0415  (an extra)

    of_array, chunks = is_array(X), _chunks(X)
    write = partial(_write_array, name=name) if of_array else partial(_write_frame, most=MOST_ROWS)
    suffix = "npy" if of_array else "parquet"
    paths = [str(folder / f"{k:06d}.{suffix}") for k in range(len(chunks))]
    folder.mkdir()
    written = gathered(client, client.compute([delayed(write)(*pair) for pair in zip(chunks, paths, strict=True)]))
    sizes = [n for n, _, _ in written]
    if not sum(sizes):
        raise ValueError("X must have at least one row; found none")
    if not of_array:
        return Rows(parquet_blocks([path for path, n in zip(paths, sizes, strict=True) if n]), sizes, None)
    firsts = accumulate(sizes, initial=0)
    blocks = [
        block for path, first, n in zip(paths, firsts, sizes, strict=False) for block in array_blocks(path, first, n)
    ]
    is_single = {kind for _, kind, _ in written} == {"float32"}
    single = is_single and is_squarable(max(largest for _, _, largest in written))
    return Rows(blocks, sizes, "float32" if single else "float64")


def _write_array(chunk: Any, path: str, name: str) -> tuple[int, str, float]:
    """Check a chunk as a fit without a cluster does, and write it; gives rows, type and largest number."""
    if sp.issparse(chunk) or not isinstance(chunk, np.ndarray):
        raise ValueError(
            f"chunks of X must be NumPy arrays; found {type(chunk).__name__}. Use X.map_blocks to make them dense, "
            "on the host."
        )
    refuse_columns(columns_of_times(chunk), "dates or times")
    try:
        kinds = [np.float64, np.float32]
        checked = check_array(chunk, dtype=kinds, ensure_min_samples=0, estimator=name, input_name="X")
    except (ValueError, TypeError) as problem:
        refuse_columns(columns_of_texts(chunk), "text")
        raise type(problem)(str(problem)[:MOST_CHARACTERS]) from None  # it may hold the chunk
    write_whole(Path(path), lambda file: np.save(file, np.ascontiguousarray(checked)))
    return len(checked), str(checked.dtype), float(np.abs(checked).max(initial=0.0))


def _write_frame(frame: Any, path: str, most: int) -> tuple[int, str, float]:
    """Write a partition as Parquet; the columns are read later, as those of a file."""
    import pyarrow as pa  # noqa: PLC0415
    from pyarrow import parquet  # noqa: PLC0415

    if len(frame):
        table = pa.table(sheet_of_frame(frame).columns)
        write_whole(Path(path), lambda file: parquet.write_table(table, file, row_group_size=most))
    return len(frame), "", 0.0


def as_dask_array(
    folder: WorkFolder, name: str, parts: Sequence[str], sizes: Sequence[int], width: int, dtype: Any, fill: Any
) -> Any:
    """What the work folder holds of each row as a Dask array, (n,) if ``width`` is 0, else (n, width); or ``fill``.

    ``parts`` names the files of values ``name`` (of shards, or of labelled rows), ``sizes`` the rows of each chunk.
    """
    import dask.array as da  # noqa: PLC0415  (an extra)
    from dask import delayed  # noqa: PLC0415

    read = delayed(_rows_between, pure=False)
    chunks = []
    for first, last in pairwise(accumulate(sizes, initial=0)):
        shape = (last - first, width) if width else (last - first,)
        chunk = read(folder, name, list(parts), first, shape, np.dtype(dtype), fill)
        chunks.append(da.from_delayed(chunk, shape, dtype))
    return da.concatenate(chunks)


def _rows_between(
    folder: WorkFolder, name: str, parts: list[str], first: int, shape: tuple[int, ...], dtype: Any, fill: Any
) -> Any:
    answers = folder.path / ANSWERS
    if not answers.exists():
        raise ValueError(
            f"the answers of a fit lie in {answers} while the process that has fitted holds the classifier or these "
            "arrays; the folder has gone. Compute or write what is to be kept before that."
        )
    found = np.full(shape, fill, dtype)
    for part in parts:
        rows = np.load(answers / f"rows-{part}.npy", mmap_mode="r")
        a, b = np.searchsorted(rows, [first, first + shape[0]])
        found[rows[a:b] - first] = np.load(answers / f"{name}-{part}.npy", mmap_mode="r")[a:b]
    return found


def over_chunks(X: Any, predict: Callable[[Any, Any], Any], model: Any, width: int, dtype: Any) -> Any:
    """Apply ``predict(model, chunk)`` to each chunk that has rows, (n,) where ``width`` is 0, else (n, width)."""
    import dask.array as da  # noqa: PLC0415  (an extra)
    from dask import delayed  # noqa: PLC0415

    def answers(model: Any, chunk: Any) -> Any:
        return predict(model, chunk) if len(chunk) else np.empty((0, width) if width else 0, dtype)

    chunks, sent, answer = _chunks(X), delayed(model, traverse=False), delayed(answers)
    sizes = X.chunks[0] if is_array(X) else [np.nan] * len(chunks)
    found = [
        da.from_delayed(answer(sent, chunk), (n, width) if width else (n,), dtype)
        for chunk, n in zip(chunks, sizes, strict=True)
    ]
    return da.concatenate(found, allow_unknown_chunksizes=True)
