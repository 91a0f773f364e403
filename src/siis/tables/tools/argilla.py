"""Records of Argilla as ``to_json`` of its client writes them; written again with suggestions."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Any

from siis.tables.tools.json_fields import expect, expect_record, flattened, json_table, written_items
from siis.tables.tools.tool_file import AGENT, DIGITS, ID, OURS, TEXT, Answer, RawTable, Votes, is_ours, label_text
from siis.texts import plural, quoted

TOOL = "Argilla"
FIELDS, RESPONSES, SUGGESTIONS = "fields", "responses", "suggestions"
FILE = "answers.json"
WARNING = (
    "this file does not say which responses were submitted: drafts and discarded ones count as well; "
    "records.to_datasets().to_parquet(...) writes a file that does"
)


def is_records(value: Any) -> bool:
    """Whether a JSON value holds records of Argilla."""
    parts = (FIELDS, RESPONSES, SUGGESTIONS)
    return (
        isinstance(value, list)
        and bool(value)
        and all(isinstance(one, dict) and all(isinstance(one.get(name), dict) for name in parts) for one in value)
    )


def read_records(path: Path, found: list[dict[str, Any]]) -> RawTable:
    """Read records of Argilla."""
    records, data, votes = [], [], Votes()
    for row, value in enumerate(found):
        where = f"{path}, record {row + 1:,}"
        record = expect_record(value, where, "a record")
        data.append(_data(record, where))
        for question, responses in record[RESPONSES].items():
            for item in expect(responses, list, where, f"the responses to {quoted(question)}"):
                response = expect(item, dict, where, "a response")
                given = response.get("value")
                who = response.get("user_id")
                votes.add(row, question, who, given if isinstance(given, list) else [given], where)
        records.append(record)
    contents = tuple(record[FIELDS] for record in records)
    texts = tuple(name for name in contents[0] if all(isinstance(one.get(name), str | None) for one in contents))
    return json_table(
        TOOL,
        data,
        votes,
        partial(_suggested, records),
        [f"{plural(len(records), 'record')} of {TOOL}", *([WARNING] if votes.labels else [])],
        ids=[record.get(ID) for record in records],
        texts=(TEXT,) if TEXT in texts else texts if len(texts) == 1 else (),
        unanswered="no record has a response",
        contents=contents,
    )


def _data(record: Mapping[str, Any], where: str) -> dict[str, Any]:
    """The fields of an example under the names that the client uses."""
    found: dict[str, Any] = {}
    for part in (FIELDS, "metadata", "vectors"):
        for name, value in flattened(expect(record.get(part) or {}, dict, where, part)):
            found[name if name not in found else f"{part}.{name}"] = value
    return found


def _suggested(records: list[dict[str, Any]], question: str | None, answers: Sequence[Answer]) -> dict[str, bytes]:
    """The records with n answers, and with suggestions where nobody else has made one."""
    values = {
        label_text(response["value"]): response["value"]
        for record in records
        for response in record[RESPONSES].get(question) or []
        if not isinstance(response.get("value"), list | dict | None)
    }
    done = []
    for record, answer in zip(records, answers, strict=True):
        others = record[SUGGESTIONS]
        found = others.get(question)
        if question is None or (
            isinstance(found, dict) and found.get("value") is not None and not is_ours(found.get("agent"))
        ):
            suggestions = others
        else:
            value = values.get(answer.label, answer.label)  # a rating is a number
            ours = {"value": value, "score": round(answer.probability, DIGITS), "agent": AGENT}
            suggestions = {**others, question: ours}
        done.append({**record, SUGGESTIONS: suggestions, OURS: answer.to_plain()})
    return {FILE: written_items(done)}
