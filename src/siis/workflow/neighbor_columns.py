"""An example compared with its neighbours, column by column of their table."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa

from siis.tables.contrast import contrast
from siis.tables.features import TableEncoding
from siis.tables.recipe import Recipe


@dataclass(frozen=True)
class ComparedColumn:
    """A column of the table: the value of an example and those of its neighbours."""

    name: str
    value: str
    neighbors: list[str]
    differs: list[bool]  # clearly, by ``siis.tables.contrast.MARKED``; one for each neighbour
    is_number: bool  # numbers, amounts or dates
    is_feature: bool  # False if examples were compared by other columns


def compare_columns(
    extra: Mapping[str, Any], i: int, near: Sequence[int], alike: Sequence[bool]
) -> list[ComparedColumn]:
    """Compare an example with its neighbours (``near``); columns that separate it from those of its class come first.

    Numbers differ by deviations of the column, texts by 1, or less where it has many values; columns that are no
    features come last. ``alike``: neighbours of its class; all count if there is none. Empty without a table.
    """
    names, lines = extra.get("row_names"), extra.get("row_cells")
    if names is None or lines is None or not near:
        return []
    counted = [j for j, is_alike in zip(near, alike, strict=True) if is_alike] or list(near)
    features = _compared_by(extra) or set(names)
    decimal = extra["row_decimal"]
    found = []
    for name, text in zip(names, lines, strict=True):
        cells = text.split("\n")
        read = contrast(pa.array(cells), decimal, (i, *near))
        marks = [read.differs(i, j) for j in near]
        is_number = read.spread is not None and not read.is_truth
        column = ComparedColumn(name, cells[i], [cells[j] for j in near], marks, is_number, name in features)
        apart = read.weight * float(np.mean([read.apart(i, j) for j in counted]))
        found.append(((not column.is_feature, -apart), column))
    return [column for _, column in sorted(found, key=lambda pair: pair[0])]  # equal ones in the file's order


def _compared_by(extra: Mapping[str, Any]) -> set[str]:
    """The columns by which examples were compared; none where it was not by columns."""
    if extra["recipe"] is None:
        return set()
    encoder = Recipe.from_plain(extra["recipe"], extra["recipe_arrays"]).encoder
    return set(encoder.names) if isinstance(encoder, TableEncoding) else set()
