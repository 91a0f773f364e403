"""JSON texts <-> objects, and objects -> columns."""

from __future__ import annotations

import json
import math
import sys
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import pyarrow as pa

from siis.tables.delimited import text_bytes
from siis.tables.messages import listed
from siis.tables.tools.told import FIELDS, OURS
from siis.texts import quoted

INLINE, PICTURE = "data:", "data:image/"  # how a file begins that stands in the file itself, and a picture
DEEPEST = 100  # objects within objects


def parsed(text: str, where: str) -> Any:
    """Read a JSON text.

    Parameters
    ----------
    text : str
    where : str
        File and line, for messages.

    Returns
    -------
    object
    """
    try:
        value = json.loads(text)
    except json.JSONDecodeError as problem:
        place = f"line {problem.lineno:,}, column {problem.colno:,}"
        place = f"column {problem.colno:,}" if "\n" not in text.strip() else place
        raise ValueError(f"{where}: must be JSON; found an error at {place} ({problem.msg}). Correct it.") from None
    except RecursionError:
        raise ValueError(f"{where}: brackets must be nested at most {DEEPEST} deep. Flatten it.") from None
    except ValueError:  # the only other one that the parser knows
        raise ValueError(
            f"{where}: a whole number must have at most {sys.get_int_max_str_digits():,} digits; found a longer one. "
            "Write it as a text."
        ) from None
    if text.count("[") + text.count("{") > DEEPEST and _depth(value, DEEPEST) > DEEPEST:
        raise ValueError(f"{where}: brackets must be nested at most {DEEPEST} deep. Flatten it.")
    return value


def _depth(value: Any, most: int) -> int:
    if most < 0 or not isinstance(value, dict | list):
        return 0
    inside = value.values() if isinstance(value, dict) else value
    return 1 + max((_depth(one, most - 1) for one in inside), default=0)


def written(value: Any) -> bytes:
    """Write an object as JSON, letters as they are; half a surrogate pair, which no UTF-8 can hold, is escaped.

    Parameters
    ----------
    value : object

    Returns
    -------
    bytes
    """
    try:
        return json.dumps(value, ensure_ascii=False).encode()
    except UnicodeEncodeError:
        return json.dumps(value).encode()


def written_items(value: list[Any] | dict[str, Any]) -> bytes:
    """Write a list or an object as a JSON file, each item on a line of its own.

    Parameters
    ----------
    value : list or dict

    Returns
    -------
    bytes
    """
    if isinstance(value, dict):
        items = [written(name) + b": " + written(one) for name, one in value.items()]
        return b"{\n" + b",\n".join(items) + b"\n}\n"
    return b"[\n" + b",\n".join(map(written, value)) + b"\n]\n"


def without_ours(record: Mapping[str, Any], where: str) -> dict[str, Any]:
    """Take off what siis has said of an example before, and refuse a field of that name that is something else.

    Parameters
    ----------
    record : mapping
    where : str
        File and line, for messages.

    Returns
    -------
    dict
    """
    ours = record.get(OURS)
    if OURS in record and not (isinstance(ours, dict) and set(ours) == set(FIELDS)):
        raise ValueError(f"{where}: the field {OURS} is kept for answers of siis; found another one. Rename it.")
    return {name: value for name, value in record.items() if name != OURS}


def flattened(record: Mapping[str, Any], before: str = "") -> Iterator[tuple[str, Any]]:
    """Give the fields of an object; those of objects inside are called outer.inner.

    Parameters
    ----------
    record : mapping
    before : str

    Yields
    ------
    name : str
    value : object
        No mapping.
    """
    for name, value in record.items():
        if isinstance(value, Mapping):
            yield from flattened(value, f"{before}{name}.")
        else:
            yield f"{before}{name}", value


def label_text(value: Any) -> str | None:
    """Write a label as a text.

    Parameters
    ----------
    value : str, number, bool or None

    Returns
    -------
    str or None
        None where there is no label.
    """
    if value is None or (isinstance(value, str) and not value.strip()):
        return None
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, float) and value.is_integer():
        return str(int(value))
    return _sound(str(value)).strip()


def the_label(value: Any, where: str, what: str) -> str | None:
    """Write a label as a text, and refuse what cannot be one.

    Parameters
    ----------
    value : object
    where : str
        File and line, for messages.
    what : str
        What it should be, as in "a choice".

    Returns
    -------
    str or None
        None where there is no label.
    """
    if isinstance(value, list | dict) or (isinstance(value, float) and not math.isfinite(value)):
        raise ValueError(
            f"{where}: {what} must be a name or a number; found {quoted(json.dumps(value)[:40])}. Export it again."
        )
    return label_text(value)


