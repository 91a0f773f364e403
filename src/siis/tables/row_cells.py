"""The cells of each example, for people."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from siis.tables.cell_values import as_texts
from siis.tables.sheet import Sheet


class Rows(Sequence[tuple[str, ...]]):
    """The cells of each example as written in the file, "" for an empty cell. k columns of length n."""

    def __init__(self, names: tuple[str, ...], columns: tuple[Any, ...], n: int, decimal: str = ".") -> None:
        self.names, self.columns, self.decimal, self._n = names, columns, decimal, n

    def __len__(self) -> int:
        return self._n

    def __getitem__(self, index: Any) -> Any:
        i = range(self._n)[index]  # one example; counts from the end where it is negative
        return tuple(column[i].as_py() or "" for column in self.columns)

    def lines(self, length: int, most: int) -> list[str] | None:
        """Columns as texts of n lines, cells cut at ``length`` characters; None beyond ``most`` bytes."""
        texts, n_bytes = [], 0
        for column in self.columns:
            cells = _one_line(column, length)
            n_bytes += self._n + (pc.sum(pc.binary_length(cells)).as_py() or 0)
            if n_bytes > most:
                return None
            texts.append("\n".join(cells.to_pylist()))
        return texts


def _one_line(column: Any, length: int) -> Any:
    """Each cell on a line of its own, cut to a length."""
    texts = pc.replace_substring_regex(pc.fill_null(column, ""), r"\s+", " ")
    cut = pc.binary_join_element_wise(
        pc.utf8_slice_codeunits(texts, 0, length - 1), pa.scalar("…", texts.type), pa.scalar("", texts.type)
    )
    return pc.if_else(pc.greater(pc.utf8_length(texts), length), cut, texts)


def rows_of(sheet: Sheet, left_out: Collection[str | None]) -> Rows:
    """The cells of a table, without columns that are shown elsewhere (ids, labels, texts)."""
    texts = {name: as_texts(column) for name, column in sheet.columns.items() if name not in left_out}
    kept = {name: column for name, column in texts.items() if column is not None}
    return Rows(tuple(kept), tuple(kept.values()), sheet.n, sheet.decimal)
