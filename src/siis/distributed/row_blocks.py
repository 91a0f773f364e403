"""Blocks of rows in files that all workers see, and what reads their features: a worker takes one at a time."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeAlias

import numpy as np

from siis._types import Features, Ints
from siis.labels.unlabelled import named
from siis.tables.examples import LabelNames, Roles
from siis.tables.ids_and_labels import answers_of, resolve_labels
from siis.tables.sheet import DAMAGED, Sheet, found_files
from siis.tables.tools.tool_file import RawTable
from siis.texts import quoted, readable

MOST_ROWS = 50_000  # in a block, unless a row group holds more


@dataclass(frozen=True)
class ArrayBlock:
    """Some rows of an array in an NPY file."""

    path: str
    start: int  # the first of them in the file
    first: int  # the same among all rows
    n: int

    def rows(self) -> Any:
        """The rows, as a view of the file."""
        return np.load(self.path, mmap_mode="r")[self.start : self.start + self.n]


@dataclass(frozen=True)
class ParquetBlock:
    """Some row groups of a Parquet file."""

    path: str
    groups: tuple[int, ...]
    first: int  # number of the first row among all rows
    n: int

    def table(self, columns: list[str] | None = None) -> Any:
        """Read some columns, or all."""
        from pyarrow import parquet  # noqa: PLC0415

        with parquet.ParquetFile(self.path) as file:
            return file.read_row_groups(list(self.groups), columns=columns)


Block: TypeAlias = ArrayBlock | ParquetBlock
Reader: TypeAlias = Callable[[Any], tuple[Features, list[str] | None]]  # a block -> its features, and its ids


@dataclass(frozen=True)
class ArrayReader:
    """Reads rows of arrays."""

    dtype: str  # the precision of all rows

    def __call__(self, block: ArrayBlock) -> tuple[Features, None]:
        """Features of a block; it has no ids."""
        return np.array(block.rows(), dtype=self.dtype, order="C"), None


@dataclass(frozen=True, eq=False)
class TableReader:
    """Reads rows of Parquet files."""

    encoder: Any
    id: str | None = None  # column that names the examples

    def __call__(self, block: ParquetBlock) -> tuple[Features, list[str] | None]:
        """Features of a block, and its ids."""
        sheet = _sheet(block, block.table())
        X, _, _ = self.encoder.encode(sheet)
        if self.id is None:
            return X, None
        return X, [str(name) for name in sheet.texts(self.id, "the id column (--id)").to_pylist()]


def array_blocks(path: str, first: int, n: int) -> list[ArrayBlock]:
    """Cut the rows of an NPY file into blocks; the first row has number ``first`` among all."""
    return [ArrayBlock(path, a, first + a, min(MOST_ROWS, n - a)) for a in range(0, n, MOST_ROWS)]


def find_blocks(pattern: str) -> list[ParquetBlock]:
    """Cut the Parquet files of a pattern into blocks."""
    if not (blocks := parquet_blocks([str(path) for path in found_files(pattern)])):
        raise ValueError(f"{pattern}: holds no rows. Add at least one row of data.")
    return blocks


def parquet_blocks(paths: Sequence[str]) -> list[ParquetBlock]:
    """Cut Parquet files with the same columns into blocks."""
    from pyarrow import parquet  # noqa: PLC0415

    blocks: list[ParquetBlock] = []
    first, columns = 0, None
    for path in paths:
        with readable(Path(path), "a Parquet file", DAMAGED), parquet.ParquetFile(path) as file:
            names, data = file.schema_arrow.names, file.metadata
            sizes = [data.row_group(k).num_rows for k in range(data.num_row_groups)]
        if columns is not None and names != columns:
            other = next(iter(set(names) ^ set(columns)), "their order")
            raise ValueError(
                f"{path}: must have the columns of {paths[0]}; {quoted(other)} differs. Write them alike."
            )
        columns = names
        for groups in _groups(sizes):
            n = sum(sizes[k] for k in groups)
            blocks.append(ParquetBlock(path, groups, first, n))
            first += n
    return blocks


def _groups(sizes: list[int]) -> Iterator[tuple[int, ...]]:
    """Row groups that follow each other, by their numbers, until they have rows enough for a block."""
    begun, n = 0, 0
    for k, size in enumerate(sizes):
        n += size
        if n >= MOST_ROWS or (n and k == len(sizes) - 1):
            yield tuple(range(begun, k + 1))
            begun, n = k + 1, 0


def block_labels(blocks: Sequence[ParquetBlock], roles: Roles) -> tuple[Ints, LabelNames]:
    """The labelled rows, counted over all files, and their labels, both (l,)."""
    name, rows, labels = str(roles.label), [], []
    known: dict[str, str] = {}  # one object for all equal cells
    for block in blocks:
        answers = answers_of(_sheet(block, block.table([name])), name, "the label column (--label)")
        labelled = np.flatnonzero(named(answers))
        rows.append(block.first + labelled)
        labels += [known.setdefault(label, label) for label in answers[labelled]]
    every = np.array(labels, dtype=object)
    resolve_labels(every, f"column {quoted(name)}", roles)
    kept = named(every)
    return np.concatenate(rows)[kept], every[kept]


def array_rows(blocks: Sequence[ArrayBlock], rows: Ints) -> Any:
    """Some rows of all blocks. rows: ascending, counted over all files."""
    return np.concatenate([block.rows()[some] for block, some in _rows_of(blocks, rows)])


def table_rows(blocks: Sequence[ParquetBlock], rows: Ints) -> Any:
    """Some rows of all blocks as one table. rows: ascending, counted over all files."""
    from pyarrow import concat_tables  # noqa: PLC0415

    parts = [block.table().take(some) for block, some in _rows_of(blocks, rows)]
    return concat_tables(parts, promote_options="default")  # a column without values in a block has no type there


def _rows_of(blocks: Sequence[Any], rows: Ints) -> Iterator[tuple[Any, Ints]]:
    """Each block with the rows that it holds of some, by their places in it; those without any are left out."""
    for block in blocks:
        a, b = np.searchsorted(rows, [block.first, block.first + block.n])
        if b > a:
            yield block, rows[a:b] - block.first


def _sheet(block: ParquetBlock, table: Any) -> Sheet:
    return Sheet.of(Path(block.path), RawTable([name.strip() for name in table.column_names], table.columns, []))