def columns_of(records: Sequence[Mapping[str, Any]]) -> tuple[dict[str, Any], list[str]]:
    """Make columns of objects: numbers, texts, truth values; lists of numbers become a column for each place.

    Parameters
    ----------
    records : sequence of n mappings
        Without objects inside, as ``flattened`` gives them.

    Returns
    -------
    columns : dict of str to pyarrow.ChunkedArray, each of length n
    notes : list of str
        Which fields were left out.
    """
    names = dict.fromkeys(name for record in records for name in record)
    columns: dict[str, Any] = {}
    lists, inline = [], []
    for name in names:
        values = [record.get(name) for record in records]
        title = _sound(name)
        if any(isinstance(value, list) for value in values):
            width = _width(values)
            if not width:
                lists.append(title)
            for k in range(width):
                columns[f"{title}.{k}"] = column_of([None if value is None else value[k] for value in values])
        elif _holds_files(values):
            inline.append(title)
        else:
            columns[title] = column_of(values)
    notes = [f"fields that hold lists are left out: {listed(lists)}"] if lists else []
    notes += [f"fields that hold files are left out: {listed(inline)}"] if inline else []
    return columns, notes


def _holds_files(values: Sequence[Any]) -> bool:
    """Whether there are files in the cells that are no pictures."""
    starts = [value[: len(PICTURE)] for value in values if isinstance(value, str)]
    return any(start.startswith(INLINE) for start in starts) and not all(start == PICTURE for start in starts)


def _width(values: Sequence[Any]) -> int:
    """How many numbers every list has; 0 where they differ, or where something else is among them."""
    said = [value for value in values if value is not None]
    widths = {len(value) if isinstance(value, list) else 0 for value in said}
    is_numbers = all(
        isinstance(item, int | float) and not isinstance(item, bool)
        for value in said
        if isinstance(value, list)
        for item in value
    )
    return widths.pop() if len(widths) == 1 and is_numbers else 0


def column_of(values: Sequence[Any]) -> Any:
    """Make a column of values; those of several types become texts.

    Parameters
    ----------
    values : sequence of str, number, bool or None

    Returns
    -------
    pyarrow.ChunkedArray
    """
    try:
        column = pa.array([_sound(value) if isinstance(value, str) else value for value in values])
    except (pa.ArrowException, OverflowError, TypeError, ValueError):
        column = pa.array([_written(value) for value in values], pa.large_string())
    return pa.chunked_array([column])


def _written(value: Any) -> str | None:
    return None if value is None else _sound(value) if isinstance(value, str) else str(value)


def _sound(text: str) -> str:
    """A text that UTF-8 can hold."""
    return text.encode(errors="replace").decode()


def the_object(value: Any, where: str, what: str) -> dict[str, Any]:
    """Refuse what is no JSON object.

    Parameters
    ----------
    value : object
    where : str
        File and line, for messages.
    what : str
        What it should be, as in "a task".

    Returns
    -------
    dict
    """
    if not isinstance(value, dict):
        raise ValueError(
            f"{where}: {what} must be a JSON object; found {quoted(json.dumps(value)[:40])}. Export it again."
        )
    return value


def the_list(value: Any, where: str, what: str) -> list[Any]:
    """Refuse what is no JSON list; nothing is an empty one.

    Parameters
    ----------
    value : object
    where : str
        File and line, for messages.
    what : str
        What it should be, as in "annotations".

    Returns
    -------
    list
    """
    if value is not None and not isinstance(value, list):
        raise ValueError(
            f"{where}: {what} must be a JSON list; found {quoted(json.dumps(value)[:40])}. Export it again."
        )
    return value or []


def the_truth_value(value: Any, where: str, what: str) -> bool:
    """Refuse what is neither true nor false; nothing is false.

    Parameters
    ----------
    value : object
    where : str
        File and line, for messages.
    what : str
        The name of the field.

    Returns
    -------
    bool
    """
    if value is not None and not isinstance(value, bool):
        raise ValueError(
            f"{where}: {what} must be true or false; found {quoted(json.dumps(value)[:40])}. Export it again."
        )
    return bool(value)


def read_text(path: Path, encoding: str) -> str:
    """Read a text file, which may be compressed with gzip.

    Parameters
    ----------
    path : Path
    encoding : str

    Returns
    -------
    str
    """
    return text_bytes(path, encoding).decode()
