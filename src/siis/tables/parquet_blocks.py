"""Blocks of rows of Parquet files, which workers read."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

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
class Block:
    """Some row groups of a Parquet file."""

    path: str
    groups: tuple[int, ...]
    first: int  # number of the first row, counted over all files
    n: int

    def table(self, columns: list[str] | None = None) -> Any:
        """Read some columns, or all."""
        from pyarrow import parquet  # noqa: PLC0415

        with parquet.ParquetFile(self.path) as file:
            return file.read_row_groups(list(self.groups), columns=columns)


def find_blocks(pattern: str) -> list[Block]:
    """Cut the files of a pattern into blocks."""
    from pyarrow import parquet  # noqa: PLC0415

    blocks: list[Block] = []
    first, schema = 0, None
    paths = found_files(pattern)
    for path in paths:
        with readable(path, "a Parquet file", DAMAGED), parquet.ParquetFile(path) as file:
            names, groups = file.schema_arrow.names, range(file.num_row_groups)
            sizes = [file.metadata.row_group(k).num_rows for k in groups]
        if schema is not None and names != schema:
            other = next(iter(set(names) ^ set(schema)), "their order")
            problem = f"must have the columns of {paths[0]}; {quoted(other)} differs. Write them alike."
            raise ValueError(f"{path}: {problem}")
        schema, n = names, 0
        taken: list[int] = []
        for group, size in enumerate(sizes):
            taken, n = [*taken, group], n + size
            if n >= MOST_ROWS or group == len(sizes) - 1:
                if n:
                    blocks.append(Block(str(path), tuple(taken), first, n))
                taken, first, n = [], first + n, 0
    if not blocks:
        raise ValueError(f"{pattern}: holds no rows. Add at least one row of data.")
    return blocks


def _sheet(block: Block, table: Any) -> Sheet:
    return Sheet.of(Path(block.path), RawTable([name.strip() for name in table.column_names], table.columns, []))


def block_labels(blocks: Sequence[Block], roles: Roles) -> tuple[Ints, LabelNames]:
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


def block_rows(blocks: Sequence[Block], rows: Ints) -> Any:
    """Read some rows of all blocks as one table. rows: ascending, counted over all files."""
    from pyarrow import concat_tables  # noqa: PLC0415

    ends = np.searchsorted(rows, [[block.first, block.first + block.n] for block in blocks])
    parts = [block.table().take(rows[a:b] - block.first) for block, (a, b) in zip(blocks, ends, strict=True) if b > a]
    return concat_tables(parts, promote_options="default")  # a column without values in a block has no type there


@dataclass(frozen=True, eq=False)
class TableReader:
    """Reads features and ids of a block."""

    encoder: Any
    id: str | None  # column that names the examples

    def __call__(self, block: Block) -> tuple[Features, list[str] | None]:
        """Features of a block, and its ids."""
        sheet = _sheet(block, block.table())
        X, _, _ = self.encoder.encode(sheet)
        if self.id is None:
            return X, None
        return X, [str(name) for name in sheet.texts(self.id, "the id column (--id)").to_pylist()]
