"""CSV and TSV files as columns of texts. Nothing is converted here, so that 01 stays 01."""

from __future__ import annotations

import csv
import gzip
import io
import re
from contextlib import suppress
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.csv

from siis.tables.tools.tool_file import RawTable
from siis.texts import is_number, one_line, plural, quoted, readable

LARGEST_BLOCK = 1 << 30  # bytes parsed at once; a row must fit in a block
TABS = (".tsv", ".tsv.gz")
SEPARATED = {
    ";": "columns are separated by semicolons; decimals may be by commas",
    "\t": "columns are separated by tabs",
    "|": "columns are separated by vertical bars",
}
TITLED, LONGEST_TITLES = 50, 1 << 20  # lines, and bytes, in which titles are looked for
LEAST_ROWS = 3  # of a table below titles, and columns
UTF8_MARK = b"\xef\xbb\xbf"
UTF16_MARKS = (b"\xff\xfe", b"\xfe\xff")


def read_delimited(path: Path, encoding: str, header_row: int | None = None) -> RawTable:
    """Read a CSV or TSV file (also gzip) as strings; semicolons imply decimal commas.

    header_row counts from 1; without it, titles above the names are skipped.
    """
    data = text_bytes(path, encoding)
    start = _titles(path, data) if header_row is None else header_row - 1
    lines = data.splitlines(keepends=True) if start else []
    if start and start >= len(lines):
        raise ValueError(f"{path}: holds {len(lines):,} lines; --header-row says {header_row:,}. Name another one.")
    if start:
        data = b"\n" * start + b"".join(lines[start:])  # empty lines, so that messages count lines as the file does
    first = re.search(rb"[^\r\n]+", data)
    if first is None:
        raise ValueError(f"{path}: is empty. A table needs a line of column names and at least one row.")
    separator = _separator(path, first.group())
    notes = [SEPARATED[separator]] if separator in SEPARATED and not path.name.lower().endswith(TABS) else []
    if start and header_row is None:
        notes.append(f"column names are in line {start + 1:,} of the file; --header-row names another")
    try:
        header = next(row for row in _rows(data, separator) if row)
    except csv.Error as problem:
        raise ValueError(f"{path}: the line of column names cannot be read ({problem}). Shorten it.") from None
    table = _parsed(path, data, separator, len(header))
    last = table.column(table.num_columns - 1)[-1].as_py()
    if ("\n" in last or "\r" in last) and not data.rstrip(b"\r\n").endswith(b'"'):  # the rest of the file as one cell
        line = data.count(b"\n") + 1 - last.count("\n")
        raise ValueError(f"{path}, line {line:,}: a quote is opened and never closed. Close it, or remove it.")
    table = table.slice(1)
    n = _n_used(table)
    if 0 < n < table.num_rows:
        notes.append(f"{table.num_rows - n:,} empty rows at the end were left out")
    header = [name.strip() for name in header]
    if all(map(is_number, header)) and not all(map(str.isdigit, header)):
        notes.append("the first line was taken for column names although it holds only numbers: add a header if not")
    return RawTable(header, table.slice(0, n).columns, notes, "," if separator == ";" else ".")


def text_bytes(path: Path, encoding: str) -> bytes:
    """Read a text file, which may be compressed with gzip, as UTF-8 without a byte order mark."""
    if path.suffix.lower() == ".gz":
        with readable(path, "a gzip file", "Compress the table again."), gzip.open(path) as file:
            data: bytes = file.read()
    else:
        with readable(path, "a text file", "Check the path."):
            data = path.read_bytes()
    try:
        text = data.decode(encoding)
        if encoding.lower().replace("_", "-") not in ("utf-8", "utf8"):
            data = text.encode("utf-8")
    except LookupError:
        raise ValueError(f"the encoding must be one that Python knows; found {encoding!r}. Try utf-8.") from None
    except UnicodeDecodeError as problem:
        line, found = data.count(b"\n", 0, problem.start) + 1, f"0x{data[problem.start]:02x}"
        remedy = f"Name the right encoding, for instance --encoding {_likely(data)}."
        wrong = f"the text must be {encoding}; found the byte {found}, which is not."
        raise ValueError(f"{path}, line {line:,}: {wrong} {remedy}") from None
    except UnicodeError:
        raise ValueError(f"{path}: the text cannot be read as {encoding}. Name the right one (--encoding).") from None
    data = data.removeprefix(UTF8_MARK)
    nul = data.find(b"\0")
    if nul >= 0:
        line = data.count(b"\n", 0, nul) + 1
        other = " This may be UTF-16: try --encoding utf-16." if data.count(b"\0") > len(data) // 4 else ""
        raise ValueError(f"{path}, line {line:,}: a text file must hold no NUL bytes; found one. Remove it.{other}")
    return data


