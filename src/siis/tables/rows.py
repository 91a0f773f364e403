"""What a table says of each example, as a person reads it."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from siis.tables.cells import as_texts
from siis.tables.sheet import Sheet


class Rows(Sequence[tuple[str, ...]]):
    """The cells of each example as the file says them, an empty text where a cell is.

    Parameters
    ----------
    names : tuple of k str
        The columns, in the order of the file.
    columns : tuple of k pyarrow.ChunkedArray of strings, each of length n
    n : int
    """

    def __init__(self, names: tuple[str, ...], columns: tuple[Any, ...], n: int) -> None:
        self.names, self._columns, self._n = names, columns, n

    def __len__(self) -> int:
        return self._n

    def __getitem__(self, index: Any) -> Any:
        i = range(self._n)[index]  # one example; counts from the end where it is negative
        return tuple(column[i].as_py() or "" for column in self._columns)

    def lines(self, length: int, most: int) -> tuple[list[str] | None, int]:
        """Give each column as one text, a line for each example, unless that is too much.

        Parameters
        ----------
        length : int
            Characters of a cell; longer ones are cut, with an ellipsis.
        most : int
            Bytes of all texts together.

        Returns
        -------
        texts : list of k str, or None
            Of n lines each. None where they would be larger.
        n_bytes : int
            How large they are, or would be.
        """
        cells = [_one_line(column, length) for column in self._columns]
        n_bytes = sum(pc.sum(pc.binary_length(column)).as_py() or 0 for column in cells) + self._n * len(cells)
        return (["\n".join(column.to_pylist()) for column in cells] if n_bytes <= most else None), n_bytes


def _one_line(column: Any, length: int) -> Any:
    """Each cell on a line of its own, cut to a length."""
    texts = pc.replace_substring_regex(pc.fill_null(column, ""), r"\s+", " ")
    cut = pc.binary_join_element_wise(
        pc.utf8_slice_codeunits(texts, 0, length - 1), pa.scalar("…", texts.type), pa.scalar("", texts.type)
    )
    return pc.if_else(pc.greater(pc.utf8_length(texts), length), cut, texts)


def rows_of(sheet: Sheet, left_out: Collection[str]) -> Rows:
    """Give the cells of a table that can be read.

    Parameters
    ----------
    sheet : Sheet
    left_out : collection of str
        Columns that are shown elsewhere: ids and labels.

    Returns
    -------
    Rows
    """
    texts = {name: as_texts(column) for name, column in sheet.columns.items() if name not in left_out}
    kept = {name: column for name, column in texts.items() if column is not None}
    return Rows(tuple(kept), tuple(kept.values()), sheet.n)
