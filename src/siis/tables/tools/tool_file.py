"""The file of a labelling tool: votes of annotators, verified labels, ids and the roles of its columns."""

from __future__ import annotations

import json
import math
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, TypeAlias

import pyarrow as pa

from siis import __version__
from siis.texts import listed, quoted

OURS = "siis"  # the field, or the prefix of the columns, of our answers
AGENT = f"{OURS} {__version__}"
WHO = "annotator"  # the column of annotators if each example has one answer
TEXT = "text"
ID = "id"  # names examples in every tool: never compared by
PLAIN = "JSON lines"  # of no tool
DIGITS = 4  # of probabilities, as in the CSV files
SHOWN = 40  # letters of a JSON value that a message repeats


@dataclass(frozen=True)
class Answer:
    """Our answer for an example."""

    label: str
    probability: float
    quality: float | None  # probability that the given label is right; None without a label or an assessment
    is_issue: bool  # the given label is probably wrong

    def to_plain(self) -> dict[str, Any]:
        """The answer as a field of a JSON object."""
        quality = None if self.quality is None else round(self.quality, DIGITS)
        probability = round(self.probability, DIGITS)
        return {"label": self.label, "probability": probability, "quality": quality, "is_issue": self.is_issue}


FIELDS = tuple(Answer("", 0.0, None, False).to_plain())
# writes the file again with n answers to one of its questions, otherwise unchanged; returns files by name
Origin: TypeAlias = Callable[[str | None, Sequence[Answer]], dict[str, bytes]]


@dataclass(frozen=True, eq=False)
class ToolMetadata:
    """The roles of columns that a file implies."""

    tool: str | None = None  # None for other files
    id: str | None = None  # the column that names the examples
    texts: tuple[str, ...] = ()  # columns of texts
    # columns of answers to each question: one, or one for each annotator
    questions: dict[str, tuple[str, ...]] = field(default_factory=dict)
    # rows and columns of the answers that are known to be right, by question
    verified: dict[str, list[tuple[int, str]]] = field(default_factory=dict)
    votes: frozenset[str] = frozenset()  # all columns of answers: never features
    aside: frozenset[str] = frozenset()  # other columns that are no features
    refused: dict[str, str] = field(default_factory=dict)  # why a question cannot be used
    # for a message, why there is no answer, as in "no task has an annotation"; None if there are answers, or labels
    # are a plain column
    unanswered: str | None = None
    is_project: bool = True  # the file holds all labels, and not only those that somebody has checked
    has_own_ids: bool = False  # the ids are the tool's numbers, and no field of the examples
    # fields of each example: a later export must have the same under the same ids. Empty if the file has none.
    contents: tuple[Mapping[str, Any], ...] = ()

    def question(self, path: Any, wanted: str | None) -> str | None:
        """The question that the user named, or the only one; None if labels are no answers to one."""
        names = [*dict.fromkeys((*self.questions, *self.refused))]
        if wanted is not None and wanted not in names:
            return None
        if wanted is None and len(names) > 1:
            raise ValueError(
                f"{path}: one question must be chosen; found {len(names)}: {listed(names)}. Name it with --label."
            )
        name = wanted if wanted is not None else next(iter(names), None)
        if name in self.refused:
            raise ValueError(self.refused[name])
        return name


NO_TOOL = ToolMetadata()


@dataclass(frozen=True, eq=False)
class RawTable:
    """A table as a reader finds it."""

    header: Sequence[str]  # names, which may repeat or be empty
    columns: Sequence[Any]  # of pyarrow, equally long
    notes: Sequence[str]
    decimal: str = "."  # the decimal mark in columns of strings
    metadata: ToolMetadata = NO_TOOL
    origin: Origin | None = None  # of a labelling tool
    others: tuple[str, ...] = ()  # names of the other sheets of a workbook


