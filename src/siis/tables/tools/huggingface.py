"""Data sets of Hugging Face: names of classes, the flat columns of Argilla, and the files of one split."""

from __future__ import annotations

import io
import json
import re
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from siis.labels.unlabelled import UNLABELLED
from siis.tables.cell_values import is_text
from siis.tables.tools.tool_file import (
    AGENT,
    DIGITS,
    FIELDS,
    OURS,
    TEXT,
    Answer,
    RawTable,
    Votes,
    is_ours,
    tool_table,
)
from siis.texts import listed, plural, quoted

METADATA = b"huggingface"
RESPONSES, USERS, STATUS = ".responses", ".responses.users", ".responses.status"
SUGGESTION, SCORE, AGENT_OF = ".suggestion", ".suggestion.score", ".suggestion.agent"
SUBMITTED = "submitted"
OWN = ("status", "_server_id", "inserted_at", "updated_at")  # fields that Argilla adds to a record
FILE = "answers.parquet"
TYPES = dict(zip(FIELDS, (pa.string(), pa.float64(), pa.float64(), pa.bool_()), strict=True))
COLUMNS = tuple(f"{OURS}.{name}" for name in FIELDS)
DICT, STATE, FILES = "dataset_dict.json", "state.json", "_data_files"
INSIDE = "data"  # the folder of the shards in a repository of Hugging Face
SHARD = re.compile(r"(?P<split>.+)-(?P<number>\d{5})-of-(?P<total>\d{5})(-[0-9a-f]+)?\.parquet")


@dataclass(frozen=True, eq=False)
class OriginalTable:
    """The table, as it was read."""

    table: Any

    def __call__(self, question: str | None, answers: Sequence[Answer]) -> dict[str, bytes]:
        """Write the table with columns of n answers, and with suggestions where nobody else has made one."""
        from pyarrow import parquet  # noqa: PLC0415 - slow import

        plain = [answer.to_plain() for answer in answers]
        table = self.table
        for name, kind in TYPES.items():
            table = _with(table, f"{OURS}.{name}", pa.array([one[name] for one in plain], kind))
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
    found = [table[name] if name in table.column_names else pa.nulls(table.num_rows) for name in names]
    if not all(is_text(column) or _is_number(column.type) or pa.types.is_null(column.type) for column in found):
        return table
    values, scores, agents = (column.to_pylist() for column in found)
    for i, answer in enumerate(answers):
        if values[i] is None or is_ours(agents[i]):
            values[i], scores[i], agents[i] = answer.label, round(answer.probability, DIGITS), AGENT
    responses = table[question + RESPONSES].type
    kind = responses.value_type if pa.types.is_list(responses) and pa.types.is_null(found[0].type) else found[0].type
    if _is_number(kind):  # ratings
        suggestions = pa.array([None if value is None else float(value) for value in values]).cast(kind)
    else:
        suggestions = pa.array(values, pa.string())
    columns = (suggestions, pa.array(scores, pa.float64()), pa.array(agents, pa.string()))
    for name, column in zip(names, columns, strict=True):
        table = _with(table, name, column)
    return table


def _is_number(kind: Any) -> bool:
    return bool(pa.types.is_integer(kind) or pa.types.is_floating(kind))


def _described(table: Any) -> Any:
    """Add the new columns to Hugging Face's description of the table, if it has one."""
    features = _features(table.schema)
    if features is None:
        return table
    words = {"string": "string", "double": "float64", "bool": "bool", "int64": "int64"}
    for field in table.schema:
        is_new = field.name in COLUMNS or field.name.endswith((SUGGESTION, SCORE, AGENT_OF))
        if is_new and str(field.type) in words:
            features[field.name] = {"dtype": words[str(field.type)], "_type": "Value"}
    info = json.loads(table.schema.metadata[METADATA])
    info["info"]["features"] = features
    return table.replace_schema_metadata({**table.schema.metadata, METADATA: json.dumps(info).encode()})


def _features(schema: Any) -> dict[str, Any] | None:
    """Hugging Face's description of the columns, or None."""
    try:
        features = json.loads((schema.metadata or {})[METADATA])["info"]["features"]
    except (KeyError, TypeError, ValueError, RecursionError):
        return None
    return features if isinstance(features, dict) else None


def read_table(path: Path, table: Any) -> RawTable:
    """The table, with names of classes and without responses if it is one of Hugging Face or Argilla."""
    features, names = _features(table.schema), table.column_names
    questions = [name.removesuffix(RESPONSES) for name in names if name.endswith(RESPONSES)]
    questions = [question for question in questions if question + USERS in names]
    if features is None and not questions:
        return RawTable([name.strip() for name in names], table.columns, [])
    table = table.drop_columns([name for name in names if name in COLUMNS])
    coded = {
        name: feature.get("names")
        for name, feature in (features or {}).items()
        if name in table.column_names and isinstance(feature, dict) and feature.get("_type") == "ClassLabel"
    }
    suggested = {f"{question}{SUGGESTION}" for question in questions} & set(coded)
    for name in suggested:  # numbers of the classes that others have suggested: a list without the other ones
        table = _with(table, name, _class_names(path, name, table[name], coded[name]))
    origin = OriginalTable(table)
    votes, n_skipped = _votes(path, table, questions)
    notes = ["responses of Argilla"] if questions else []
    for name in coded.keys() - suggested:
        table = _with(table, name, _class_names(path, name, table[name], coded[name]))
        notes.append(f"column {quoted(name)}: numbers of classes, shown by their names")
    notes += [f"{plural(n_skipped, 'response')} not submitted, or discarded: skipped"] if n_skipped else []
    lists = {question + part for question in questions for part in (RESPONSES, USERS, STATUS)}
    parts = tuple(question + part for question in questions for part in (RESPONSES, SUGGESTION))
    columns = {
        name: column for name, column in zip(table.column_names, table.columns, strict=True) if name not in lists
    }
    return tool_table(
        "Argilla" if questions else "Hugging Face",
        columns,
        table.num_rows,
        votes,
        origin,
        notes,
        texts=(TEXT,) if TEXT in columns and is_text(columns[TEXT]) else (),
        aside=[name for name in columns if name.startswith(parts) or (questions and name in OWN)],
        unanswered="no response was submitted" if questions else None,
        is_project=bool(questions),
    )


