"""XLSX files."""

from __future__ import annotations

import datetime
import warnings
from collections.abc import Sequence
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import pyarrow as pa

from siis.tables.tools.tool_file import RawTable
from siis.texts import listed, quoted, readable, unknown

WORKBOOKS = (".xlsx", ".xlsm")
INSTALL = "Install it with `pip install 'siis[xlsx]'`, or save the sheet as CSV."


def read_workbook(path: Path, sheet: str | None, header_row: int | None = None) -> RawTable:
    """Read a sheet, the first by default, with saved values of formulas; header_row as for ``read_delimited``."""
    if find_spec("openpyxl") is None:
        raise ValueError(f"{path}: reading XLSX files needs openpyxl, which is not installed. {INSTALL}")
    import openpyxl  # noqa: PLC0415  (an extra)

    with readable(path, "an XLSX file", "Save it again, or save the sheet as CSV."), warnings.catch_warnings():
        warnings.simplefilter("ignore")  # about styles and printers
        with path.open("rb") as file:
            book = openpyxl.load_workbook(file, read_only=True, data_only=True, keep_links=False)
            names = [one.title for one in book.worksheets]
            wanted = sheet if sheet is not None else names[0]
            rows = [list(row) for row in book[wanted].iter_rows(values_only=True)] if wanted in names else None
            book.close()
    if rows is None:
        problem = "the sheet (--sheet) must be one of the file;"
        raise ValueError(f"{path}: {problem} found none named {quoted(wanted)}.{unknown(wanted, names)}")
    others = tuple(name for name in names if name != wanted)
    notes = [f"sheet {quoted(wanted)}; not read: {listed(others)} (--sheet names another)"] if others else []
    while rows and not any(_is_filled(cell) for cell in rows[-1]):
        rows.pop()
    if not rows:
        problem = f"sheet {quoted(wanted)} is empty."
        raise ValueError(f"{path}: {problem} It needs a row of column names and data below.{other_sheets(others)}")
    if header_row is not None and header_row > len(rows):
        problem = f"sheet {quoted(wanted)} holds {len(rows):,} rows; --header-row says {header_row:,}."
        raise ValueError(f"{path}: {problem} Name another one.")
    first = next(i for i, row in enumerate(rows) if any(_is_filled(cell) for cell in row))
    start = _row_of_names(rows, first) if header_row is None else header_row - 1
    if header_row is None and start > first:
        notes.append(f"column names are in row {start + 1:,} of the sheet; --header-row names another")
    rows = rows[start:]
    width = max(k + 1 for row in rows for k, cell in enumerate(row) if _is_filled(cell))
    rows = [[*row, *[None] * width][:width] for row in rows]
    header = ["" if cell is None else str(cell).strip() for cell in rows[0]]
    columns = [_column([row[k] for row in rows[1:]]) for k in range(width)]
    return RawTable(header, columns, notes, others=others)


def other_sheets(names: Sequence[str]) -> str:
    """A sentence to follow a message that names the other sheets; empty if there are none."""
    return f" The file has other sheets: {listed(names)} (--sheet)." if names else ""


def _row_of_names(rows: list[list[Any]], first: int) -> int:
    """The first row of different texts that fills half of the table's width, else the first row that is not empty."""
    counts = [sum(map(_is_filled, row)) for row in rows]
    width = max(counts)
    found = next(i for i, count in enumerate(counts) if 2 * count >= width and count >= min(2, width))
    filled = [cell for cell in rows[found] if _is_filled(cell)]
    is_names = all(isinstance(cell, str) for cell in filled) and len(set(filled)) == len(filled)
    return found if is_names else first


def _is_filled(cell: Any) -> bool:
    return cell is not None and bool(str(cell).strip())


def _column(cells: list[Any]) -> Any:
    """Cells of one type as they are, of several types as texts."""
    try:
        column = pa.array(cells)
        is_mixed = pa.types.is_duration(column.type)
    except (pa.ArrowException, OverflowError, TypeError, ValueError):
        is_mixed = True
    return pa.chunked_array([pa.array([_text(cell) for cell in cells], pa.large_string()) if is_mixed else column])


def _text(cell: Any) -> str | None:
    if isinstance(cell, datetime.datetime) and cell.time() == datetime.time():
        return cell.date().isoformat()
    return None if cell is None else str(cell)
