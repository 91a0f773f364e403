"""A table in memory, from one file or from several: unique names, plain column types."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from glob import glob, has_magic
from pathlib import Path
from typing import Any, Self

import pyarrow as pa

from siis.tables.cell_values import as_plain, as_texts, is_text, spread_lists
from siis.tables.delimited import read_delimited
from siis.tables.examples import NO_ROLES, Roles
from siis.tables.tools.huggingface import OriginalTable, data_set_files, is_data_set, read_table
from siis.tables.tools.json_records import is_json, read_json
from siis.tables.tools.label_studio import csv_metadata
from siis.tables.tools.tool_file import NO_TOOL, Origin, RawTable, ToolMetadata
from siis.tables.workbook import WORKBOOKS, other_sheets, read_workbook
from siis.texts import listed, plural, quoted, readable, unknown

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
    notes: tuple[str, ...] = ()
    decimal: str = "."  # the decimal mark in columns of strings
    is_file: bool = True  # false for a Python object, whose name is then ``path``
    metadata: ToolMetadata = NO_TOOL
    origin: Origin | None = None
    others: tuple[str, ...] = ()  # names of the other sheets of a workbook
    vectors: frozenset[str] = frozenset()  # columns that were made from columns of lists

    @classmethod
    def of(cls, path: Path, raw: RawTable, is_file: bool = True) -> Self:
        """Check names and sizes, and make columns plain; a column without a name is called after its place."""
        columns: dict[str, Any] = {}
        for i, (name, column) in enumerate(zip(raw.header, raw.columns, strict=True), start=1):
            title = name or f"column {i}"
            if title in columns:
                places = f"columns {list(columns).index(title) + 1} and {i}"
                problem = f"column names must differ; found {quoted(title)} at {places}. Rename one of them."
                raise ValueError(f"{path}: {problem}")
            columns[title] = column
        indices = [title for title in columns if title.startswith(PANDAS_INDEX)]
        notes = [f"column {title} is the row index of a data frame: left out" for title in indices]
        columns = {title: as_plain(path, title, columns[title]) for title in columns if title not in indices}
        if not columns:
            raise ValueError(f"{path}: holds no columns. A table needs labels and features.")
        n = len(next(iter(columns.values())))
        if n == 0:
            remedy = f"Add at least one row of data.{other_sheets(raw.others)}"
            raise ValueError(f"{path}: holds column names but no rows. {remedy}")
        columns, vectors, more = spread_lists(columns)
        about = (*raw.notes, *notes, *more)
        return cls(path, columns, n, about, raw.decimal, is_file, raw.metadata, raw.origin, raw.others, vectors)

    def option(self, name: str) -> str:
        """The name of an option for its user: on the command line, or as a parameter."""
        return f"--{name.replace('_', '-')}" if self.is_file else f"{name}="

    def column(self, name: str, role: str) -> Any:
        """A column by its name; ``role`` names its purpose in messages, as in "the label column"."""
        self.check([name], role)
        return self.columns[name]

    def texts(self, name: str, role: str) -> Any:
        """A column as stripped texts."""
        column = self.column(name, role)
        texts = as_texts(column)
        if texts is None:
            problem = f"{role} must hold text or numbers; column {quoted(name)} holds {column.type}."
            raise ValueError(f"{self.path}: {problem} Choose another column.")
        return texts

    def check(self, names: Sequence[str], role: str) -> None:
        """Refuse names of columns that do not exist, all in one message."""
        absent = [name for name in names if name not in self.columns]
        if absent:
            found = list(self.columns)
            known = unknown(absent[0], found) if len(absent) == 1 else f" There are: {listed(found)}. Add them."
            raise ValueError(
                f"{self.path}: {role} must be a column of the table; found none named {listed(absent)}.{known}"
                f"{other_sheets(self.others)}"
            )


def is_sheet_folder(folder: Path) -> bool:
    """Whether a folder holds a table: JSONL files, one for each annotator, or a data set of Hugging Face."""
    return is_data_set(folder) or is_json(folder)


def read_sheet(path: Path, roles: Roles = NO_ROLES) -> Sheet:
    """Read a table by its suffix, or a folder of JSONL files of annotators."""
    name, header_row = path.name.lower(), roles.header_row
    if not path.exists():
        raise ValueError(f"{path}: there is no such file. Check the path.")
    if path.is_dir() and not is_sheet_folder(path):
        raise ValueError(
            f"{path}: must be a file, or a folder of JSONL files; found a folder without any. Name a file."
        )
    if roles.sheet is not None and not name.endswith(WORKBOOKS):
        raise ValueError(f"{path}: a sheet is named for XLSX files only. Leave --sheet out.")
    if header_row is not None and not name.endswith((*TEXT_FILES, *WORKBOOKS)):
        raise ValueError(f"{path}: a row of column names is for CSV, TSV and XLSX files. Leave --header-row out.")
    if header_row is not None and header_row < 1:
        raise ValueError(f"--header-row must be 1 or more; found {header_row}. Count rows from 1.")
    if roles.encoding != "utf-8" and name.endswith((*COLUMNAR_FILES, *WORKBOOKS)):
        raise ValueError(f"{path}: an encoding is for CSV, TSV and JSON files only. Leave --encoding out.")
    if is_data_set(path) or name.endswith(COLUMNAR_FILES):
        raw = read_table(path, _columnar(path))
    elif is_json(path):
        raw = read_json(path, roles.encoding)
    elif name.endswith(TEXT_FILES):
        raw = read_delimited(path, roles.encoding, header_row)
        raw = replace(raw, metadata=csv_metadata(path, raw))
    elif name.endswith(WORKBOOKS):
        raw = read_workbook(path, roles.sheet, header_row)
    else:
        raise ValueError(f"{path}: a table must be {TABLES}; found {path.suffix or 'no suffix'}. Convert it.")
    return Sheet.of(path, raw)


def _columnar(path: Path) -> Any:
    from pyarrow import feather, parquet  # noqa: PLC0415 - slow imports, and most tables are CSV

    if path.is_dir():
        tables = [_columnar(file) for file in data_set_files(path)]
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


def found_files(data: str | Path | Sequence[str | Path]) -> tuple[Path, ...]:
    """List files in the order given; * and ? in a path that does not exist are wildcards, sorted by name."""
    paths: list[Path] = []
    for one in [data] if isinstance(data, str | Path) else data:
        is_pattern = has_magic(str(one)) and not Path(one).exists()
        matching = sorted(map(Path, glob(str(Path(one))))) if is_pattern else [Path(one)]
        if not matching:
            raise ValueError(f"{one}: no file has such a name. Check the path.")
        paths += matching
    if not paths:
        raise ValueError("at least one file must be named; found none. Name one.")
    twice = next((path for path in paths if paths.count(path) > 1), None)
    if twice is not None:
        raise ValueError(f"each file must be named once; {twice.name} was named twice. Leave one out.")
    return tuple(paths)


def joint_name(paths: Sequence[Path]) -> Path:
    """The name of several files in messages."""
    return paths[0] if len(paths) == 1 else Path(f"{paths[0]} and {len(paths) - 1} more")


def read_sheets(paths: Sequence[Path], roles: Roles = NO_ROLES) -> Sheet:
    """Read one or more tables with the same columns as one."""
    if len(paths) == 1:
        return read_sheet(paths[0], roles)
    for path in paths:
        if path.is_dir() or path.name.lower().endswith((".npz", ".npy")):
            raise ValueError(f"{path}: several files must be tables, {TABLES}. Read this one alone.")
    sheets = [read_sheet(path, roles) for path in paths]
    first = sheets[0]
    for sheet in sheets:
        _check_alike(first, sheet)
    tables = [sheet.origin.table for sheet in sheets if isinstance(sheet.origin, OriginalTable)]
    is_data = len(tables) == len(sheets)  # shards of Hugging Face are written as one
    sizes = ", ".join(f"{sheet.path.name} ({plural(sheet.n, 'row')})" for sheet in sheets)
    return replace(
        first,
        path=joint_name(paths),
        columns={name: _stacked(name, sheets) for name in first.columns},
        n=sum(sheet.n for sheet in sheets),
        notes=(f"{len(sheets):,} files: {sizes}", *dict.fromkeys(note for sheet in sheets for note in sheet.notes)),
        origin=OriginalTable(pa.concat_tables(tables, promote_options="permissive")) if is_data else None,
        others=(),
    )


def _check_alike(first: Sheet, sheet: Sheet) -> None:
    for one in (first, sheet):
        is_shard = isinstance(one.origin, OriginalTable) and first.metadata.tool and not first.metadata.is_project
        if one.metadata.tool is not None and not is_shard:
            raise ValueError(f"{one.path}: a file of {one.metadata.tool} must be read alone. Name it alone.")
    lacking = [name for name in first.columns if name not in sheet.columns]
    more = [name for name in sheet.columns if name not in first.columns]
    if lacking or more:
        changes = [f"it lacks {listed(lacking)}"] if lacking else []
        changes += [f"{listed(more)} {'is' if len(more) == 1 else 'are'} not there"] if more else []
        raise ValueError(
            f"{sheet.path}: must have the columns of {first.path.name}; {', and '.join(changes)}. Write them alike."
        )
    if sheet.decimal != first.decimal:
        commas, points = (sheet, first) if sheet.decimal == "," else (first, sheet)
        raise ValueError(
            f"{commas.path}: decimals may be by commas, in {points.path.name} by points, because columns are "
            "separated by semicolons here. Write them alike."
        )


def _stacked(name: str, sheets: Sequence[Sheet]) -> Any:
    """A column of all files; if only some hold texts, numbers become texts."""
    parts = [sheet.columns[name] for sheet in sheets]
    kinds = {str(part.type) for part in parts}
    if len(kinds) > 1 and any(map(is_text, parts)):
        parts = [part.cast(pa.large_string()) for part in parts]
    try:
        return pa.concat_tables([pa.table({name: part}) for part in parts], promote_options="permissive")[name]
    except pa.ArrowException:
        problem = f"column {quoted(name)} must hold the same in all files; found {', '.join(sorted(kinds))}."
        raise ValueError(f"{joint_name([sheet.path for sheet in sheets])}: {problem} Write them alike.") from None
