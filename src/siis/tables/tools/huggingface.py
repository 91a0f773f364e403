"""Parquet and Arrow files of Hugging Face: names of classes, and the flat columns of Argilla."""

from __future__ import annotations

import io
import json
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from siis.labels.unlabelled import UNLABELLED
from siis.tables.tools.json_fields import response_votes
from siis.tables.tools.tool_file import (
    AGENT,
    DIGITS,
    FIELDS,
    ID,
    NO_TOOL,
    OURS,
    TEXT,
    Answer,
    ToolMetadata,
    Vote,
    VoteColumns,
    id_column,
    is_ours,
    vote_columns,
)
from siis.texts import plural, quoted

METADATA = b"huggingface"
RESPONSES, USERS, STATUS = ".responses", ".responses.users", ".responses.status"
SUGGESTION, SCORE, AGENT_OF = ".suggestion", ".suggestion.score", ".suggestion.agent"
SUBMITTED = "submitted"
OWN = ("status", "_server_id", "inserted_at", "updated_at")  # fields that Argilla adds to a record
FILE = "answers.parquet"
COLUMNS = tuple(f"{OURS}.{name}" for name in FIELDS)
TYPES = dict(zip(COLUMNS, (pa.string(), pa.float64(), pa.float64(), pa.bool_()), strict=True))


@dataclass(frozen=True, eq=False)
class Table:
    """The table, as it was read."""

    table: Any

    def answered(self, answers: Sequence[Answer], question: str | None) -> dict[str, bytes]:
        """Write the table with columns of n answers, and with suggestions where nobody else has made one."""
        from pyarrow import parquet  # noqa: PLC0415 - slow import

        plain = [answer.to_plain() for answer in answers]
        table = self.table
        for name, field in zip(COLUMNS, FIELDS, strict=True):
            table = _with(table, name, pa.array([one[field] for one in plain], TYPES[name]))
        if question is not None and question + RESPONSES in table.column_names:
            table = _suggested(table, question, answers)
        out = io.BytesIO()
        parquet.write_table(_described(table), out)
        return {FILE: out.getvalue()}


def _with(table: Any, name: str, column: Any) -> Any:
    if name in table.column_names:
        return table.set_column(table.column_names.index(name), pa.field(name, column.type), column)
    return table.append_column(pa.field(name, column.type), column)


def _suggested(table: Any, question: str, answers: Sequence[Answer]) -> Any:
    """Add suggestions to records that have none or one of ours; lists of suggestions are left as they are."""
    names = (question + SUGGESTION, question + SCORE, question + AGENT_OF)
    n = table.num_rows
    found = [table[name] if name in table.column_names else pa.nulls(n) for name in names]
    if not all(_is_plain(column.type) for column in found):
        return table
    values, scores, agents = (column.to_pylist() for column in found)
    for i, answer in enumerate(answers):
        if values[i] is None or is_ours(agents[i]):
            values[i], scores[i], agents[i] = answer.label, round(answer.probability, DIGITS), AGENT
    responses = table[question + RESPONSES].type
    kind = responses.value_type if pa.types.is_list(responses) and pa.types.is_null(found[0].type) else found[0].type
    if pa.types.is_integer(kind) or pa.types.is_floating(kind):  # ratings
        values = pa.array([None if value is None else float(value) for value in values]).cast(kind)
    else:
        values = pa.array(values, pa.string())
    columns = (values, pa.array(scores, pa.float64()), pa.array(agents, pa.string()))
    for name, column in zip(names, columns, strict=True):
        table = _with(table, name, column)
    return table


def _is_plain(kind: Any) -> bool:
    is_number = pa.types.is_integer(kind) or pa.types.is_floating(kind)
    return bool(is_number or pa.types.is_null(kind) or _is_text(kind))


def _described(table: Any) -> Any:
    """Add the new columns to Hugging Face's description of the table, if it has one."""
    metadata = dict(table.schema.metadata or {})
    features = _features(table.schema)
    if features is None:
        return table
    info = json.loads(metadata[METADATA])
    for name in table.column_names:
        kind = table.schema.field(name).type
        is_new = name in COLUMNS or name.endswith((SUGGESTION, SCORE, AGENT_OF))
        if is_new and str(kind) in ("string", "double", "bool", "int64"):
            word = {"double": "float64"}.get(str(kind), str(kind))
            features[name] = {"dtype": word, "_type": "Value"}
    info["info"]["features"] = features
    return table.replace_schema_metadata({**metadata, METADATA: json.dumps(info).encode()})


def _features(schema: Any) -> dict[str, Any] | None:
    """Hugging Face's description of the columns, or None."""
    try:
        features = json.loads((schema.metadata or {})[METADATA])["info"]["features"]
    except (KeyError, TypeError, ValueError, RecursionError):
        return None
    return features if isinstance(features, dict) else None


