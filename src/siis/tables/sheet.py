"""A table in memory, from any file: unique names, plain column types."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from siis.tables.delimited import read_delimited
from siis.tables.pixels import holds_images
from siis.tables.tools.data_set_files import files_of, is_data_set
from siis.tables.tools.huggingface import understand
from siis.tables.tools.json_records import ARCHIVE, JSON, LINES, is_folder_of_lines, read_json, read_lines
from siis.tables.tools.label_studio import csv_of_label_studio
from siis.tables.tools.tool_file import NO_TOOL, Origin, ToolMetadata
from siis.tables.vectors import spread
from siis.tables.workbook import WORKBOOKS, other_sheets, read_workbook
from siis.texts import listed, quoted, readable, unknown

TEXT_FILES = (".csv", ".tsv", ".txt", ".csv.gz", ".tsv.gz", ".txt.gz")
COLUMNAR_FILES = (".parquet", ".arrow", ".feather", ".ipc")
TABLES = (
    "CSV, TSV, JSON, JSONL, XLSX, Parquet or Arrow/Feather (.csv, .tsv, .txt, .json, .jsonl, .xlsx, .parquet, .arrow)"
)
PANDAS_INDEX = "__index_level_"
DAMAGED = "It may be cut off or damaged: write or copy it again."


@dataclass(frozen=True, eq=False)
class Sheet:
    """A table."""

    path: Path
    columns: dict[str, Any]  # of strings, numbers, booleans, times, or types that are no features
    n: int  # number of rows, at least 1
    notes: tuple[str, ...]
    decimal: str = "."  # the decimal mark in columns of strings
    is_file: bool = True  # false for a Python object, whose name is then ``path``
    metadata: ToolMetadata = NO_TOOL
    origin: Origin | None = None  # the file of a labelling tool, to be written again
    others: tuple[str, ...] = ()  # names of the other sheets of a workbook
    vectors: frozenset[str] = frozenset()  # columns that were made from columns of lists

    def option(self, name: str) -> str:
        """The name of an option for its user: on the command line, or as a parameter."""
        return f"--{name.replace('_', '-')}" if self.is_file else f"{name}="

    def column(self, name: str, role: str) -> Any:
        """A column by its name; ``role`` names its purpose in messages, as in "the label column"."""
        self.check([name], role)
        return self.columns[name]

    def check(self, names: Sequence[str], role: str) -> None:
        """Refuse names of columns that do not exist, all in one message."""
        absent = [name for name in names if name not in self.columns]
        if not absent:
            return
        found = list(self.columns)
        known = unknown(absent[0], found) if len(absent) == 1 else f" There are: {listed(found)}. Add them."
        raise ValueError(
            f"{self.path}: {role} must be a column of the table; found none named {listed(absent)}.{known}"
            f"{other_sheets(self.others)}"
        )


def read_sheet(path: Path, encoding: str = "utf-8", page: str | None = None, header_row: int | None = None) -> Sheet:
    """Read a table by its suffix, or a folder of JSONL files of annotators; page: a sheet; header_row: from 1."""
    _check_options(path, encoding, page, header_row)
    name = path.name.lower()
    metadata, origin, decimal = NO_TOOL, None, "."
    others: tuple[str, ...] = ()
    votes: dict[str, Any] = {}
    if (is_folder_of_lines(path) and not is_data_set(path)) or name.endswith((*LINES, *JSON, ARCHIVE)):
        found = read_json(path, encoding) if name.endswith(JSON) else read_lines(path, encoding)
        header, columns, n, notes = list(found.columns), list(found.columns.values()), found.n, found.notes
        metadata, origin = found.metadata, found.origin
    elif name.endswith(TEXT_FILES):
        header, table, decimal, notes = read_delimited(path, encoding, header_row)
        metadata = csv_of_label_studio(path, header, dict(zip(header, table.columns, strict=True)))
        columns, n = list(table.columns), table.num_rows
    elif name.endswith((*COLUMNAR_FILES, *WORKBOOKS)) or is_data_set(path):
        if name.endswith(WORKBOOKS):
            header, table, notes, others = read_workbook(path, page, header_row)
        else:
            table, votes, notes, metadata, origin = understand(path, _columnar(path))
            header = [str(column).strip() for column in table.column_names]
        columns = [as_plain(path, title, column) for title, column in zip(header, table.columns, strict=True)]
        n = table.num_rows
    else:
        raise ValueError(f"{path}: a table must be {TABLES}; found {path.suffix or 'no suffix'}. Convert it.")
    titles = _named(path, [*header, *votes])
    kept = dict(zip(titles, [*columns, *votes.values()], strict=True))
    for title in [title for title in kept if title.startswith(PANDAS_INDEX)]:
        del kept[title]
        notes.append(f"column {title} is the row index of a data frame: left out")
    if not kept:
        raise ValueError(f"{path}: holds no columns. A table needs labels and features.")
    if n == 0:
        raise ValueError(
            f"{path}: holds column names but no rows. Add at least one row of data.{other_sheets(others)}"
        )
    kept, vectors, more = spread(kept)
    return Sheet(path, kept, int(n), (*notes, *more), decimal, True, metadata, origin, others, vectors)


def _check_options(path: Path, encoding: str, page: str | None, header_row: int | None) -> None:
    """Refuse what is no table, and options of other formats."""
    name = path.name.lower()
    if not path.exists():
        raise ValueError(f"{path}: there is no such file. Check the path.")
    if path.is_dir() and not is_table(path):
        raise ValueError(
            f"{path}: must be a file, or a folder of JSONL files; found a folder without any. Name a file."
        )
    if page is not None and not name.endswith(WORKBOOKS):
        raise ValueError(f"{path}: a sheet is named for XLSX files only. Leave --sheet out.")
    if header_row is not None and not name.endswith((*TEXT_FILES, *WORKBOOKS)):
        raise ValueError(f"{path}: a row of column names is for CSV, TSV and XLSX files. Leave --header-row out.")
    if header_row is not None and header_row < 1:
        raise ValueError(f"--header-row must be 1 or more; found {header_row}. Count rows from 1.")
    if encoding != "utf-8" and name.endswith((*COLUMNAR_FILES, *WORKBOOKS)):
        raise ValueError(f"{path}: an encoding is for CSV, TSV and JSON files only. Leave --encoding out.")


def is_table(folder: Path) -> bool:
    """Whether a folder holds a table: JSONL files, one for each annotator, or a data set of Hugging Face."""
    return is_data_set(folder) or (is_folder_of_lines(folder) and not holds_images(folder))


def _columnar(path: Path) -> Any:
    from pyarrow import feather, parquet  # noqa: PLC0415 - slow imports, and most tables are CSV

    if path.is_dir():
        tables = [_columnar(file) for file in files_of(path)]
        with readable(path, "files of the same columns", "Write them again, from one data set."):
            return pa.concat_tables(tables)
    if path.name.lower().endswith(".parquet"):
        with readable(path, "a Parquet file", DAMAGED), parquet.ParquetFile(path) as file:
            table = file.read()  # this file alone, and no columns from the names of its folders
            table.validate(full=True)
            return table
    with readable(path, "an Arrow file", DAMAGED):
        with path.open("rb") as file:
            start = file.read(6)
        if start == b"ARROW1" or start.startswith(b"FEA1"):
            table = feather.read_table(path, memory_map=False)
        else:  # the format for streams has no magic number
            with pa.ipc.open_stream(path.read_bytes()) as stream:
                table = stream.read_all()
        table.validate(full=True)  # offsets of a hostile file may point anywhere
        return table


def as_plain(path: Path, name: str, column: Any) -> Any:
    """Decode dictionaries, views, decimals and extension types."""
    kind = column.type
    with readable(path, f"a table with plain columns, which {quoted(name)} is not,", "Convert the column."):
        if isinstance(kind, pa.BaseExtensionType):
            column = pa.chunked_array([chunk.storage for chunk in column.chunks], kind.storage_type)
        elif pa.types.is_dictionary(kind):
            column = column.cast(kind.value_type)
        elif pa.types.is_run_end_encoded(kind):
            column = pa.chunked_array([pc.run_end_decode(chunk) for chunk in column.chunks], kind.value_type)
        elif pa.types.is_string_view(kind):
            column = column.cast(pa.large_string())
        elif pa.types.is_decimal(kind) or pa.types.is_float16(kind):
            column = column.cast(pa.float64() if pa.types.is_decimal(kind) else pa.float32())
    return column if column.type.equals(kind) else as_plain(path, name, column)


def _named(path: Path, header: Sequence[str]) -> list[str]:
    """Check the names; a column without one is called after its place."""
    place: dict[str, int] = {}
    for i, name in enumerate(header, start=1):
        title = name or f"column {i}"
        if title in place:
            raise ValueError(
                f"{path}: column names must differ; found {quoted(title)} at columns {place[title]} and {i}. "
                "Rename one of them."
            )
        place[title] = i
    return list(place)
