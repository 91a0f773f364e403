"""A small table: columns by name, printed in full, ready for pandas and polars."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np


class Table(dict[str, Any]):
    """Columns of equal length by name, in order. ``pandas.DataFrame(table)`` and ``polars.DataFrame(table)`` work."""

    @classmethod
    def from_rows(cls, rows: Sequence[dict[str, Any]], columns: Sequence[str]) -> Table:
        """Build a table from rows.

        Parameters
        ----------
        rows : sequence of dict
        columns : sequence of str
            Their order; names what an empty table would have.

        Returns
        -------
        Table
        """
        return cls({name: np.asarray([row[name] for row in rows]) for name in columns})

    @property
    def n_rows(self) -> int:
        """Number of rows."""
        return len(next(iter(self.values()))) if self else 0

    def rows(self) -> list[dict[str, Any]]:
        """The rows, as dictionaries."""
        return [{name: column[i] for name, column in self.items()} for i in range(self.n_rows)]

    def __str__(self) -> str:
        cells = [[name, *(_text(value) for value in column)] for name, column in self.items()]
        widths = [max(map(len, column)) for column in cells]
        lines = [
            "  ".join(text.rjust(width) for text, width in zip(line, widths, strict=True))
            for line in zip(*cells, strict=True)
        ]
        return "\n".join(line.rstrip() for line in lines)

    __repr__ = __str__


def _text(value: Any) -> str:
    if isinstance(value, float | np.floating):
        return f"{value:.4g}"
    if isinstance(value, list):
        return ", ".join(map(str, value))
    return str(value)
