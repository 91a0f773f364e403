"""Records of Argilla as ``to_json`` of its client writes them; written again with suggestions."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from siis.tables.tools.json_fields import (
    check_id,
    expect,
    flattened,
    label_text,
    response_votes,
    tool_file,
    without_ours,
    written_items,
)
from siis.tables.tools.tool_file import AGENT, DIGITS, ID, OURS, TEXT, Answer, ToolFile, Vote, is_ours
from siis.texts import plural, quoted

TOOL = "Argilla"
FIELDS, RESPONSES, SUGGESTIONS = "fields", "responses", "suggestions"
METADATA, VECTORS = "metadata", "vectors"
FILE = "answers.json"
WARNING = (
    "this file does not say which responses were submitted: drafts and discarded ones count as well; "
    "records.to_datasets().to_parquet(...) writes a file that does"
)


@dataclass(frozen=True, eq=False)
class Records:
    """The records, as they were read."""

    records: list[dict[str, Any]]  # without answers of an earlier fit

    def answered(self, answers: Sequence[Answer], question: str | None) -> dict[str, bytes]:
        """Write the records with n answers, and with suggestions where nobody else has made one."""
        values = {
            label_text(response["value"]): response["value"]
            for record in self.records
            for response in record[RESPONSES].get(question) or []
            if not isinstance(response.get("value"), list | dict | None)
        }
        done = []
        for record, answer in zip(self.records, answers, strict=True):
            others = record[SUGGESTIONS]
            found = others.get(question)
            is_free = not isinstance(found, dict) or found.get("value") is None or is_ours(found.get("agent"))
            if question is not None and is_free:
                value = values.get(answer.label, answer.label)  # a rating is a number
                ours = {"value": value, "score": round(answer.probability, DIGITS), "agent": AGENT}
                record = {**record, SUGGESTIONS: {**others, question: ours}}  # noqa: PLW2901
            done.append({**record, OURS: answer.to_plain()})
        return {FILE: written_items(done)}


def is_records(value: Any) -> bool:
    """Whether a JSON value holds records of Argilla."""
    return (
        isinstance(value, list)
        and bool(value)
        and all(
            isinstance(one, dict)
            and all(isinstance(one.get(name), dict) for name in (FIELDS, RESPONSES, SUGGESTIONS))
            for one in value
        )
    )


def read_records(path: Path, found: list[dict[str, Any]]) -> ToolFile:
    """Read records of Argilla."""
    records, data, contents = [], [], []
    votes: list[Vote] = []
    refused: dict[str, str] = {}
    for row, value in enumerate(found):
        where = f"{path}, record {row + 1:,}"
        record = without_ours(value, where)
        check_id(record, where)
        contents.append(record[FIELDS])
        data.append(_data(record, where))
        for question, responses in record[RESPONSES].items():
            for item in expect(responses, list, where, f"the responses to {quoted(question)}"):
                response = expect(item, dict, where, "a response")
                votes += response_votes(response.get("value"), response.get("user_id"), row, question, where, refused)
        records.append(record)
    texts = tuple(name for name in contents[0] if all(isinstance(one.get(name), str | None) for one in contents))
    return tool_file(
        TOOL,
        data,
        votes,
        Records(records),
        [f"{plural(len(records), 'record')} of {TOOL}", *([WARNING] if votes else [])],
        ids=[record.get(ID) for record in records],
        texts=(TEXT,) if TEXT in texts else texts if len(texts) == 1 else (),
        unanswered="no record has a response",
        refused=refused,
        contents=tuple(contents),
    )


def _data(record: Mapping[str, Any], where: str) -> dict[str, Any]:
    """The fields of an example under the names that the client uses."""
    found: dict[str, Any] = {}
    for part in (FIELDS, METADATA, VECTORS):
        for name, value in flattened(expect(record.get(part) or {}, dict, where, part)):
            found[name if name not in found else f"{part}.{name}"] = value
    return found
