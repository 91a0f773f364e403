"""JSON texts as objects, and objects as columns."""

from __future__ import annotations

import json
import math
import sys
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, TypeVar

import pyarrow as pa

from siis.tables.delimited import text_bytes
from siis.tables.tools.tool_file import (
    FIELDS,
    ID,
    OURS,
    TEXT,
    Origin,
    ToolFile,
    ToolMetadata,
    Vote,
    free_name,
    id_column,
    vote_columns,
)
from siis.texts import listed, quoted

INLINE, PICTURE = "data:", "data:image/"  # starts of a file in a cell, and of an image
DEEPEST = 100  # objects within objects
KINDS = {dict: "a JSON object", list: "a JSON list", bool: "true or false"}
T = TypeVar("T", dict[str, Any], list[Any], bool)


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


def written_items(items: Iterable[Any]) -> bytes:
    """A list as a JSON file with a line for each item."""
    return b"[\n" + b",\n".join(map(written, items)) + b"\n]\n"


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
    """Columns of n flat records (lists of numbers become one for each place), and notes on fields left out."""
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
    present = [value for value in values if value is not None]
    widths = {len(value) if isinstance(value, list) else 0 for value in present}
    is_numbers = all(
        isinstance(item, int | float) and not isinstance(item, bool)
        for value in present
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


def expect(value: Any, kind: type[T], where: str, what: str) -> T:
    """A JSON value of one type, as in "a task"; nothing is an empty list or false, but no object."""
    if value is None and kind is not dict:
        return kind()
    if not isinstance(value, kind):
        raise ValueError(
            f"{where}: {what} must be {KINDS[kind]}; found {quoted(json.dumps(value)[:40])}. Export it again."
        )
    return value


def check_id(record: Mapping[str, Any], where: str) -> None:
    """Refuse an id that is a list or an object."""
    if isinstance(record.get(ID), list | dict):
        raise ValueError(f"{where}: an id must be a number or a text; found a list or an object. Export it again.")


def response_votes(value: Any, user: Any, row: int, question: str, where: str, refused: dict[str, str]) -> list[Vote]:
    """The answer in a response; questions with several answers in one response are refused when they are used."""
    values = value if isinstance(value, list) else [value]
    if len(values) != 1 or isinstance(values[0], list | dict):
        refused.setdefault(
            question,
            f"{where}: an example must have one label; a response to {quoted(question)} has {len(values)}, or is no "
            "label. Name another question with --label.",
        )
        return []
    text = label_text(values[0])
    return [] if text is None else [Vote(row, question, "" if user is None else str(user), text)]


def tool_file(
    tool: str,
    records: Sequence[Mapping[str, Any]],
    votes: Sequence[Vote],
    origin: Origin,
    notes: Sequence[str],
    *,
    id_names: tuple[str, ...] = (ID,),
    ids: Sequence[Any] | None = None,
    texts: tuple[str, ...] = (TEXT,),
    aside: tuple[str, ...] = (),
    unanswered: str | None = None,
    refused: dict[str, str] | None = None,
    **more: Any,
) -> ToolFile:
    """Columns and answers of n flat records, with roles; fields that begin with one of ``aside`` are no features."""
    columns, left_out = columns_of(records)
    own = set(id_names) & columns.keys()
    if ids is not None:
        id_names = (free_name(ID, columns),)
        columns |= {id_names[0]: column_of(ids)} if any(one is not None for one in ids) else {}
    answers = vote_columns(votes, len(records), columns)
    metadata = ToolMetadata(
        tool,
        id=id_column(columns, *id_names),
        texts=tuple(name for name in texts if name in columns),
        questions=answers.questions,
        verified=answers.verified,
        votes=frozenset(answers.columns) - answers.who,
        aside=answers.who | own | {name for name in columns if name in id_names or name.startswith(aside)},
        refused=refused or {},
        unanswered=None if answers.questions or refused else unanswered,
        **more,
    )
    return ToolFile({**columns, **answers.columns}, len(records), [*notes, *left_out], metadata, origin)


def read_text(path: Path, encoding: str) -> str:
    """Read a text file, which may be compressed with gzip."""
    return text_bytes(path, encoding).decode()