def _likely(data: bytes) -> str:
    """Guess the encoding of a text that could not be decoded."""
    if data.startswith(UTF16_MARKS):
        return "utf-16"
    with suppress(UnicodeDecodeError):
        data.decode("utf-8")
        return "utf-8"
    return "latin-1"


def _separator(path: Path, first: bytes) -> str:
    """A tab for TSV files, else the commonest separator of the first line outside of quotes, or a comma."""
    bare = re.sub(rb'"[^"]*"', b"", first).decode()
    commonest = max((",", *SEPARATED), key=bare.count)
    if not path.name.lower().endswith(TABS):
        return commonest
    if "\t" not in first.decode() and commonest in bare:
        raise ValueError(
            f"{path}: columns of a TSV file must be separated by tabs; the line of column names has none, but "
            f"{quoted(commonest)}. Rename the file to .csv."
        )
    return "\t"


def _titles(path: Path, data: bytes) -> int:
    """Number of title lines: the names are different texts in a full row, titles fill at most half of that width."""
    start = b"".join(data[:LONGEST_TITLES].splitlines(keepends=True)[:TITLED])
    for separator in ("\t",) if path.name.lower().endswith(TABS) else (",", *SEPARATED):
        rows, before = [], 0
        reader = _rows(start, separator)
        with suppress(csv.Error):
            for row in reader:
                if row:
                    rows.append((before, row))
                before = reader.line_num
        rows = rows[:-1] if len(start) < len(data) else rows  # the last one may be cut
        widths = [len(row) for _, row in rows]
        for i in range(1, len(rows) - LEAST_ROWS + 1):
            line, names = rows[i]
            width = len(names)
            is_table = width >= LEAST_ROWS and widths[i : i + LEAST_ROWS] == [width] * LEAST_ROWS
            is_named = len(set(names)) == width and not any(not name.strip() or is_number(name) for name in names)
            if is_table and is_named and 2 * max(widths[:i]) <= width:
                return line
    return 0


def _rows(data: bytes, separator: str) -> Any:
    return csv.reader(io.TextIOWrapper(io.BytesIO(data), encoding="utf-8", newline=""), delimiter=separator)


def _parsed(path: Path, data: bytes, separator: str, width: int) -> Any:
    # the header is parsed as a row: names may then repeat, and rows of another width are found against it; where
    # there is one column, an empty line is an empty cell of it
    names = [str(i) for i in range(width)]
    try:
        return pyarrow.csv.read_csv(
            pa.BufferReader(data.lstrip(b"\r\n") if width == 1 else data),
            pyarrow.csv.ReadOptions(column_names=names, block_size=min(len(data) + 1, LARGEST_BLOCK)),
            pyarrow.csv.ParseOptions(delimiter=separator, newlines_in_values=True, ignore_empty_lines=width > 1),
            pyarrow.csv.ConvertOptions(
                column_types=dict.fromkeys(names, pa.string()), strings_can_be_null=False, check_utf8=False
            ),
        )
    except (pa.ArrowException, OSError) as problem:
        found = _ragged_row(data, separator, width)
        if found is None:
            cause = one_line(str(problem))
            raise ValueError(f"{path}: cannot be read as a table ({cause}). Check quotes and separators.") from None
        line, row = found
        raise ValueError(
            f"{path}, line {line:,}: every row must have {plural(width, 'cell')}, as the first line has; found "
            f"{len(row):,}, beginning with {quoted(row[0])}. Check its separators and quotes."
            f"{' If the column names are in another line, name it: --header-row.' if len(row) > width else ''}"
        ) from None


def _ragged_row(data: bytes, separator: str, width: int) -> tuple[int, list[str]] | None:
    """The first row with too few or too many cells; slow, and only used for the message."""
    rows = _rows(data, separator)
    line = 1
    try:
        for row in rows:
            if row and len(row) != width:
                return line, row
            line = rows.line_num + 1
    except csv.Error:  # a cell longer than the csv module reads
        pass
    return None


def _n_used(table: Any) -> int:
    """Number of rows without the empty ones at the end, which spreadsheets write."""
    n = int(table.num_rows)
    if n == 0 or any(column[n - 1].as_py().strip() for column in table.columns):
        return n
    used = [np.flatnonzero(pc.not_equal(pc.utf8_trim_whitespace(column), "").to_numpy()) for column in table.columns]
    return max((int(rows[-1]) + 1 for rows in used if rows.size), default=0)
