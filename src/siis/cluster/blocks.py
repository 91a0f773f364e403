"""Parquet files -> blocks of rows that a worker reads, and what is taken from them."""

from __future__ import annotations

from dataclasses import dataclass
from glob import glob
from pathlib import Path
from typing import Any

import numpy as np

from siis._types import Features, Ints
from siis.tables import Roles
from siis.tables.features import encode_again
from siis.tables.given import labels_of, texts_of
from siis.tables.sheet import Sheet, as_plain
from siis.texts import quoted

MOST_ROWS = 50_000  # in a block, unless a row group holds more


@dataclass(frozen=True)
class Block:
    """Some row groups of a Parquet file.

    Attributes
    ----------
    path : str
    groups : tuple of int
    first : int
        Number of the first row, counted over all files.
    n : int
    """

    path: str
    groups: tuple[int, ...]
    first: int
    n: int

    def table(self, columns: list[str] | None = None) -> Any:
        """Read some columns, or all."""
        from pyarrow import parquet  # noqa: PLC0415

        with parquet.ParquetFile(self.path) as file:
            return file.read_row_groups(list(self.groups), columns=columns)


def find_blocks(pattern: str) -> list[Block]:
    """Cut the files that a pattern names into blocks.

    Parameters
    ----------
    pattern : str
        A path, in which * stands for anything.

    Returns
    -------
    list of Block
    """
    from pyarrow import ArrowInvalid, parquet  # noqa: PLC0415

    paths = sorted(glob(pattern)) if set(pattern) & set("*?[") else [pattern]
    if not paths or not all(Path(path).is_file() for path in paths):
        raise ValueError(f"{pattern}: must name Parquet files; there is no such file. Check the path.")
    blocks: list[Block] = []
    first, schema = 0, None
    for path in paths:
        try:
            with parquet.ParquetFile(path) as file:
                names, sizes = (
                    file.schema_arrow.names,
                    [file.metadata.row_group(k).num_rows for k in range(file.num_row_groups)],
                )
        except (ArrowInvalid, OSError) as problem:
            raise ValueError(f"{path}: must be a Parquet file; it cannot be read: {problem}") from problem
        if schema is not None and names != schema:
            other = next(iter(set(names) ^ set(schema)), "their order")
            raise ValueError(
                f"{path}: must have the columns of {paths[0]}; {quoted(other)} differs. Write them alike."
            )
        schema, n = names, 0
        taken: list[int] = []
        for group, size in enumerate(sizes):
            taken, n = [*taken, group], n + size
            if n >= MOST_ROWS or group == len(sizes) - 1:
                if n:
                    blocks.append(Block(path, tuple(taken), first, n))
                taken, first, n = [], first + n, 0
    if not blocks:
        raise ValueError(f"{pattern}: holds no rows. Add at least one row of data.")
    return blocks


def _sheet(block: Block, table: Any) -> Sheet:
    names = [str(name).strip() for name in table.column_names]
    columns = {
        name: as_plain(Path(block.path), name, column) for name, column in zip(names, table.columns, strict=True)
    }
    return Sheet(Path(block.path), columns, int(table.num_rows), (), ".")


def block_labels(block: Block, roles: Roles) -> tuple[Ints, list[str]]:
    """Read the labels of a block: the rows that have one, counted over all files, and the labels."""
    labels, _, _ = labels_of(_sheet(block, block.table([str(roles.label)])), roles)
    assert labels is not None
    rows = np.flatnonzero([label is not None for label in labels])
    return block.first + rows, [str(label) for label in labels[rows]]


def block_rows(block: Block, rows: Ints) -> Any:
    """Some rows of a block, as a table."""
    return block.table().take(rows - block.first)


def block_features(block: Block, encoder: Any, id: str | None) -> tuple[Features, list[str] | None]:
    """Features of a block, and its ids."""
    sheet = _sheet(block, block.table())
    X, _, _ = encode_again(encoder, sheet)
    ids = None if id is None else [str(name) for name in texts_of(sheet, id, "the id column (--id)").to_pylist()]
    return X, ids
