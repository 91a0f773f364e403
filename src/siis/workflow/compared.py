"""An example beside its neighbours, cell by cell of the table that they came from."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from siis._types import Floats
from siis.tables.cells import MISSING
from siis.tables.columns import Columns
from siis.tables.joined import Joined
from siis.tables.recipe import Recipe

CLEARLY = 1.0  # standard deviations by which numbers must differ to be marked


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
        Whether each neighbour's is another text, or a number more than one standard deviation away.
    is_number : bool
        Whether all cells of the column are numbers, or missing.
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
    counted = np.asarray(alike, dtype=bool) if any(alike) else np.ones(len(near), dtype=bool)
    features = _compared_by(extra) or set(names)
    found = []
    for name, text in zip(names, lines, strict=True):
        cells = text.split("\n")
        numbers = _numbers(cells)
        apart = _texts_apart(cells, i, near) if numbers is None else _numbers_apart(numbers, i, near)
        marks = apart > (0.0 if numbers is None else CLEARLY)
        if numbers is None:
            apart *= 1 - (len(set(cells)) - 1) / max(len(cells) - 1, 1)
        others = [cells[j] for j in near]
        column = Compared(name, cells[i], others, marks.tolist(), numbers is not None, name in features)
        found.append(((not column.is_feature, -float(apart[counted].mean())), column))
    return [column for _, column in sorted(found, key=lambda pair: pair[0])]  # equal ones in the file's order


def _numbers(cells: list[str]) -> Floats | None:
    """The column as numbers, NaN where one is missing; None where a cell is no number, or all are missing."""
    try:
        numbers = np.array([np.nan if cell.lower() in MISSING else float(cell) for cell in cells])
    except ValueError:
        return None
    return numbers if np.isfinite(numbers).any() else None


def _numbers_apart(numbers: Floats, i: int, near: Sequence[int]) -> Floats:
    """Distances in standard deviations; between a number and none, more than one."""
    said = np.isfinite(numbers)
    spread = float(numbers[said].std()) or 1.0
    others = list(near)
    apart = np.where(said[others] & said[i], abs(numbers[others] - numbers[i]) / spread, 2 * CLEARLY)
    apart[~said[others] & ~said[i]] = 0.0
    return np.asarray(apart)


def _texts_apart(cells: list[str], i: int, near: Sequence[int]) -> Floats:
    return np.array([float(cells[j] != cells[i]) for j in near])


def _compared_by(extra: Mapping[str, Any]) -> set[str]:
    """The columns by which examples were compared; none where it was not by columns."""
    if extra["recipe"] is None:
        return set()
    encoder = Recipe.from_plain(extra["recipe"], extra["recipe_arrays"]).encoder
    return set(encoder.names) if isinstance(encoder, Columns | Joined) else set()
