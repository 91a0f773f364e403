"""Several files as one table."""

from __future__ import annotations

from collections.abc import Sequence
from glob import glob, has_magic
from pathlib import Path
from typing import Any

import pyarrow as pa

from siis.tables.sheet import TABLES, Sheet, read_sheet
from siis.tables.tools.huggingface import Table
from siis.texts import listed, plural, quoted


def found_files(data: str | Path | Sequence[str | Path]) -> tuple[Path, ...]:
    """List files in the order given; * and ? in a path that does not exist are wildcards, sorted by name."""
    paths: list[Path] = []
    for one in [data] if isinstance(data, str | Path) else data:
        path = Path(one)
        if not has_magic(str(one)) or path.exists():
            paths.append(path)
            continue
        matching = sorted(map(Path, glob(str(path))))
        if not matching:
            raise ValueError(f"{path}: no file has such a name. Check the path.")
        paths += matching
    if not paths:
        raise ValueError("at least one file must be named; found none. Name one.")
    for path in paths:
        if paths.count(path) > 1:
            raise ValueError(f"each file must be named once; {path.name} was named twice. Leave one out.")
    return tuple(paths)


def joint_name(paths: Sequence[Path]) -> Path:
    """The name of several files in messages."""
    return paths[0] if len(paths) == 1 else Path(f"{paths[0]} and {len(paths) - 1} more")


def read_sheets(
    paths: Sequence[Path], encoding: str = "utf-8", page: str | None = None, header_row: int | None = None
) -> Sheet:
    """Read one or more tables with the same columns as one; options as for ``read_sheet``."""
    if len(paths) == 1:
        return read_sheet(paths[0], encoding, page, header_row)
    for path in paths:
        if path.is_dir() or path.name.lower().endswith((".npz", ".npy")):
            raise ValueError(f"{path}: several files must be tables, {TABLES}. Read this one alone.")
    sheets = [read_sheet(path, encoding, page, header_row) for path in paths]
    first = sheets[0]
    for sheet in sheets:
        _check_alike(first, sheet)
    columns = {name: _joined(name, sheets) for name in first.columns}
    sizes = ", ".join(f"{sheet.path.name} ({plural(sheet.n, 'row')})" for sheet in sheets)
    notes = dict.fromkeys(note for sheet in sheets for note in sheet.notes)
    about = (f"{len(sheets):,} files: {sizes}", *notes)
    n = sum(sheet.n for sheet in sheets)
    return Sheet(
        joint_name(paths),
        columns,
        n,
        about,
        first.decimal,
        metadata=first.metadata,
        origin=_origin(sheets),
        vectors=first.vectors,
    )


def _origin(sheets: Sequence[Sheet]) -> Table | None:
    """The shards of a data set of Hugging Face as one table to write."""
    tables = [sheet.origin.table for sheet in sheets if isinstance(sheet.origin, Table)]
    return Table(pa.concat_tables(tables, promote_options="permissive")) if len(tables) == len(sheets) else None


def _check_alike(first: Sheet, sheet: Sheet) -> None:
    for one in (first, sheet):
        is_shard = isinstance(one.origin, Table) and first.metadata.tool is not None and not first.metadata.is_project
        if one.metadata.tool is not None and not is_shard:
            raise ValueError(f"{one.path}: a file of {one.metadata.tool} must be read alone. Name it alone.")
    lacking = [name for name in first.columns if name not in sheet.columns]
    more = [name for name in sheet.columns if name not in first.columns]
    if lacking or more:
        changes = [f"it lacks {listed(lacking)}"] if lacking else []
        changes += (
            [f"{listed(more)} is not there" if len(more) == 1 else f"{listed(more)} are not there"] if more else []
        )
        raise ValueError(
            f"{sheet.path}: must have the columns of {first.path.name}; {', and '.join(changes)}. Write them alike."
        )
    if sheet.decimal != first.decimal:
        commas, points = (sheet, first) if sheet.decimal == "," else (first, sheet)
        raise ValueError(
            f"{commas.path}: decimals may be by commas, in {points.path.name} by points, because columns are "
            "separated by semicolons here. Write them alike."
        )


def _joined(name: str, sheets: Sequence[Sheet]) -> Any:
    """A column of all files; if only some hold texts, numbers become texts."""
    parts = [sheet.columns[name] for sheet in sheets]
    kinds = {str(part.type) for part in parts}
    if len(kinds) > 1 and kinds & {"string", "large_string"}:
        parts = [part.cast(pa.large_string()) for part in parts]
    try:
        return pa.concat_tables([pa.table({name: part}) for part in parts], promote_options="permissive")[name]
    except pa.ArrowException:
        where = joint_name([sheet.path for sheet in sheets])
        raise ValueError(
            f"{where}: column {quoted(name)} must hold the same in all files; found {', '.join(sorted(kinds))}. "
            "Write them alike."
        ) from None
