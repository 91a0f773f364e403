"""In which columns an example of a table differs from those beside it."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any, Protocol

import numpy as np

SAMPLE = 200  # examples by which the spread of a column is measured
CLEAR = 0.5  # standard deviations: numbers that are closer are not called different
FEW = 10  # different words, that a column of categories may have however few examples there are


class TableRows(Protocol):
    """Cells of each example; ``siis.tables.rows.Rows`` is one."""

    names: tuple[str, ...]

    def __len__(self) -> int:
        """Give the number of examples."""

    def __getitem__(self, index: Any, /) -> Any:
        """Give the cells of one, a tuple of str."""


def spreads(rows: TableRows) -> list[float | None]:
    """Measure how far the numbers of each column lie apart.

    Parameters
    ----------
    rows : TableRows of length n, with k columns

    Returns
    -------
    list of k floats or None
        Standard deviation, over examples that are evenly spaced in the file; None for a column of categories;
        infinite for one of names or texts, in which nearly everything differs and which tells nothing.
    """
    n = len(rows)
    drawn = [rows[i] for i in np.unique(np.linspace(0, n - 1, min(n, SAMPLE)).astype(int)).tolist()]
    return [_spread([cell for cell in column if cell]) for column in zip(*drawn, strict=True)]


def differences(cells: Sequence[str], others: Sequence[str], spread: Sequence[float | None]) -> dict[int, float]:
    """Compare two examples, column by column.

    Parameters
    ----------
    cells, others : sequence of k str
    spread : sequence of k floats or None

    Returns
    -------
    dict of int to float
        The columns in which they differ: numbers by how many standard deviations, words by 1. The largest first.
    """
    found = {k: _apart(a, b, s) for k, (a, b, s) in enumerate(zip(cells, others, spread, strict=True)) if a != b}
    return dict(sorted(((k, d) for k, d in found.items() if d >= CLEAR), key=lambda item: (-item[1], item[0])))


def unusual(found: Sequence[dict[int, float]]) -> list[int]:
    """Name the columns in which an example differs from most of its neighbours.

    Parameters
    ----------
    found : sequence of dict
        What ``differences`` gave for each neighbour.

    Returns
    -------
    list of int
        The largest difference first.
    """
    total: dict[int, float] = {}
    for one in found:
        for k, d in one.items():
            total[k] = total.get(k, 0.0) + d
    often = [k for k in total if 2 * sum(k in one for one in found) > len(found)]
    return sorted(often, key=lambda k: (-total[k], k))


def _spread(cells: list[str]) -> float | None:
    numbers = [_number(cell) for cell in cells]
    known = [value for value in numbers if value is not None]
    if not known or len(known) < len(numbers):
        return math.inf if len(set(cells)) > max(FEW, len(cells) / 2) else None
    with np.errstate(over="ignore", invalid="ignore"):
        spread = float(np.std(known))
    return spread if math.isfinite(spread) else None


def _apart(a: str, b: str, spread: float | None) -> float:
    if spread == math.inf:
        return 0.0
    x, y = _number(a), _number(b)
    if spread is None or x is None or y is None:
        return 1.0
    return abs(x - y) / spread if spread > 0 else float(x != y)


def _number(cell: str) -> float | None:
    try:
        value = float(cell)
    except ValueError:
        return None
    return value if math.isfinite(value) else None
