"""An example beside its neighbours, cell by cell of the table that they came from."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa

from siis.tables.columns import Columns
from siis.tables.contrast import contrast
from siis.tables.joined import Joined
from siis.tables.recipe import Recipe


@dataclass(frozen=True)
class Compared:
    """One column of the table.

    Attributes
    ----------
    name : str
    value : str
        Of the example.
    neighbors : list of str
        Of its neighbours.
    differs : list of bool
        Whether each neighbour's is clearly different, as ``siis.tables.contrast.MARKED`` says.
    is_number : bool
        Whether the column is read as numbers, amounts or dates.
    is_feature : bool
        False where examples were compared by other columns than this one.
    """

    name: str
    value: str
    neighbors: list[str]
    differs: list[bool]
    is_number: bool
    is_feature: bool


def compared(extra: Mapping[str, Any], i: int, near: Sequence[int], alike: Sequence[bool]) -> list[Compared]:
    """Compare an example with its neighbours; the columns that set it apart from those of its class come first.

    Numbers differ by their distance in standard deviations of the column. Texts that are not equal differ by 1, less
    where the column has many values: what is another text in every row sets nothing apart. Columns that are no
    features come last.

    Parameters
    ----------
    extra : mapping
        What was saved with the model.
    i : int
        The example.
    near : sequence of k int
        Its neighbours.
    alike : sequence of k bool
        Which of them have its class; where none has, all count.

    Returns
    -------
    list of Compared
        Empty where the model keeps no table.
    """
    names, lines = extra.get("row_names"), extra.get("row_cells")
    if names is None or lines is None or not near:
        return []
    counted = [j for j, is_alike in zip(near, alike, strict=True) if is_alike] or list(near)
    features = _compared_by(extra) or set(names)
    decimal = extra.get("row_decimal", ".")  # version 0.1.0 kept none
    found = []
    for name, text in zip(names, lines, strict=True):
        cells = text.split("\n")
        read = contrast(pa.array(cells), decimal, (i, *near))
        marks = [read.differs(i, j) for j in near]
        is_number = read.spread is not None and not read.is_truth
        column = Compared(name, cells[i], [cells[j] for j in near], marks, is_number, name in features)
        apart = read.weight * float(np.mean([read.apart(i, j) for j in counted]))
        found.append(((not column.is_feature, -apart), column))
    return [column for _, column in sorted(found, key=lambda pair: pair[0])]  # equal ones in the file's order


def _compared_by(extra: Mapping[str, Any]) -> set[str]:
    """The columns by which examples were compared; none where it was not by columns."""
    if extra["recipe"] is None:
        return set()
    encoder = Recipe.from_plain(extra["recipe"], extra["recipe_arrays"]).encoder
    return set(encoder.names) if isinstance(encoder, Columns | Joined) else set()
