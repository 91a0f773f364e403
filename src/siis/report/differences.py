"""In which columns an example of a table differs from its neighbours."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from typing import Any, Protocol

from siis.tables.contrast import Contrast, contrast


class TableRows(Protocol):
    """Cells of n examples in k columns of strings, such as ``siis.tables.examples.Rows``."""

    names: tuple[str, ...]
    columns: tuple[Any, ...]
    decimal: str  # "." or ","

    def __len__(self) -> int:
        """Give the number of examples."""

    def __getitem__(self, index: Any, /) -> Any:
        """Give the cells of one, a tuple of str."""


def contrasts(rows: TableRows, examples: Collection[int]) -> list[Contrast]:
    """Parse the k columns for some examples, as features are parsed."""
    return [contrast(column, rows.decimal, examples) for column in rows.columns]


def differences(columns: Sequence[Contrast], i: int, j: int) -> dict[int, float]:
    """Columns in which two examples differ clearly, largest first, with the difference in standard deviations."""
    found = {k: column.apart(i, j) for k, column in enumerate(columns) if column.differs(i, j)}
    return dict(sorted(found.items(), key=lambda item: (-item[1], item[0])))


def unusual(found: Sequence[dict[int, float]]) -> list[int]:
    """Columns in which an example differs from most neighbours, the largest difference first."""
    total: dict[int, float] = {}
    for one in found:
        for k, d in one.items():
            total[k] = total.get(k, 0.0) + d
    often = [k for k in total if 2 * sum(k in one for one in found) > len(found)]
    return sorted(often, key=lambda k: (-total[k], k))
