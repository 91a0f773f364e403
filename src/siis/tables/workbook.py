"""Spreadsheets: a sheet of an XLSX file, its first row the names of the columns."""

from __future__ import annotations

import datetime
import warnings
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import pyarrow as pa

from siis.tables.messages import listed, readable, unknown
from siis.texts import quoted

WORKBOOKS = (".xlsx", ".xlsm")
INSTALL = "Install it with `pip install 'siis[xlsx]'`, or save the sheet as CSV."


def read_workbook(path: Path, sheet: str | None) -> tuple[list[str], Any, list[str]]:
    """Read a sheet: values of formulas as they were saved; dates, numbers and texts as they are.

    Parameters
    ----------
    path : Path
    sheet : str, optional
        Its name; the first one unless said.

    Returns
    -------
    names : list of str
        Stripped; may hold duplicates.
    table : pyarrow.Table
        Columns named 0, 1, ...
    notes : list of str
    """
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
        raise ValueError(
            f"{path}: the sheet (--sheet) must be one of the file; found none named {quoted(wanted)}."
            f"{unknown(wanted, names)}"
        )
    others = [name for name in names if name != wanted]
    notes = [f"sheet {quoted(wanted)}; not read: {listed(others)} (--sheet names another)"] if others else []
    while rows and not any(_is_said(cell) for cell in rows[-1]):
        rows.pop()
    start = next((i for i, row in enumerate(rows) if any(_is_said(cell) for cell in row)), 0)
    rows = rows[start:]
    if not rows:
        raise ValueError(f"{path}: sheet {quoted(wanted)} is empty. It needs a row of column names and data below.")
    width = max(k + 1 for row in rows for k, cell in enumerate(row) if _is_said(cell))
    rows = [[*row, *[None] * width][:width] for row in rows]
    header = ["" if cell is None else str(cell).strip() for cell in rows[0]]
    columns = [_column([row[k] for row in rows[1:]]) for k in range(width)]
    return header, pa.table(columns, names=[str(k) for k in range(width)]), notes


def _is_said(cell: Any) -> bool:
    return cell is not None and bool(str(cell).strip())


def _column(cells: list[Any]) -> Any:
    """Cells of one type as they are; of several, as texts."""
    try:
        column = pa.array(cells)
    except (pa.ArrowException, OverflowError, TypeError, ValueError):
        column = pa.array([_text(cell) for cell in cells], pa.large_string())
    return column if not pa.types.is_duration(column.type) else pa.array([_text(cell) for cell in cells])


def _text(cell: Any) -> str | None:
    if cell is None:
        return None
    if isinstance(cell, datetime.datetime) and cell.time() == datetime.time():
        return cell.date().isoformat()
    return str(cell)