def _class_names(path: Path, name: str, column: Any, names: Any) -> Any:
    """Names in place of numbers; -1 and Argilla's class without a name are null."""
    if not isinstance(names, list) or not all(isinstance(one, str | None) for one in names):
        raise ValueError(f"{path}: the classes of column {quoted(name)} must have names; found none. Write it again.")
    if not pa.types.is_integer(column.type):
        return column
    codes = pc.if_else(pc.equal(column, UNLABELLED), pa.scalar(None, column.type), column)
    strange = pc.fill_null(pc.or_(pc.less(codes, 0), pc.greater_equal(codes, len(names))), False)
    row = pc.index(strange, True).as_py()
    if row >= 0:
        problem = f"column {quoted(name)} must hold numbers of its {plural(len(names), 'class', 'classes')};"
        raise ValueError(f"{path}, row {row + 1:,}: {problem} found {codes[row].as_py()}. Write it again.")
    return pc.take(pa.array(names, pa.string()), codes)


def _votes(path: Path, table: Any, questions: Sequence[str]) -> tuple[Votes, int]:
    """Submitted responses, and the number of others."""
    votes, n_skipped = Votes(), 0
    nothing = [None] * table.num_rows
    for question in questions:
        has_status = question + STATUS in table.column_names
        states = table[question + STATUS].to_pylist() if has_status else nothing
        responses = zip(
            table[question + RESPONSES].to_pylist(), table[question + USERS].to_pylist(), states, strict=True
        )
        for row, (found, who, state) in enumerate(responses):
            where = f"{path}, row {row + 1:,}"
            given = found if isinstance(found, list) else [] if found is None else [found]
            who, state = who or [], state or [SUBMITTED] * len(given)  # noqa: PLW2901
            if not (isinstance(who, list) and isinstance(state, list) and len(who) == len(given) == len(state)):
                problem = f"{quoted(question)} must have a user and a status for each of its {len(given)} responses;"
                raise ValueError(f"{where}: {problem} found other numbers of them. Export it again.")
            for value, user, one in zip(given, who, state, strict=True):
                if one != SUBMITTED or value is None:
                    n_skipped += 1
                else:
                    votes.add(row, question, user, value if isinstance(value, list) else [value], where)
    return votes, n_skipped


def is_data_set(folder: Path) -> bool:
    """Whether a folder is a data set of Hugging Face, or holds Parquet files."""
    has_list = (folder / DICT).is_file() or (folder / STATE).is_file()
    return folder.is_dir() and (has_list or bool(_parquet_files(folder)))


def data_set_files(folder: Path) -> list[Path]:
    """The files of one split, in the order of its rows: a folder of ``save_to_disk``, or Parquet shards."""
    if (folder / DICT).is_file():
        splits = _listed_in(folder / DICT, "splits", str)
        if len(splits) != 1:
            example = folder / (splits[0] if splits else "train")
            problem = f"one split must be chosen; found {listed(splits)}. Name its folder, as in {example}."
            raise ValueError(f"{folder}: {problem}")
        return data_set_files(folder / splits[0])
    if (folder / STATE).is_file():
        files = [folder / Path(str(one.get("filename"))).name for one in _listed_in(folder / STATE, FILES, dict)]
        lost = [file for file in files if not file.is_file()]
        if lost:
            raise ValueError(f"{lost[0]}: there is no such file, though {STATE} names it. Copy the folder again.")
        return files
    files = _parquet_files(folder)
    found = [match for file in files if (match := SHARD.fullmatch(file.name))]
    splits = sorted({match["split"] for match in found})
    if len(splits) > 1:
        problem = (
            f"one split must be chosen; found {listed(splits)}. Put the files of one into a folder of their own."
        )
        raise ValueError(f"{folder}: {problem}")
    totals = {int(match["total"]) for match in found}
    if found and (len(found) != len(files) or totals != {len(found)}):
        raise ValueError(
            f"{folder}: must hold all shards of a data set; found {plural(len(found), 'shard')} of "
            f"{listed([str(total) for total in sorted(totals)])}, and {len(files) - len(found)} other Parquet files. "
            "Copy the missing ones into it, or take the others out."
        )
    return files


def _parquet_files(folder: Path) -> list[Path]:
    """The Parquet files of a folder, or else of the one in which a repository of Hugging Face has them."""
    for place in (folder, folder / INSIDE):
        files = sorted(place.iterdir()) if place.is_dir() else []
        found = [file for file in files if file.name.lower().endswith(".parquet") and file.is_file()]
        if found := [file for file in found if not file.name.startswith(".")]:
            return found
    return []


def _listed_in(file: Path, name: str, kind: type) -> list[Any]:
    try:
        found = json.loads(file.read_text(encoding="utf-8"))[name]
    except (OSError, ValueError, KeyError, TypeError, RecursionError):
        found = None
    if not isinstance(found, list) or not found or not all(isinstance(one, kind) for one in found):
        raise ValueError(f"{file}: must name the {quoted(name)} of a data set; found none. Write the data set again.")
    return found
