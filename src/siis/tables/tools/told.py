"""What the file of a labelling tool says by itself: answers, who gave them, which are certain, what names rows."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Protocol

import pyarrow as pa

from siis import __version__
from siis.tables.messages import listed

OURS = "siis"  # the field, or the beginning of the columns, that holds what siis says
AGENT = f"{OURS} {__version__}"
WHO = "annotator"  # the column that says who gave the only answer
ID = "id"  # names examples in every tool: never compared by
PLAIN = "JSON lines"  # of no tool
DIGITS = 4  # of probabilities, as in the CSV files


@dataclass(frozen=True)
class Vote:
    """An answer to a question about an example.

    Attributes
    ----------
    row : int
        The example.
    question : str
    annotator : str
        Empty where the file does not name one.
    label : str
    is_certain : bool
        Whether the tool says that it is the truth.
    """

    row: int
    question: str
    annotator: str
    label: str
    is_certain: bool = False


@dataclass(frozen=True)
class Answer:
    """What siis says of an example.

    Attributes
    ----------
    label : str
    probability : float
    quality : float or None
        Probability that the given label is right; None where there is none, or nobody has judged it.
    is_issue : bool
        Whether the given label is a suspect.
    """

    label: str
    probability: float
    quality: float | None
    is_issue: bool

    def to_plain(self) -> dict[str, Any]:
        """Give the answer as a field of a JSON object.

        Returns
        -------
        dict
        """
        quality = None if self.quality is None else round(self.quality, DIGITS)
        probability = round(self.probability, DIGITS)
        return {"label": self.label, "probability": probability, "quality": quality, "is_issue": self.is_issue}


FIELDS = tuple(Answer("", 0.0, None, False).to_plain())


class Origin(Protocol):
    """The file as it was read, to be written again."""

    def answered(self, answers: Sequence[Answer], question: str | None) -> dict[str, bytes]:
        """Write it with an answer for each example; nothing else of it is changed.

        Parameters
        ----------
        answers : sequence of n Answer
        question : str or None
            Which of the file's questions they answer.

        Returns
        -------
        dict of str to bytes
            Files by name.
        """


@dataclass(frozen=True, eq=False)
class Told:
    """What a file says of its own columns.

    Attributes
    ----------
    tool : str
        What wrote it, for messages.
    id : str or None
        The column that names the examples.
    texts : tuple of str
        Columns of texts.
    questions : dict of str to tuple of str
        The columns of answers to each question: one, or one for each annotator.
    certain : dict of str to tuple of (int, str)
        Rows and columns of the answers that are known to be right, by question.
    votes : frozenset of str
        All columns of answers: never compared by.
    aside : frozenset of str
        Other columns that are not compared by.
    refused : dict of str to str
        Why a question cannot be used.
    unanswered : str or None
        What to say of a file without an answer, as in "no task has an annotation"; None where there are answers, or
        labels are a plain column.
    is_project : bool
        Whether the file holds all that was labelled, and not only what somebody has checked.
    has_own_ids : bool
        Whether the ids are the tool's numbers, and no field of the examples.
    contents : tuple of mapping
        What each example is about, by field: a later export with the same ids must have the same. Empty where the
        tool's file does not say it.
    """

    tool: str
    id: str | None = None
    texts: tuple[str, ...] = ()
    questions: dict[str, tuple[str, ...]] = field(default_factory=dict)
    certain: dict[str, tuple[tuple[int, str], ...]] = field(default_factory=dict)
    votes: frozenset[str] = frozenset()
    aside: frozenset[str] = frozenset()
    refused: dict[str, str] = field(default_factory=dict)
    unanswered: str | None = None
    is_project: bool = True
    has_own_ids: bool = False
    contents: tuple[Mapping[str, Any], ...] = ()

    @property
    def tool_is_known(self) -> bool:
        """Whether a labelling tool has written the file, and not just anybody."""
        return self.tool != PLAIN

    def question(self, path: Any, wanted: str | None) -> str | None:
        """Choose the question whose answers are the labels.

        Parameters
        ----------
        path : Path
            For messages.
        wanted : str or None
            What the user has named: a question, or a column.

        Returns
        -------
        str or None
            None where the labels are no answers to a question of the tool.
        """
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


@dataclass(frozen=True, eq=False)
class Parsed:
    """The file of a tool, read.

    Attributes
    ----------
    columns : dict of str to pyarrow.ChunkedArray
    n : int
        Number of examples.
    notes : list of str
    told : Told
    origin : Origin
    """

    columns: dict[str, Any]
    n: int
    notes: list[str]
    told: Told
    origin: Origin


@dataclass(frozen=True, eq=False)
class VoteColumns:
    """Answers as columns of a table.

    Attributes
    ----------
    columns : dict of str to pyarrow.ChunkedArray
    questions, certain
        As in ``Told``.
    who : frozenset of str
        Those of the columns that say who answered.
    """

    columns: dict[str, Any]
    questions: dict[str, tuple[str, ...]]
    certain: dict[str, tuple[tuple[int, str], ...]]
    who: frozenset[str]


def vote_columns(votes: Sequence[Vote], n: int, taken: Collection[str]) -> VoteColumns:
    """Make columns of answers: one for each annotator, or a single one where no example has two answers.

    A second answer of one annotator to one question about one example has a column of its own.

    Parameters
    ----------
    votes : sequence of Vote
    n : int
        Number of examples.
    taken : collection of str
        Names of other columns.

    Returns
    -------
    VoteColumns
    """
    by_question: dict[str, list[Vote]] = defaultdict(list)
    for vote in votes:
        by_question[vote.question].append(vote)
    cells: dict[str, list[str | None]] = {}
    questions, certain, who = {}, {}, []
    for question, said in by_question.items():
        is_single = len({vote.row for vote in said}) == len(said)
        before = f"{question}: " if len(by_question) > 1 else ""
        titles: dict[tuple[str, int], str] = {}
        turns: dict[tuple[int, str], int] = defaultdict(int)
        sure = []
        for vote in said:
            turns[vote.row, vote.annotator] += 1
            key = ("", 1) if is_single else (vote.annotator, turns[vote.row, vote.annotator])
            if key not in titles:
                turn = "" if key[1] == 1 else f" ({key[1]})"
                title = question if is_single else f"{before}{key[0] or WHO}{turn}"
                titles[key] = free_name(title, {*taken, *cells})
                cells[titles[key]] = [None] * n
            cells[titles[key]][vote.row] = vote.label
            if vote.is_certain:
                sure.append((vote.row, titles[key]))
        questions[question], certain[question] = tuple(titles.values()), tuple(sure)
        if is_single and any(vote.annotator for vote in said):
            title = free_name(f"{before}{WHO}", {*taken, *cells})
            cells[title] = [None] * n
            who.append(title)
            for vote in said:
                cells[title][vote.row] = vote.annotator or None
    columns = {name: pa.chunked_array([pa.array(labels, pa.large_string())]) for name, labels in cells.items()}
    return VoteColumns(columns, questions, certain, frozenset(who))


def free_name(name: str, taken: Collection[str]) -> str:
    """Give a column a name that no other has.

    Parameters
    ----------
    name : str
    taken : collection of str

    Returns
    -------
    str
    """
    number, title = 2, name
    while title in taken:
        title, number = f"{name} ({number})", number + 1
    return title


def id_column(columns: Mapping[str, Any], *names: str) -> str | None:
    """Find the column that names the rows: the first of some names with a cell that is not empty.

    Ids that are missing or repeated are refused where they are read: row numbers in their place would be those of
    other examples in the next export.

    Parameters
    ----------
    columns : mapping of str to pyarrow.ChunkedArray
    *names : str

    Returns
    -------
    str or None
    """
    for name in names:
        if name in columns and columns[name].null_count < len(columns[name]):
            return name
    return None
