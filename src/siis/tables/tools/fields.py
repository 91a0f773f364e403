"""JSON texts as objects, and objects as columns."""

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
    """Read a JSON text."""
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
    """JSON with letters as they are; half a surrogate pair, which UTF-8 cannot hold, is escaped."""
    try:
        return json.dumps(value, ensure_ascii=False).encode()
    except UnicodeEncodeError:
        return json.dumps(value).encode()


def written_items(value: list[Any] | dict[str, Any]) -> bytes:
    """A list or an object as a JSON file with a line for each item."""
    if isinstance(value, dict):
        items = [written(name) + b": " + written(one) for name, one in value.items()]
        return b"{\n" + b",\n".join(items) + b"\n}\n"
    return b"[\n" + b",\n".join(map(written, value)) + b"\n]\n"


def without_ours(record: Mapping[str, Any], where: str) -> dict[str, Any]:
    """A record without answers of an earlier fit; a field of that name with other content is refused."""
    ours = record.get(OURS)
    if OURS in record and not (isinstance(ours, dict) and set(ours) == set(FIELDS)):
        raise ValueError(f"{where}: the field {OURS} is kept for answers of siis; found another one. Rename it.")
    return {name: value for name, value in record.items() if name != OURS}


def flattened(record: Mapping[str, Any], before: str = "") -> Iterator[tuple[str, Any]]:
    """The fields of an object; those of inner objects are called outer.inner."""
    for name, value in record.items():
        if isinstance(value, Mapping):
            yield from flattened(value, f"{before}{name}.")
        else:
            yield f"{before}{name}", value


def label_text(value: Any) -> str | None:
    """A label as a text, or None."""
    if value is None or (isinstance(value, str) and not value.strip()):
        return None
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, float) and value.is_integer():
        return str(int(value))
    return _sound(str(value)).strip()


def the_label(value: Any, where: str, what: str) -> str | None:
    """A label as a text, or None; refuses what cannot be a label. what: as in "a choice"."""
    if isinstance(value, list | dict) or (isinstance(value, float) and not math.isfinite(value)):
        raise ValueError(
            f"{where}: {what} must be a name or a number; found {quoted(json.dumps(value)[:40])}. Export it again."
        )
    return label_text(value)


def columns_of(records: Sequence[Mapping[str, Any]]) -> tuple[dict[str, Any], list[str]]:
    """Columns of n flat records, and notes on fields left out.

    Numbers, texts and truth values are one column; lists of numbers become a column for each place.
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
    """Whether cells hold files that are no images."""
    starts = [value[: len(PICTURE)] for value in values if isinstance(value, str)]
    return any(start.startswith(INLINE) for start in starts) and not all(start == PICTURE for start in starts)


def _width(values: Sequence[Any]) -> int:
    """Common length of lists of numbers; 0 if lengths differ or there are other values."""
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
    """A column of values; those of several types become texts."""
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
    """Refuse what is no JSON object."""
    if not isinstance(value, dict):
        raise ValueError(
            f"{where}: {what} must be a JSON object; found {quoted(json.dumps(value)[:40])}. Export it again."
        )
    return value


def the_list(value: Any, where: str, what: str) -> list[Any]:
    """Refuse what is no JSON list; nothing is an empty one."""
    if value is not None and not isinstance(value, list):
        raise ValueError(
            f"{where}: {what} must be a JSON list; found {quoted(json.dumps(value)[:40])}. Export it again."
        )
    return value or []


def the_truth_value(value: Any, where: str, what: str) -> bool:
    """Refuse what is neither true nor false; nothing is false."""
    if value is not None and not isinstance(value, bool):
        raise ValueError(
            f"{where}: {what} must be true or false; found {quoted(json.dumps(value)[:40])}. Export it again."
        )
    return bool(value)


def read_text(path: Path, encoding: str) -> str:
    """Read a text file, which may be compressed with gzip."""
    return text_bytes(path, encoding).decode()
