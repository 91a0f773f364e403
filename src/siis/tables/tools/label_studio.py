"""Label Studio's JSON: tasks with annotations, written again with predictions."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pyarrow.compute as pc

from siis.tables.tools.json_fields import check_id, expect, flattened, label_text, the_label, tool_file, written_items
from siis.tables.tools.tool_file import (
    AGENT,
    DIGITS,
    ID,
    NO_TOOL,
    OURS,
    TEXT,
    Answer,
    ToolFile,
    ToolMetadata,
    Vote,
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


@dataclass(frozen=True, eq=False)
class Tasks:
    """The tasks, as they were exported."""

    tasks: list[dict[str, Any]]
    targets: dict[str, str]  # ``to_name`` of each question, by ``from_name``

    def answered(self, answers: Sequence[Answer], question: str | None) -> dict[str, bytes]:
        """The tasks with n predictions instead of a former fit's; with ids, also a file of predictions alone."""
        name = question if question is not None else next(iter(self.targets), "label")
        predictions = [_prediction(answer, name, self.targets.get(name, TEXT)) for answer in answers]
        done = [
            {**task, "data": _with_columns(task["data"], answer), "predictions": [*_others(task), prediction]}
            for task, answer, prediction in zip(self.tasks, answers, predictions, strict=True)
        ]
        files = {FILE: written_items(done)}
        if all(task.get(ID) is not None for task in self.tasks):
            alone = [{"task": task[ID], **one} for task, one in zip(self.tasks, predictions, strict=True)]
            files[PREDICTIONS] = written_items(alone)
        return files


def _with_columns(data: dict[str, Any], answer: Answer) -> dict[str, Any]:
    """The data with columns to sort by; no suspicion if there is none, since Label Studio sorts nulls first."""
    plain = answer.to_plain()
    columns = {f"{OURS}_{name}": plain[name] for name in ("is_issue", "label", "probability")}
    if plain["quality"] is not None:
        columns = {SUSPICION: round(1 - plain["quality"], DIGITS), **columns}
    return {**_without_columns(data), **columns}


def _without_columns(data: dict[str, Any]) -> dict[str, Any]:
    return {name: value for name, value in data.items() if name not in COLUMNS}


def _others(task: dict[str, Any]) -> list[Any]:
    """Predictions of others; numbers name predictions that the export lacks, which no import accepts."""
    return [
        one
        for one in task.get("predictions") or []
        if isinstance(one, dict) and not is_ours(one.get("model_version"))
    ]


def _prediction(answer: Answer, question: str, target: str) -> dict[str, Any]:
    result = {
        "id": OURS,
        "from_name": question,
        "to_name": target,
        "type": CHOICES,
        "value": {CHOICES: [answer.label]},
    }
    return {"model_version": AGENT, "score": round(answer.probability, DIGITS), "result": [result]}


def is_tasks(value: Any) -> bool:
    """Whether a JSON value holds tasks of Label Studio."""
    return isinstance(value, list) and any(
        isinstance(one, dict) and isinstance(one.get("data"), dict) for one in value
    )


def read_tasks(path: Path, found: list[Any]) -> ToolFile:
    """Read tasks: choices are labels, by annotator; skipped annotations are none, ground truth is verified."""
    tasks, contents = [], []
    votes: list[Vote] = []
    targets: dict[str, str] = {}
    refused: dict[str, str] = {}
    n_skipped, n_given = 0, 0
    for row, value in enumerate(found):
        where = f"{path}, task {row + 1:,}"
        task = expect(value, dict, where, "a task")
        where += f" (id {quoted(str(task['id']))})" if "id" in task else ""
        check_id(task, where)
        data = _without_columns(expect(task.get("data"), dict, where, "the data of a task"))
        contents.append(data)
        for prediction in expect(task.get("predictions"), list, where, "predictions"):
            if type(prediction) is not int:  # a number names one that the export does not hold
                expect(prediction, dict, where, "a prediction")
        for item in expect(task.get("annotations"), list, where, "annotations"):
            annotation = expect(item, dict, where, "an annotation")
            n_given += 1
            if expect(annotation.get("was_cancelled"), bool, where, "was_cancelled"):
                n_skipped += 1
            else:
                votes += _votes(annotation, row, where, targets, refused)
        tasks.append(task)
    _check_truth(path, votes)
    notes = [f"tasks of {TOOL}", *([f"{plural(n_skipped, 'annotation')} skipped"] if n_skipped else [])]
    n_open = sum(not task.get("annotations") for task in tasks)
    if n_given and n_open < FEW * len(tasks):
        notes.append(
            f"{plural(n_open, 'task')} without an annotation: the usual export of {TOOL} leaves such tasks out; "
            "add &download_all_tasks=true to its address to export them as well"
        )
    return tool_file(
        TOOL,
        [dict(flattened(data)) for data in contents],
        votes,
        Tasks(tasks, targets),
        notes,
        ids=[task.get(ID) for task in tasks],
        unanswered=_unanswered(n_given, n_skipped),
        refused=refused,
        has_own_ids=True,
        contents=tuple(contents),
    )


