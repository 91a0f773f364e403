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
class MergedLabels:
    """The labels of n examples."""

    y: Any  # for ``fit``
    # (n,) given label of each example, by name, or None; of annotators: the likeliest one
    labels: Any
    sample_weight: Floats | None  # (n,)
    verified: Bools  # (n,) checked by a reviewer, or marked as right in the file


class Distributions:
    """Soft labels Y, shape (n, c), whose columns have names."""

    def __init__(self, Y: Floats, columns: list[str]) -> None:
        self.Y, self.columns = Y, columns

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> Floats:
        return np.array(self.Y, dtype=dtype)


def merge_checked(data: Data, checked: Mapping[str, str]) -> MergedLabels:
    """Combine the labels of the data with checked ones (label by id)."""
    verified = np.zeros(len(data.ids), dtype=bool)
    at = {**data.verified, **by_row(data.ids, checked)}
    verified[list(at)] = True
    if data.annotations is None:
        assert data.labels is not None
        labels = data.labels.copy()
        for i, label in at.items():
            labels[i] = label
        return MergedLabels(code_names(labels), labels, None, verified)
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
    return MergedLabels(Distributions(Y, names), labels, weights, verified)


def digest_of(data: Data) -> str:
    """Digest of the ids and labels of a table: decisions belong to one table."""
    answers = data.labels if data.labels is not None else data.annotations
    assert answers is not None
    content = json.dumps([list(data.ids), answers.tolist()])
    return hashlib.sha256(content.encode()).hexdigest()[:32]


def new_classes(data: Data, checked: Mapping[str, str]) -> list[str]:
    """Checked labels that the data does not contain: new classes or typing errors."""
    answers = data.labels if data.labels is not None else data.annotations
    assert answers is not None
    known = {str(label) for label in answers[named(answers)]}
    return sorted({unquote_formula(label) for label in checked.values()} - known)


def by_row(ids: tuple[str, ...], checked: Mapping[str, str]) -> dict[int, str]:
    """Replace ids by row numbers, and take off the quotes that guard against formulas."""
    place = {name: i for i, name in enumerate(ids)}
    found = {}
    for name, label in checked.items():
        known = name if name in place else unquote_formula(name)
        if known not in place:
            remedy = did_you_mean(name, ids) or "Use the corrections of a report on the same data."
            raise ValueError(f"corrections must name examples of the data; there is no id {name!r}. {remedy}")
        found[place[known]] = unquote_formula(label)
    return found


def quote_formula(text: str) -> str:
    """Prefix a cell with a quote if a spreadsheet would run it as a formula."""
    return f"'{text}" if text.startswith(FORMULA) and not (is_number(text) and text == text.strip()) else text


def unquote_formula(text: str) -> str:
    """Take the quote off again."""
    return text[1:] if text.startswith("'") and text[1:].startswith(FORMULA) else text
