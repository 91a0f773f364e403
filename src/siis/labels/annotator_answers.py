"""Tables of the answers of several annotators (one column each, or one row for each answer) as numbers."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from siis._types import Bools, Floats, Ints
from siis.labels.coding import encode_labels
from siis.labels.unlabelled import coded_rows

DISTINCT = 0.9  # share of the pairs (task, worker) that occur once in a table of one row for each answer
EXPECTED = 5.0  # answers of a class, by its share in all answers; below that nobody counts as avoiding it
AVOIDED = 0.2  # share of the expected answers below which an annotator avoids a class
PART = 0.25  # share of all answers in the classes that a general annotator may avoid


@dataclass(frozen=True, eq=False)
class AnnotatorAnswers:
    """Answers as numbers; the arrays of length m have one entry for each answer."""

    tasks: np.ndarray[Any, Any]  # (n,)
    workers: np.ndarray[Any, Any]  # (a,)
    classes: np.ndarray[Any, Any]  # (c,)
    example: Ints  # (m,), as the next two: index into tasks, workers and classes
    annotator: Ints
    answer: Ints
    # (a,): annotators who have answered with two classes or more, and avoid few. The others, such as labelling
    # functions, have chosen their examples by the class.
    is_general: Bools

    def of(self, examples: Bools) -> AnnotatorAnswers:
        """Answers to some of the examples."""
        return self._only(examples[self.example])

    def by(self, annotators: Bools) -> AnnotatorAnswers:
        """Answers of some of the annotators."""
        return self._only(annotators[self.annotator])

    def _only(self, kept: Bools) -> AnnotatorAnswers:
        return replace(self, example=self.example[kept], annotator=self.annotator[kept], answer=self.answer[kept])

    def by_example(self, values: Floats) -> Floats:
        """Sums over the answers to each example, shape (n, k), of values of shape (m, k)."""
        n = self.tasks.size
        return np.stack([np.bincount(self.example, column, n) for column in values.T], axis=1)


def read_answers(answers: Any, long: bool | str) -> AnnotatorAnswers:
    """Read a table of answers, shape (n, a), or of rows (task, worker, label), shape (m, 3)."""
    if not (isinstance(long, bool | np.bool_) or long == "auto"):
        raise ValueError(f"long must be True, False or 'auto'; found {long!r}")
    table = np.asarray(answers)
    if table.ndim != 2:
        raise ValueError(
            f"answers must have one row for each example and one column for each annotator; found shape {table.shape}"
        )
    if table.size == 0:
        raise ValueError("answers must hold at least one answer; found none")
    masked = np.ma.getmaskarray(answers) if isinstance(answers, np.ma.MaskedArray) else np.zeros(table.shape, bool)
    if long == "auto":
        long = not masked.any() and _is_long(table)
    names = list(getattr(answers, "columns", range(table.shape[1])))
    return _long(answers, table, names) if long else _wide(table, masked, names)


def _is_long(table: np.ndarray[Any, Any]) -> bool:
    """Whether three columns are task, worker and label: few classes, many tasks, pairs that hardly occur again."""
    if table.shape[1] != 3 or any(cell is None or cell != cell for cell in table.ravel().tolist()):  # noqa: PLR0124
        return False
    task, worker, label = (np.unique(column, return_inverse=True)[1] for column in table.astype(str).T)
    n, c = len(table), int(label.max()) + 1
    n_pairs = np.unique(task * n + worker).size
    return n_pairs >= DISTINCT * n and n_pairs > c * c and int(task.max()) + 1 > c


def _wide(table: np.ndarray[Any, Any], masked: Bools, names: list[Any]) -> AnnotatorAnswers:
    coding = encode_labels(np.ma.array(table, mask=masked).ravel() if masked.any() else table.ravel())
    codes = coding.codes.reshape(table.shape)
    example, annotator = np.nonzero(coded_rows(codes))
    answer = codes[example, annotator]
    return _checked(np.arange(len(table)), np.array(names), coding.classes, example, annotator, answer)


def _long(answers: Any, table: np.ndarray[Any, Any], names: list[Any]) -> AnnotatorAnswers:
    if table.shape[1] != 3:
        raise ValueError(
            "a table with one row for each answer must have three columns, task, worker and label; found "
            f"{table.shape[1]}. Leave the others out."
        )
    columns = [
        np.asarray(answers[name]) if hasattr(answers, "columns") else table[:, j] for j, name in enumerate(names)
    ]
    coding = encode_labels(columns[2])
    given = coding.labelled
    tasks, example = np.unique(columns[0], return_inverse=True)
    workers, annotator = np.unique(columns[1], return_inverse=True)
    rows = np.column_stack([example, annotator, coding.codes])[given]
    example, annotator, answer = np.unique(rows, axis=0).T  # an answer that is listed twice counts once
    return _checked(tasks, workers, coding.classes, example, annotator, answer)


def _checked(
    tasks: Any, workers: Any, classes: Any, example: Ints, annotator: Ints, answer: Ints
) -> AnnotatorAnswers:
    if classes.size < 2:
        raise ValueError(
            f"answers must name two classes or more; found only {classes[0]!r}. With one class there is nothing to "
            "learn."
        )
    counts = np.zeros((len(workers), classes.size))
    np.add.at(counts, (annotator, answer), 1.0)
    return AnnotatorAnswers(tasks, workers, classes, example, annotator, answer, _is_general(counts))


def _is_general(counts: Floats) -> Bools:
    """Annotators who use nearly all of the frequent classes, shape (a,), from counts of shape (a, c)."""
    shares = counts.sum(axis=0) / counts.sum()
    expected = counts.sum(axis=1, keepdims=True) * shares
    avoided = np.sum(expected, axis=1, where=(expected >= EXPECTED) & (counts < AVOIDED * expected))
    return np.asarray((avoided <= PART * counts.sum(axis=1)) & (np.count_nonzero(counts, axis=1) > 1))