def csv_of_label_studio(path: Path, header: Sequence[str], columns: Mapping[str, Any]) -> ToolMetadata:
    """The metadata of a CSV file of Label Studio; NO_TOOL for other files."""
    if not set(header) >= CSV_MARKS:
        return NO_TOOL
    if ID in columns and len(pc.unique(columns[ID])) < len(columns[ID]):
        raise ValueError(
            f"{path}: each task must have one row; found a row for each annotation, as in Label Studio's CSV of "
            "several annotators. Export it as JSON."
        )
    texts = tuple(text for text in (TEXT,) if text in columns)
    return ToolMetadata(
        f"{TOOL} (CSV)", id=id_column(columns, ID), texts=texts, aside=CSV_OWN & set(header), has_own_ids=True
    )


def _unanswered(n_given: int, n_skipped: int) -> str:
    if not n_given:
        return "no task has an annotation"
    if n_given == n_skipped:
        return f"all annotations ({n_given:,}) were skipped"
    return "no annotation has a choice"


def _votes(
    annotation: dict[str, Any], row: int, where: str, targets: dict[str, str], refused: dict[str, str]
) -> list[Vote]:
    """The choices of an annotation; questions with several choices are refused when they are used."""
    chosen: dict[str, list[str]] = {}
    for item in expect(annotation.get("result"), list, where, "the result of an annotation"):
        result = expect(item, dict, where, "a result")
        if result.get("type") != CHOICES:
            continue
        question = str(result.get("from_name"))
        value = expect(result.get("value"), dict, where, "the value of a result")
        texts = [the_label(label, where, "a choice") for label in expect(value.get(CHOICES), list, where, CHOICES)]
        chosen.setdefault(question, []).extend(text for text in texts if text is not None)
        targets.setdefault(question, str(result.get("to_name", TEXT)))
    for question, labels in chosen.items():
        if len(set(labels)) > 1:
            refused.setdefault(
                question,
                f"{where}: an example must have one label; {quoted(question)} has {len(set(labels))}, "
                f"{quoted(labels[0])} and {quoted(labels[1])} among them. Keep one, or name another question with "
                "--label.",
            )
    who, is_verified = _who(annotation, where), expect(annotation.get("ground_truth"), bool, where, "ground_truth")
    return [
        Vote(row, question, who, labels[0], is_verified)
        for question, labels in chosen.items()
        if len(set(labels)) == 1
    ]


def _who(annotation: dict[str, Any], where: str) -> str:
    by = annotation.get("completed_by")
    if isinstance(by, dict):
        by = by.get("email") or by.get("id")
    if isinstance(by, list | dict):
        raise ValueError(
            f"{where}: completed_by must be a number, a text or an object with an email or an id. Export it again."
        )
    return "" if by is None else label_text(by) or "" if isinstance(by, str) else f"annotator {by}"


def _check_truth(path: Path, votes: Sequence[Vote]) -> None:
    """Refuse two ground truths for one task."""
    truths: dict[tuple[int, str], str] = {}
    for vote in votes:
        if vote.is_verified and truths.setdefault((vote.row, vote.question), vote.label) != vote.label:
            raise ValueError(
                f"{path}, task {vote.row + 1:,}: one label must be the ground truth; found "
                f"{quoted(truths[vote.row, vote.question])} and {quoted(vote.label)}. Take the mark off one of them."
            )
