"""Label Studio's JSON: tasks with annotations, written again with predictions; and its CSV."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from pathlib import Path
from typing import Any

import pyarrow.compute as pc

from siis.tables.tools.json_fields import expect, expect_record, flattened, json_table, written_items
from siis.tables.tools.tool_file import (
    AGENT,
    DIGITS,
    ID,
    NO_TOOL,
    OURS,
    TEXT,
    Answer,
    RawTable,
    ToolMetadata,
    Votes,
    id_column,
    is_ours,
)
from siis.texts import plural, quoted

TOOL = "Label Studio"
CHOICES = "choices"
FILE, PREDICTIONS = "answers.json", "predictions.json"  # for another project, and for the one of the export
SUSPICION = f"{OURS}_suspicion"  # a column of the data manager: it sorts by the fields of the data
COLUMNS = (SUSPICION, f"{OURS}_is_issue", f"{OURS}_label", f"{OURS}_probability")
CSV_MARKS = {"annotation_id", "lead_time"}
CSV_OWN = frozenset({*CSV_MARKS, ID, "annotator", "created_at", "updated_at"})  # columns that are no data
FEW = 0.1  # share of tasks without an annotation, below which the export may have left them out


def is_tasks(value: Any) -> bool:
    """Whether a JSON value holds tasks of Label Studio."""
    return isinstance(value, list) and any(
        isinstance(one, dict) and isinstance(one.get("data"), dict) for one in value
    )


def read_tasks(path: Path, found: list[Any]) -> RawTable:
    """Read tasks: choices are labels, by annotator; skipped annotations are none, ground truth is verified."""
    tasks, contents, votes = [], [], Votes()
    targets: dict[str, str] = {}  # ``to_name`` of each question, by ``from_name``
    n_skipped, n_given = 0, 0
    for row, value in enumerate(found):
        where = f"{path}, task {row + 1:,}"
        task = expect_record(value, where, "a task")
        where += f" (id {quoted(str(task['id']))})" if "id" in task else ""
        contents.append(_without_columns(expect(task.get("data"), dict, where, "the data of a task")))
        for prediction in expect(task.get("predictions"), list, where, "predictions"):
            if type(prediction) is not int:  # a number names one that the export does not hold
                expect(prediction, dict, where, "a prediction")
        for item in expect(task.get("annotations"), list, where, "annotations"):
            annotation = expect(item, dict, where, "an annotation")
            n_given += 1
            if expect(annotation.get("was_cancelled"), bool, where, "was_cancelled"):
                n_skipped += 1
            else:
                _add_votes(votes, annotation, row, where, targets)
        tasks.append(task)
    notes = [f"tasks of {TOOL}", *([f"{plural(n_skipped, 'annotation')} skipped"] if n_skipped else [])]
    n_open = sum(not task.get("annotations") for task in tasks)
    if n_given and n_open < FEW * len(tasks):
        notes.append(
            f"{plural(n_open, 'task')} without an annotation: the usual export of {TOOL} leaves such tasks out; "
            "add &download_all_tasks=true to its address to export them as well"
        )
    skipped = f"all annotations ({n_given:,}) were skipped" if n_given == n_skipped else "no annotation has a choice"
    return json_table(
        TOOL,
        [dict(flattened(data)) for data in contents],
        votes,
        partial(_predicted, tasks, targets),
        notes,
        ids=[task.get(ID) for task in tasks],
        unanswered=skipped if n_given else "no task has an annotation",
        has_own_ids=True,
        contents=tuple(contents),
    )


def _add_votes(votes: Votes, annotation: dict[str, Any], row: int, where: str, targets: dict[str, str]) -> None:
    """Add the choices of an annotation, and the targets of its questions."""
    chosen: dict[str, list[Any]] = {}
    for item in expect(annotation.get("result"), list, where, "the result of an annotation"):
        result = expect(item, dict, where, "a result")
        if result.get("type") == CHOICES:
            question = str(result.get("from_name"))
            value = expect(result.get("value"), dict, where, "the value of a result")
            chosen.setdefault(question, []).extend(expect(value.get(CHOICES), list, where, CHOICES))
            targets.setdefault(question, str(result.get("to_name", TEXT)))
    who = annotation.get("completed_by")
    if isinstance(who, dict):
        who = who.get("email") or who.get("id")
    if isinstance(who, list | dict):
        problem = "completed_by must be a number, a text or an object with an email or an id. Export it again."
        raise ValueError(f"{where}: {problem}")
    who = who if who is None or isinstance(who, str) else f"annotator {who}"
    is_verified = expect(annotation.get("ground_truth"), bool, where, "ground_truth")
    for question, values in chosen.items():
        votes.add(row, question, who, values, where, is_verified)


def _predicted(
    tasks: list[dict[str, Any]], targets: dict[str, str], question: str | None, answers: Sequence[Answer]
) -> dict[str, bytes]:
    """The tasks with n predictions instead of a former fit's; with ids, also a file of predictions alone."""
    name = question if question is not None else next(iter(targets), "label")
    done, alone = [], []
    for task, answer in zip(tasks, answers, strict=True):
        choice = {"type": CHOICES, "value": {CHOICES: [answer.label]}}
        result = {"id": OURS, "from_name": name, "to_name": targets.get(name, TEXT), **choice}
        prediction = {"model_version": AGENT, "score": round(answer.probability, DIGITS), "result": [result]}
        others = [  # no import accepts numbers, which name predictions that the export lacks
            one
            for one in task.get("predictions") or []
            if isinstance(one, dict) and not is_ours(one.get("model_version"))
        ]
        plain = answer.to_plain()
        columns = {f"{OURS}_{field}": plain[field] for field in ("is_issue", "label", "probability")}
        if plain["quality"] is not None:  # Label Studio sorts nulls first
            columns = {SUSPICION: round(1 - plain["quality"], DIGITS), **columns}
        data = {**_without_columns(task["data"]), **columns}
        done.append({**task, "data": data, "predictions": [*others, prediction]})
        alone.append({"task": task.get(ID), **prediction})
    has_ids = all(one["task"] is not None for one in alone)
    return {FILE: written_items(done), **({PREDICTIONS: written_items(alone)} if has_ids else {})}


def _without_columns(data: dict[str, Any]) -> dict[str, Any]:
    return {name: value for name, value in data.items() if name not in COLUMNS}


def csv_metadata(path: Path, table: RawTable) -> ToolMetadata:
    """The metadata of a CSV file of Label Studio; NO_TOOL for other files."""
    columns = dict(zip(table.header, table.columns, strict=True))
    if not columns.keys() >= CSV_MARKS:
        return NO_TOOL
    if ID in columns and len(pc.unique(columns[ID])) < len(columns[ID]):
        raise ValueError(
            f"{path}: each task must have one row; found a row for each annotation, as in Label Studio's CSV of "
            "several annotators. Export it as JSON."
        )
    texts, aside = tuple(columns.keys() & {TEXT}), CSV_OWN & columns.keys()
    return ToolMetadata(f"{TOOL} (CSV)", id=id_column(columns, ID), texts=texts, aside=aside, has_own_ids=True)
