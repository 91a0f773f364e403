"""A small table: columns by name, printed so that it can be read, ready for notebooks, pandas and polars."""

from __future__ import annotations

from collections.abc import Sequence
from html import escape
from importlib import import_module
from typing import Any

import numpy as np

MOST_SHOWN = 100  # rows that are printed whole
FIRST, LAST = 40, 10  # of a longer table: the first ones matter most where the worst comes first


class Table(dict[str, Any]):
    """Columns of equal length by name, in order. ``pandas.DataFrame(table)`` and ``polars.DataFrame(table)`` work.

    Printed, a table of more than 100 rows is cut in the middle; its columns and ``rows`` are always whole.
    """

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

    def to_pandas(self) -> Any:
        """Give the table as a data frame of pandas.

        Returns
        -------
        pandas.DataFrame
        """
        return _installed("pandas").DataFrame(dict(self))

    def to_polars(self) -> Any:
        """Give the table as a data frame of polars; columns of lists are of its type ``List``.

        Returns
        -------
        polars.DataFrame
        """
        columns = {name: np.asarray(column) for name, column in self.items()}
        plain = {name: list(column) if column.dtype == object else column for name, column in columns.items()}
        return _installed("polars").DataFrame(plain)

    def __str__(self) -> str:
        first, last, left_out = self._shown()
        cells = [[name, *(_text(column[i]) for i in (*first, *last))] for name, column in self.items()]
        widths = [max(map(len, column)) for column in cells]
        lines = [
            "  ".join(text.rjust(width) for text, width in zip(line, widths, strict=True)).rstrip()
            for line in zip(*cells, strict=True)
        ]
        if left_out:
            lines.insert(1 + len(first), f"... {left_out:,} more rows ...")
        return "\n".join(lines)

    __repr__ = __str__

    def _repr_html_(self) -> str:
        """The table in a notebook; every cell is text, never markup."""
        first, last, left_out = self._shown()
        gap = f'<tr><td colspan="{len(self)}" style="text-align: center">… {left_out:,} more rows …</td></tr>'
        head = "".join(f"<th>{escape(name)}</th>" for name in self)
        lines = [
            "<table>",
            f"<thead><tr>{head}</tr></thead>",
            "<tbody>",
            *(self._html_row(i) for i in first),
            *([gap] if left_out else []),
            *(self._html_row(i) for i in last),
            "</tbody>",
            "</table>",
            f"<p>{self.n_rows:,} {'row' if self.n_rows == 1 else 'rows'}</p>",
        ]
        return "\n".join(lines)

    def _html_row(self, i: int) -> str:
        return "<tr>" + "".join(f"<td>{escape(_text(column[i]))}</td>" for column in self.values()) + "</tr>"

    def _shown(self) -> tuple[range, range, int]:
        """The first and the last rows to print, and how many are left out between them."""
        n = self.n_rows
        if n <= MOST_SHOWN:
            return range(n), range(0), 0
        return range(FIRST), range(n - LAST, n), n - FIRST - LAST


def _installed(name: str) -> Any:
    try:
        return import_module(name)
    except ModuleNotFoundError as problem:
        raise ModuleNotFoundError(
            f"to_{name} needs {name}, which is not installed. Install it: pip install {name}"
        ) from problem


def _text(value: Any) -> str:
    if isinstance(value, float | np.floating):
        return f"{value:.4g}"
    if isinstance(value, list):
        return ", ".join(map(str, value))
    return str(value)
