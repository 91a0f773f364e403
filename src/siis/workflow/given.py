"""Labels of a file, answers of annotators and a reviewer's corrections -> what ``fit`` takes."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from siis._types import Bools, Floats
from siis.labels import from_annotators
from siis.labels.coding import code_names
from siis.labels.unlabelled import named, soft_rows
from siis.tables import Data
from siis.texts import did_you_mean, is_number

FORMULA = ("=", "+", "-", "@", "\t", "\r", "\n")  # what spreadsheets take for the beginning of one


@dataclass(frozen=True, eq=False)
class Given:
    """What is given about the examples.

    Attributes
    ----------
    y : LabelCoding or Distributions
        For ``fit``.
    labels : ndarray of object, shape (n,)
        The given label of each example, by name; None where there is none. Of annotators: the likeliest one.
    sample_weight : ndarray of shape (n,), or None
    certain : ndarray of bool, shape (n,)
        Checked by a reviewer, or known to be right as the file says.
    """

    y: Any
    labels: Any
    sample_weight: Floats | None
    certain: Bools


class Distributions:
    """Soft labels whose columns have names.

    Parameters
    ----------
    Y : ndarray of shape (n, c)
    columns : list of str
    """

    def __init__(self, Y: Floats, columns: list[str]) -> None:
        self.Y, self.columns = Y, columns

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> Floats:
        return np.array(self.Y, dtype=dtype)


def given_of(data: Data, checked: Mapping[str, str]) -> Given:
    """Put the labels of a file and those that a reviewer has checked together.

    Parameters
    ----------
    data : Data
    checked : mapping of str to str
        The label of each checked id.

    Returns
    -------
    Given
    """
    certain = np.zeros(len(data.ids), dtype=bool)
    at = {**data.certain, **placed(data.ids, checked)}
    certain[list(at)] = True
    if data.annotations is None:
        assert data.labels is not None
        labels = data.labels.copy()
        for i, label in at.items():
            labels[i] = label
        return Given(code_names(labels), labels, None, certain)
    annotated = from_annotators(data.annotations, long=False)
    names = [str(name) for name in annotated.classes]
    Y, weights = annotated.Y.copy(), annotated.weights.copy()
    for i, label in at.items():
        if label not in names:
            raise ValueError(
                f"a correction must name one of the annotators' classes, {', '.join(names)}; the id {data.ids[i]!r} "
                f"has {label!r}. Change it."
            )
        Y[i], weights[i] = np.arange(len(names)) == names.index(label), 1.0
    labels = np.full(len(data.ids), None, dtype=object)
    for i in np.flatnonzero(soft_rows(Y)).tolist():
        labels[i] = names[int(np.argmax(Y[i]))]
    return Given(Distributions(Y, names), labels, weights, certain)


def digest_of(data: Data) -> str:
    """Name a table by its ids and its labels as the file gives them: decisions belong to one table.

    Parameters
    ----------
    data : Data

    Returns
    -------
    str
        The same for the same ids and labels.
    """
    answers = data.labels if data.labels is not None else data.annotations
    assert answers is not None
    content = json.dumps([list(data.ids), answers.tolist()])
    return hashlib.sha256(content.encode()).hexdigest()[:32]


def new_classes(data: Data, checked: Mapping[str, str]) -> list[str]:
    """Name the checked labels that the data itself does not hold: new classes, or slips of the pen.

    Parameters
    ----------
    data : Data
    checked : mapping of str to str

    Returns
    -------
    list of str
    """
    answers = data.labels if data.labels is not None else data.annotations
    assert answers is not None
    known = {str(label) for label in answers[named(answers)]}
    return sorted({unguarded(label) for label in checked.values()} - known)


def placed(ids: tuple[str, ...], checked: Mapping[str, str]) -> dict[int, str]:
    """Find the example of each checked id; spreadsheets' guards against formulas are taken off.

    Parameters
    ----------
    ids : tuple of n str
    checked : mapping of str to str
        The label of each checked id.

    Returns
    -------
    dict of int to str
    """
    place = {name: i for i, name in enumerate(ids)}
    found = {}
    for name, label in checked.items():
        known = name if name in place else unguarded(name)
        if known not in place:
            remedy = did_you_mean(name, ids) or "Use the corrections of a report on the same data."
            raise ValueError(f"corrections must name examples of the data; there is no id {name!r}. {remedy}")
        found[place[known]] = unguarded(label)
    return found


def guarded(text: str) -> str:
    """Give a cell of a CSV file that no spreadsheet runs as a formula: a quote before what might begin one.

    Parameters
    ----------
    text : str

    Returns
    -------
    str
    """
    return f"'{text}" if text.startswith(FORMULA) and not (is_number(text) and text == text.strip()) else text


def unguarded(text: str) -> str:
    """Take the quote off again.

    Parameters
    ----------
    text : str

    Returns
    -------
    str
    """
    return text[1:] if text.startswith("'") and text[1:].startswith(FORMULA) else text
