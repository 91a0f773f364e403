"""Metadata of the file of a labelling tool: answers, annotators, verified labels, ids."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Protocol

import pyarrow as pa

from siis import __version__
from siis.texts import listed

OURS = "siis"  # the field, or the prefix of the columns, of our answers
AGENT = f"{OURS} {__version__}"
WHO = "annotator"  # the column of annotators if each example has one answer
TEXT = "text"
ID = "id"  # names examples in every tool: never compared by
PLAIN = "JSON lines"  # of no tool
DIGITS = 4  # of probabilities, as in the CSV files


@dataclass(frozen=True)
class Vote:
    """An answer to a question about an example."""

    row: int  # the example
    question: str
    annotator: str  # empty if the file names none
    label: str
    is_verified: bool = False  # the tool marks it as the truth


@dataclass(frozen=True)
class Answer:
    """Our answer for an example."""

    label: str
    probability: float
    # probability that the given label is right; None without a label or an assessment
    quality: float | None
    is_issue: bool  # the given label is probably wrong

    def to_plain(self) -> dict[str, Any]:
        """The answer as a field of a JSON object."""
        quality = None if self.quality is None else round(self.quality, DIGITS)
        probability = round(self.probability, DIGITS)
        return {"label": self.label, "probability": probability, "quality": quality, "is_issue": self.is_issue}


FIELDS = tuple(Answer("", 0.0, None, False).to_plain())


class Origin(Protocol):
    """The file as it was read, to be written again."""

    def answered(self, answers: Sequence[Answer], question: str | None) -> dict[str, bytes]:
        """Write the file with n answers to one of its questions, otherwise unchanged; returns files by name."""


@dataclass(frozen=True, eq=False)
class ToolMetadata:
    """The roles of columns that a file implies."""

    tool: str | None = None  # None for other files
    id: str | None = None  # the column that names the examples
    texts: tuple[str, ...] = ()  # columns of texts
    # columns of answers to each question: one, or one for each annotator
    questions: dict[str, tuple[str, ...]] = field(default_factory=dict)
    # rows and columns of the answers that are known to be right, by question
    verified: dict[str, tuple[tuple[int, str], ...]] = field(default_factory=dict)
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

    @property
    def tool_is_known(self) -> bool:
        """Whether a labelling tool has written the file."""
        return self.tool not in (None, PLAIN)

    def question(self, path: Any, wanted: str | None) -> str | None:
        """The question that the user named, or the only one; None if labels are no answers to one."""
        names = [*self.questions, *(name for name in self.refused if name not in self.questions)]
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
class ToolFile:
    """The file of a tool, read."""

    columns: dict[str, Any]
    n: int  # number of examples
    notes: list[str]
    metadata: ToolMetadata
    origin: Origin


@dataclass(frozen=True, eq=False)
class VoteColumns:
    """Answers as columns of a table."""

    columns: dict[str, Any]
    questions: dict[str, tuple[str, ...]]  # as in ``ToolMetadata``
    verified: dict[str, tuple[tuple[int, str], ...]]
    who: frozenset[str]  # columns of names of annotators


def vote_columns(votes: Sequence[Vote], n: int, taken: Collection[str]) -> VoteColumns:
    """Columns of answers, one for each annotator (and repeat), or a single one if no example has two answers."""
    by_question: dict[str, list[Vote]] = defaultdict(list)
    for vote in votes:
        by_question[vote.question].append(vote)
    cells: dict[str, list[str | None]] = {}
    questions, verified, who = {}, {}, []
    for question, answers in by_question.items():
        is_single = len({vote.row for vote in answers}) == len(answers)
        before = f"{question}: " if len(by_question) > 1 else ""
        titles: dict[tuple[str, int], str] = {}
        turns: dict[tuple[int, str], int] = defaultdict(int)
        marked = []
        for vote in answers:
            turns[vote.row, vote.annotator] += 1
            key = ("", 1) if is_single else (vote.annotator, turns[vote.row, vote.annotator])
            if key not in titles:
                turn = "" if key[1] == 1 else f" ({key[1]})"
                title = question if is_single else f"{before}{key[0] or WHO}{turn}"
                titles[key] = free_name(title, {*taken, *cells})
                cells[titles[key]] = [None] * n
            cells[titles[key]][vote.row] = vote.label
            if vote.is_verified:
                marked.append((vote.row, titles[key]))
        questions[question], verified[question] = tuple(titles.values()), tuple(marked)
        if is_single and any(vote.annotator for vote in answers):
            title = free_name(f"{before}{WHO}", {*taken, *cells})
            cells[title] = [None] * n
            who.append(title)
            for vote in answers:
                cells[title][vote.row] = vote.annotator or None
    columns = {name: pa.chunked_array([pa.array(labels, pa.large_string())]) for name, labels in cells.items()}
    return VoteColumns(columns, questions, verified, frozenset(who))


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
    for name in names:
        if name in columns and columns[name].null_count < len(columns[name]):
            return name
    return None
