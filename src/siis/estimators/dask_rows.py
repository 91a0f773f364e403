"""Dask arrays and data frames -> blocks of the work folder; answers in that folder -> Dask arrays."""

from __future__ import annotations

import shutil
import tempfile
import weakref
from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from itertools import accumulate, pairwise
from pathlib import Path
from typing import Any

import numpy as np
import scipy.sparse as sp
from sklearn.utils.validation import check_array

from siis._types import Floats, Ints
from siis.estimators.base import columns_of_texts, columns_of_times, is_squarable, refuse_columns
from siis.shards import ArrayBlock, ArrayReader, NoWorkers, Reader
from siis.shards.files import write_whole
from siis.shards.job import ANSWERS
from siis.shards.workers import GONE
from siis.tables.parquet_blocks import MOST_ROWS, Block, block_rows
from siis.tables.table_encoder import TableEncoder, sheet_of_frame

MOST_CHARACTERS = 2_000  # characters of a message
SETTING = "siis.work-folder"  # of Dask's configuration
REMEDY = f"Name one that they share before the fit: dask.config.set({{'{SETTING}': FOLDER}})."
KINDS = (
    "X must be a Dask array or a Dask data frame where engine='dask'; found {}. Make one with "
    "dask.array.from_array(X, chunks=...) or dask.dataframe.from_pandas(X, npartitions=...), or use engine='numpy'."
)
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
        if self.dtype is None:
            encoder = TableEncoder()
            X = encoder.fit_transform(block_rows(self.blocks, rows))
            return X, FrameReader(encoder), encoder
        ends = [np.searchsorted(rows, [block.first, block.first + block.n]) for block in self.blocks]
        parts = [block.rows()[rows[a:b] - block.first] for block, (a, b) in zip(self.blocks, ends, strict=True)]
        return np.concatenate(parts).astype(self.dtype, order="C", copy=False), ArrayReader(self.dtype), None


@dataclass(frozen=True, eq=False)
class FrameReader:
    """Reads blocks of a data frame."""

    encoder: TableEncoder  # fitted

    def __call__(self, block: Block) -> tuple[Any, None]:
        """Features of a block; it has no ids."""
        return self.encoder.transform(block.table()), None


def write_rows(client: Any, X: Any, folder: Path, name: str) -> Rows:
    """Let the workers write the chunks of an array or data frame to the work folder. ``name`` is the estimator's."""
    import dask  # noqa: PLC0415  (an extra)

    of_array = is_array(X)
    write = partial(_write_array, name=name) if of_array else partial(_write_frame, most=MOST_ROWS)
    chunks = X.rechunk({1: -1}).to_delayed().ravel() if of_array else X.to_delayed()
    suffix = "npy" if of_array else "parquet"
    paths = [str(folder / f"{k:06d}.{suffix}") for k in range(len(chunks))]
    folder.mkdir()
    tasks = [dask.delayed(write)(chunk, path) for chunk, path in zip(chunks, paths, strict=True)]
    futures = client.compute(tasks)
    try:
        written = client.gather(futures)
    except Exception as problem:
        if type(problem).__name__ in GONE:
            raise NoWorkers("the workers have ended while they wrote the chunks of X") from problem
        raise
    finally:
        client.cancel(futures)
    sizes = [n for n, _, _ in written]
    firsts = [0, *accumulate(sizes)]
    if not firsts[-1]:
        raise ValueError("X must have at least one row; found none")
    blocks: list[Any] = []
    for path, (first, last) in zip(paths, pairwise(firsts), strict=True):
        for k, start in enumerate(range(0, last - first, MOST_ROWS)):
            n = min(MOST_ROWS, last - first - start)
            blocks.append(
                ArrayBlock(path, start, first + start, n) if of_array else Block(path, (k,), first + start, n)
            )
    if not of_array:
        return Rows(blocks, sizes, None)
    kinds, largest = {kind for _, kind, _ in written}, max(most for _, _, most in written)
    single = kinds == {"float32"} and is_squarable(largest)
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


def lazily(
    folder: WorkFolder, name: str, parts: Sequence[str], sizes: Sequence[int], width: int, dtype: Any, fill: Any
) -> Any:
    """What the work folder holds of each row as a Dask array, (n,) if ``width`` is 0, else (n, width); or ``fill``.

    ``parts`` names the files of values ``name`` (of shards, or of labelled rows), ``sizes`` the rows of each chunk.
    """
    import dask.array as da  # noqa: PLC0415  (an extra)
    from dask import delayed  # noqa: PLC0415

    read = delayed(_rows_between, pure=False)
    chunks = []
    for first, last in pairwise([0, *accumulate(sizes)]):
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


def write_labelled(folder: Path, rows: Ints, **values: Floats) -> None:
    """Write values of labelled rows into the folder of the answers. rows: (l,), ascending."""
    for name, value in {"rows": rows, **values}.items():
        np.save(folder / f"{name}-{LABELLED}.npy", value)


def over_chunks(X: Any, answer: Any, model: Any, width: int, dtype: Any) -> Any:
    """Apply ``answer(model, chunk)`` to each chunk, (n,) where ``width`` is 0, else (n, width)."""
    import dask.array as da  # noqa: PLC0415  (an extra)
    from dask import delayed  # noqa: PLC0415

    chunks = X.rechunk({1: -1}).to_delayed().ravel() if is_array(X) else X.to_delayed()
    sizes = X.chunks[0] if is_array(X) else [np.nan] * len(chunks)
    sent, ask = delayed(model, traverse=False), delayed(answer)
    found = [
        da.from_delayed(ask(sent, chunk), (n, width) if width else (n,), dtype)
        for chunk, n in zip(chunks, sizes, strict=True)
    ]
    return da.concatenate(found, allow_unknown_chunksizes=True)