@dataclass(frozen=True, eq=False)
class Votes:
    """The answers of a file, collected while it is read."""

    # labels by row, of each question and each annotator (and repeat)
    labels: dict[str, dict[tuple[str, int], dict[int, str]]] = field(default_factory=dict)
    truths: dict[tuple[str, int], tuple[str, int]] = field(default_factory=dict)  # whose answer is marked as right
    refused: dict[str, str] = field(default_factory=dict)  # raised when the question is used

    def add(
        self, row: int, question: str, annotator: Any, values: Iterable[Any], where: str, is_truth: bool = False
    ) -> bool:
        """Add the label that an annotator gave; a question is refused if one answer has several or is none."""
        labels = []
        for value in values:
            if isinstance(value, list | dict) or (isinstance(value, float) and not math.isfinite(value)):
                found = quoted(json.dumps(value)[:SHOWN])
                problem = f"a label must be a name or a number; found {found}. Export labels of whole examples."
                self.refused.setdefault(question, f"{where}: {problem}")
                return False
            if (label := label_text(value)) is not None and label not in labels:
                labels.append(label)
        if len(labels) > 1:
            several = f"{len(labels)}, {quoted(labels[0])} and {quoted(labels[1])} among them"
            remedy = "Keep one, or name another question with --label."
            problem = f"{where}: an example must have one label; {quoted(question)} has {several}. {remedy}"
            self.refused.setdefault(question, problem)
        if len(labels) != 1:
            return False
        answers, who, turn = self.labels.setdefault(question, {}), label_text(annotator) or "", 1
        while row in answers.setdefault((who, turn), {}):
            turn += 1
        answers[who, turn][row] = labels[0]
        truth = self.truths.setdefault((question, row), (who, turn)) if is_truth else (who, turn)
        if answers[truth][row] != labels[0]:
            found = f"{quoted(answers[truth][row])} and {quoted(labels[0])}"
            problem = f"one label must be the ground truth; found {found}. Take the mark off one of them."
            raise ValueError(f"{where}: {problem}")
        return True

    def columns(self, n: int, taken: Collection[str]) -> tuple[dict[str, Any], set[str], dict[str, Any]]:
        """Columns of answers, names of those that hold annotators, and questions and verified answers by name.

        A question has a column for each annotator (and repeat), or a single one if no example has two answers.
        """
        columns: dict[str, Any] = {}
        people: set[str] = set()
        titles: dict[tuple[str, str, int], str] = {}

        def added(title: str, cells: Mapping[int, str]) -> str:
            title = free_name(title, {*taken, *columns})
            texts = pa.array([cells.get(row) for row in range(n)], pa.large_string())
            columns[title] = pa.chunked_array([texts])
            return title

        for question, answers in self.labels.items():
            before = f"{question}: " if len(self.labels) > 1 else ""
            joined = {row: label for cells in answers.values() for row, label in cells.items()}
            if len(joined) == sum(map(len, answers.values())):
                title = added(question, joined)
                titles |= {(question, *key): title for key in answers}
                if any(who for who, _ in answers):
                    names = {row: who for (who, _), cells in answers.items() for row in cells if who}
                    people.add(added(f"{before}{WHO}", names))
            else:
                for (who, turn), cells in answers.items():
                    repeat = f" ({turn})" if turn > 1 else ""
                    titles[question, who, turn] = added(f"{before}{who or WHO}{repeat}", cells)
        questions = {
            question: tuple(dict.fromkeys(titles[question, *key] for key in answers))
            for question, answers in self.labels.items()
        }
        verified: dict[str, list[tuple[int, str]]] = {}
        for (question, row), key in self.truths.items():
            verified.setdefault(question, []).append((row, titles[question, *key]))
        return columns, people, {"questions": questions, "verified": verified}


def tool_table(
    tool: str,
    columns: Mapping[str, Any],
    n: int,
    votes: Votes,
    origin: Origin | None,
    notes: Sequence[str],
    *,
    id_names: tuple[str, ...] = (ID,),
    texts: tuple[str, ...] = (TEXT,),
    aside: Iterable[str] = (),
    unanswered: str | None = None,
    **more: Any,
) -> RawTable:
    """Columns of n examples and of the answers to them, with the roles that they have."""
    answers, people, questions = votes.columns(n, columns)
    metadata = ToolMetadata(
        tool,
        id=id_column(columns, *id_names),
        texts=tuple(name for name in texts if name in columns),
        votes=frozenset(answers) - people,
        aside=frozenset(people.union(aside, columns.keys() & {*id_names})),
        refused=votes.refused,
        unanswered=None if votes.labels or votes.refused else unanswered,
        **questions,
        **more,
    )
    columns = {**columns, **answers}
    return RawTable(list(columns), list(columns.values()), notes, metadata=metadata, origin=origin)


def label_text(value: Any) -> str | None:
    """A label as a text, or None."""
    if value is None or (isinstance(value, str) and not value.strip()):
        return None
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, float) and value.is_integer():
        return str(int(value))
    return utf8_text(str(value)).strip()


def utf8_text(text: str) -> str:
    """A text that UTF-8 can hold."""
    return text.encode(errors="replace").decode()


def is_ours(agent: Any) -> bool:
    """Whether siis of any version is the agent of a suggestion or prediction."""
    return str(agent or "").split(" ")[0] == OURS


def free_name(name: str, taken: Collection[str]) -> str:
    """A name that no other column has."""
    number, title = 2, name
    while title in taken:
        title, number = f"{name} ({number})", number + 1
    return title


def id_column(columns: Mapping[str, Any], *names: str) -> str | None:
    """The first of some columns with a cell that is not empty; gaps and repeats are refused where ids are read."""
    filled = (name for name in names if name in columns and columns[name].null_count < len(columns[name]))
    return next(filled, None)