def understand(path: Path, table: Any) -> tuple[Any, dict[str, Any], list[str], ToolMetadata, Table | None]:
    """A Hugging Face or Argilla table with class names and without responses; responses, notes, metadata or None."""
    features = _features(table.schema)
    questions = [
        name.removesuffix(RESPONSES)
        for name in table.column_names
        if name.endswith(RESPONSES) and f"{name.removesuffix(RESPONSES)}{USERS}" in table.column_names
    ]
    if features is None and not questions:
        return table, {}, [], NO_TOOL, None
    ours = [name for name in table.column_names if name in COLUMNS]
    table = table.drop_columns(ours) if ours else table
    notes = []
    coded = {
        name: feature.get("names")
        for name, feature in (features or {}).items()
        if name in table.column_names and isinstance(feature, dict) and feature.get("_type") == "ClassLabel"
    }
    suggested = {f"{question}{SUGGESTION}" for question in questions} & set(coded)
    for name in suggested:  # numbers of the classes that others have suggested: a list without the other ones
        table = _with(table, name, _class_names(path, name, table[name], coded[name]))
    origin = Table(table)
    for name in coded.keys() - suggested:
        table = _with(table, name, _class_names(path, name, table[name], coded[name]))
        notes.append(f"column {quoted(name)}: numbers of classes, shown by their names")
    answers, refused, n_skipped = _responses(path, table, questions)
    parts = [
        name for q in questions for name in table.column_names if name.startswith((q + RESPONSES, q + SUGGESTION))
    ]
    lists = [name for name in parts if name.removesuffix(RESPONSES) in questions or USERS in name or STATUS in name]
    table = table.drop_columns(lists) if lists else table
    if questions:
        notes.insert(0, "responses of Argilla")
        notes += [f"{plural(n_skipped, 'response')} not submitted, or discarded: skipped"] if n_skipped else []
    columns = dict(zip(table.column_names, table.columns, strict=True))
    metadata = ToolMetadata(
        "Argilla" if questions else "Hugging Face",
        id=id_column(columns, ID),
        texts=(TEXT,) if TEXT in columns and _is_text(columns[TEXT].type) else (),
        questions=answers.questions,
        votes=frozenset(answers.columns) - answers.who,
        aside=answers.who
        | {name for name in columns if name == ID or (questions and (name in OWN or name in parts))},
        refused=refused,
        unanswered=None if answers.questions or refused or not questions else "no response was submitted",
        is_project=bool(questions),
    )
    return table, answers.columns, notes, metadata, origin


def _is_text(kind: Any) -> bool:
    return bool(pa.types.is_string(kind) or pa.types.is_large_string(kind))


def _class_names(path: Path, name: str, column: Any, names: Any) -> Any:
    """Names in place of numbers; -1 and Argilla's class without a name are null."""
    if not isinstance(names, list) or not all(isinstance(one, str | None) for one in names):
        raise ValueError(f"{path}: the classes of column {quoted(name)} must have names; found none. Write it again.")
    if not pa.types.is_integer(column.type):
        return column
    codes = pc.if_else(pc.equal(column, UNLABELLED), pa.scalar(None, column.type), column)
    strange = pc.or_(pc.less(codes, 0), pc.greater_equal(codes, len(names)))
    if pc.any(strange).as_py():
        row = pc.index(pc.fill_null(strange, False), True).as_py()
        raise ValueError(
            f"{path}, row {row + 1:,}: column {quoted(name)} must hold numbers of its "
            f"{plural(len(names), 'class', 'classes')}; found {codes[row].as_py()}. Write it again."
        )
    return pc.take(pa.array(names, pa.string()), codes)


def _responses(path: Path, table: Any, questions: Sequence[str]) -> tuple[VoteColumns, dict[str, str], int]:
    votes: list[Vote] = []
    refused: dict[str, str] = {}
    n_skipped = 0
    for question in questions:
        answers, users = table[question + RESPONSES].to_pylist(), table[question + USERS].to_pylist()
        has_status = question + STATUS in table.column_names
        states = table[question + STATUS].to_pylist() if has_status else [None] * table.num_rows
        for row, found in enumerate(answers):
            where = f"{path}, row {row + 1:,}"
            given = found if isinstance(found, list) else [] if found is None else [found]
            who, state = users[row] or [], states[row] or [SUBMITTED] * len(given)
            if not (isinstance(who, list) and isinstance(state, list) and len(who) == len(given) == len(state)):
                raise ValueError(
                    f"{where}: {quoted(question)} must have a user and a status for each of its {len(given)} "
                    "responses; found other numbers of them. Export it again."
                )
            for value, user, one in zip(given, who, state, strict=True):
                if one != SUBMITTED or value is None:
                    n_skipped += 1
                else:
                    votes += response_votes(value, user, row, question, where, refused)
    return vote_columns(votes, table.num_rows, table.column_names), refused, n_skipped
