"""JSON texts as objects, and objects as columns."""

from __future__ import annotations

import json
import sys
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, TypeVar

import pyarrow as pa

from siis.tables.cell_values import list_length
from siis.tables.delimited import text_bytes
from siis.tables.tools.tool_file import (
    FIELDS,
    ID,
    OURS,
    SHOWN,
    Origin,
    RawTable,
    Votes,
    free_name,
    tool_table,
    utf8_text,
)
from siis.texts import listed, quoted

INLINE, PICTURE = "data:", "data:image/"  # starts of a file in a cell, and of an image
DEEPEST = 100  # objects within objects
KINDS = {dict: "a JSON object", list: "a JSON list", bool: "true or false"}
T = TypeVar("T", dict[str, Any], list[Any], bool)


def read_text(path: Path, encoding: str) -> str:
    """Read a text file, which may be compressed with gzip."""
    return text_bytes(path, encoding).decode()


def parsed(text: str, where: str) -> Any:
    """Read a JSON text."""
    too_deep = f"{where}: brackets must be nested at most {DEEPEST} deep. Flatten it."
    try:
        value = json.loads(text)
    except json.JSONDecodeError as problem:
        line = f"line {problem.lineno:,}, " if "\n" in text.strip() else ""
        place = f"{line}column {problem.colno:,} ({problem.msg})"
        raise ValueError(f"{where}: must be JSON; found an error at {place}. Correct it.") from None
    except RecursionError:
        raise ValueError(too_deep) from None
    except ValueError:  # the only other one that the parser knows
        digits = f"a whole number must have at most {sys.get_int_max_str_digits():,} digits"
        raise ValueError(f"{where}: {digits}; found a longer one. Write it as a text.") from None
    if text.count("[") + text.count("{") > DEEPEST and _depth(value, DEEPEST) > DEEPEST:
        raise ValueError(too_deep)
    return value


def _depth(value: Any, most: int) -> int:
    if most < 0 or not isinstance(value, dict | list):
        return 0
    inside = value.values() if isinstance(value, dict) else value
    return 1 + max((_depth(one, most - 1) for one in inside), default=0)


def expect(value: Any, kind: type[T], where: str, what: str) -> T:
    """A JSON value of one type, as in "a task"; nothing is an empty list or false, but no object."""
    if value is None and kind is not dict:
        return kind()
    if not isinstance(value, kind):
        found = quoted(json.dumps(value)[:SHOWN])
        raise ValueError(f"{where}: {what} must be {KINDS[kind]}; found {found}. Export it again.")
    return value


def expect_record(value: Any, where: str, what: str) -> dict[str, Any]:
    """An object about an example without answers of an earlier fit, whose id can be one."""
    record = expect(value, dict, where, what)
    ours = record.get(OURS)
    if OURS in record and not (isinstance(ours, dict) and set(ours) == set(FIELDS)):
        raise ValueError(f"{where}: the field {OURS} is kept for answers of siis; found another one. Rename it.")
    if isinstance(record.get(ID), list | dict):
        raise ValueError(f"{where}: an id must be a number or a text; found a list or an object. Export it again.")
    return {name: value for name, value in record.items() if name != OURS}


def written(value: Any) -> bytes:
    """JSON with letters as they are; half a surrogate pair, which UTF-8 cannot hold, is escaped."""
    try:
        return json.dumps(value, ensure_ascii=False).encode()
    except UnicodeEncodeError:
        return json.dumps(value).encode()


def written_items(items: Iterable[Any]) -> bytes:
    """A list as a JSON file with a line for each item."""
    return b"[\n" + b",\n".join(map(written, items)) + b"\n]\n"


def flattened(record: Mapping[str, Any], before: str = "") -> Iterator[tuple[str, Any]]:
    """The fields of an object; those of inner objects are called outer.inner."""
    for name, value in record.items():
        if isinstance(value, Mapping):
            yield from flattened(value, f"{before}{name}.")
        else:
            yield f"{before}{name}", value


def json_table(
    tool: str,
    records: Sequence[Mapping[str, Any]],
    votes: Votes,
    origin: Origin,
    notes: Sequence[str],
    *,
    id_names: tuple[str, ...] = (ID,),
    ids: Sequence[Any] | None = None,
    aside: tuple[str, ...] = (),
    **more: Any,
) -> RawTable:
    """The table of n flat records and of the answers to them; ``aside``: starts of fields that are no features."""
    columns: dict[str, Any] = {}
    lists, files = [], []
    for name in dict.fromkeys(name for record in records for name in record):
        values = [record.get(name) for record in records]
        column, title = _column(values), utf8_text(name)
        starts = {value[: len(PICTURE)] for value in values if isinstance(value, str)}
        if any(isinstance(value, list) for value in values) and not list_length(column):
            lists.append(title)
        elif any(start.startswith(INLINE) for start in starts) and starts != {PICTURE}:
            files.append(title)
        else:
            columns[title] = column
    held = (("lists", lists), ("files", files))
    notes = [*notes, *(f"fields that hold {what} are left out: {listed(names)}" for what, names in held if names)]
    hidden = {name for name in columns if name in id_names or name.startswith(aside)}
    if ids is not None:
        id_names = (free_name(ID, columns),)
        columns |= {id_names[0]: _column(ids)} if any(one is not None for one in ids) else {}
    return tool_table(tool, columns, len(records), votes, origin, notes, id_names=id_names, aside=hidden, **more)


def _column(values: Sequence[Any]) -> Any:
    """A column of values; those of several types become texts."""
    values = [utf8_text(value) if isinstance(value, str) else value for value in values]
    try:
        column = pa.array(values)
    except (pa.ArrowException, OverflowError, TypeError, ValueError):
        column = pa.array([None if value is None else utf8_text(str(value)) for value in values], pa.large_string())
    return pa.chunked_array([column])
