"""In which columns an example of a table differs from those beside it."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from typing import Any, Protocol

from siis.tables.contrast import Contrast, contrast


class TableRows(Protocol):
    """Cells of each example; ``siis.tables.rows.Rows`` is one.

    Attributes
    ----------
    names : tuple of k str
    columns : tuple of k pyarrow.ChunkedArray of strings, each of length n
    decimal : {".", ","}
        What separates decimals.
    """

    names: tuple[str, ...]
    columns: tuple[Any, ...]
    decimal: str

    def __len__(self) -> int:
        """Give the number of examples."""

    def __getitem__(self, index: Any, /) -> Any:
        """Give the cells of one, a tuple of str."""


def contrasts(rows: TableRows, examples: Collection[int]) -> list[Contrast]:
    """Read the columns of some examples, as the features were read.

    Parameters
    ----------
    rows : TableRows of length n, with k columns
    examples : collection of int

    Returns
    -------
    list of k Contrast
    """
    return [contrast(column, rows.decimal, examples) for column in rows.columns]


def differences(columns: Sequence[Contrast], i: int, j: int) -> dict[int, float]:
    """Compare two examples, column by column.

    Parameters
    ----------
    columns : sequence of k Contrast
    i, j : int

    Returns
    -------
    dict of int to float
        The columns in which they differ clearly: numbers by how many standard deviations, texts by 1. The largest
        first.
    """
    found = {k: column.apart(i, j) for k, column in enumerate(columns) if column.differs(i, j)}
    return dict(sorted(found.items(), key=lambda item: (-item[1], item[0])))


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
