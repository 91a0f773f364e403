"""The user's own table with the answers as further columns."""

from __future__ import annotations

import csv
import datetime
import io
import os
import zipfile
from collections.abc import Iterable, Mapping, Sequence
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from siis.files import check_writable
from siis.results import ANSWER_COLUMNS
from siis.tables import Data
from siis.tables.cell_values import as_texts
from siis.tables.sheet import Sheet
from siis.tables.workbook import INSTALL

NUMBERS = ("siis_probability", "siis_quality")
CSV, XLSX = ".csv", ".xlsx"
MOST_ROWS, MOST_COLUMNS, MOST_LETTERS = 1_048_575, 16_384, 32_767  # of a sheet of XLSX, without the header
WRITTEN = (1980, 1, 1, 0, 0, 0)  # the time in each XLSX file: the same input gives the same bytes


def check_table_file(path: Path, sources: Sequence[str], data: Data) -> None:
    """Check before the fit that the table can be written."""
    suffix, sheet = path.suffix.lower(), data.sheet
    if suffix not in (CSV, XLSX):
        raise ValueError(f"--write-table must name a .csv or .xlsx file; found {path}. Change its suffix.")
    if sheet is None:
        raise ValueError(f"--write-table needs a table; {sources[0]} is none. Leave it out and use predictions.csv.")
    if os.path.realpath(path) in {os.path.realpath(source) for source in sources}:
        raise ValueError(f"--write-table must not replace the data, {path}. Choose another name.")
    if path.is_dir() or not path.absolute().parent.is_dir():
        raise ValueError(f"--write-table must name a file in a folder that exists; found {path}. Change the path.")
    check_writable(path.absolute().parent)
    if suffix != XLSX:
        return
    if find_spec("openpyxl") is None:
        raise ValueError(f"{path}: writing XLSX files needs openpyxl, which is not installed. {INSTALL}")
    too_long = any(len(cell) > MOST_LETTERS for column in _texts(sheet).values() for cell in column)
    if sheet.n > MOST_ROWS or len(sheet.columns) + len(ANSWER_COLUMNS) > MOST_COLUMNS or too_long:
        raise ValueError(
            f"{path}: an XLSX sheet holds at most {MOST_ROWS:,} rows, {MOST_COLUMNS:,} columns and {MOST_LETTERS:,} "
            "letters in a cell; the table has more. Name a .csv file."
        )


def table_file(path: Path, sheet: Sheet, answers: Iterable[Sequence[str]]) -> bytes:
    """Write a table with its answers, in the format of the suffix; answers of a former fit are replaced."""
    columns = _texts(sheet)
    rows = ([*own, *answer] for own, answer in zip(zip(*columns.values(), strict=True), answers, strict=True))
    header = [*columns, *ANSWER_COLUMNS]
    return _xlsx(header, rows) if path.suffix.lower() == XLSX else _csv(header, rows)


def _texts(sheet: Sheet) -> Mapping[str, list[str]]:
    """The cells of the table's own columns; lists and the like as Python writes them."""
    found = {}
    for name, column in sheet.columns.items():
        if name not in ANSWER_COLUMNS:
            texts = as_texts(column)
            cells = column.to_pylist() if texts is None else texts.to_pylist()
            found[name] = ["" if cell is None else str(cell) for cell in cells]
    return found


def _csv(header: Sequence[str], rows: Iterable[Sequence[str]]) -> bytes:
    out = io.StringIO()
    writer = csv.writer(out, lineterminator="\n")
    writer.writerow(header)
    writer.writerows(rows)
    return out.getvalue().encode(errors="replace")


def _xlsx(header: Sequence[str], rows: Iterable[Sequence[str]]) -> bytes:
    import openpyxl  # noqa: PLC0415  (an extra)
    from openpyxl.cell import WriteOnlyCell  # noqa: PLC0415
    from openpyxl.cell.cell import ILLEGAL_CHARACTERS_RE  # noqa: PLC0415

    book = openpyxl.Workbook(write_only=True)
    page = book.create_sheet("siis")

    def cell(text: str, is_number: bool = False) -> Any:
        made = WriteOnlyCell(page, ILLEGAL_CHARACTERS_RE.sub("\ufffd", text))
        made.data_type = "s"  # no text is a formula
        number = float(text) if is_number else _number(text)
        if number is not None:
            made.value = number
        return made

    page.append([cell(name) for name in header])
    for row in rows:
        page.append([cell(text, name in NUMBERS) if text else None for name, text in zip(header, row, strict=True)])
    out = io.BytesIO()
    book.save(out)
    return _without_times(out.getvalue())


def _number(text: str) -> float | int | None:
    """The number in a cell if it is written as the same text; 01 stays a text."""
    for kind in (int, float):
        try:
            number = kind(text)
        except ValueError:
            continue
        if str(number) == text and abs(number) < 10**15:
            return number
    return None


def _without_times(content: bytes) -> bytes:
    from openpyxl.packaging.core import DocumentProperties  # noqa: PLC0415
    from openpyxl.xml.functions import tostring  # noqa: PLC0415

    out = io.BytesIO()
    with zipfile.ZipFile(io.BytesIO(content)) as source, zipfile.ZipFile(out, "w", zipfile.ZIP_DEFLATED) as target:
        for name in source.namelist():
            if name != "docProps/core.xml":
                target.writestr(zipfile.ZipInfo(name, WRITTEN), source.read(name), zipfile.ZIP_DEFLATED)
                continue
            moment = datetime.datetime(*WRITTEN)
            plain = DocumentProperties(creator="siis", created=moment, modified=moment)
            target.writestr(zipfile.ZipInfo(name, WRITTEN), tostring(plain.to_tree()), zipfile.ZIP_DEFLATED)
    return out.getvalue()
