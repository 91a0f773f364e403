"""What counts as unlabelled, and which names are one class: the only place that decides it.

Within siis, an unlabelled example is None among names, -1 among codes and a row of zeros among distributions.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterable, Mapping
from typing import Any

import numpy as np
from sklearn.utils.validation import check_array, check_consistent_length, column_or_1d

from siis._types import Bools, Floats, Ints

UNLABELLED = -1
TWO_SIGNS = {"-1", "1"}  # the paper's two classes
MISSING = ("", "nan", r"\n")  # cells without a value, in lower case: pandas writes NaN, MySQL and Hive \N
MARKS = "? ?? ??? - -- --- \u2013 \u2014 . .. ... * ** *** # _ / \\ \\n <na> #na #n/a #value! #div/0! #num! #name?"
WORDS = """
na n/a nan null none unknown unk missing undefined unspecified n.a. n.a n/k n/d nd nil blank (blank) empty (none)
tbd todo unlabeled unlabelled unassigned #ref! #null!
"""
PHRASES = ("not available", "not applicable", "not specified", "not labeled", "not labelled", "no label")
NO_ANSWER = ("", *MARKS.split(), *WORDS.split(), *PHRASES)  # in any case
INVISIBLE = dict.fromkeys(map(ord, "\u00ad\u200b\u200c\u200d\u2060\ufeff"))  # they have no width


def folded(label: str) -> str:
    """Fold case, spaces, invisible characters, combining accents, and the form of numbers (1, +1, 1.0)."""
    visible = unicodedata.normalize("NFKC", label).translate(INVISIBLE)
    name = unicodedata.normalize("NFKC", " ".join(visible.split()).casefold())
    return re.sub(r"^[+]?(-?[0-9]+)(?:[.]0*)?$", r"\1", name)


def spellings(counts: Mapping[str, int]) -> dict[str, str]:
    """Labels that differ only in spelling (case, spaces, 1 and 1.0), with the commonest spelling of each."""
    groups: dict[str, list[str]] = {}
    for label in sorted(counts, key=lambda label: (-counts[label], label)):
        groups.setdefault(folded(label), []).append(label)
    return {label: group[0] for group in groups.values() if len(group) > 1 for label in group}


def is_missing(label: Any) -> bool:
    """Whether a label is None, NaN or NA."""
    return (
        label is None
        or type(label).__name__ in ("NAType", "NaTType")
        or (isinstance(label, float | np.floating) and bool(np.isnan(label)))
    )


def is_blank(name: str) -> bool:
    """Whether a text is empty or white space."""
    return not name.strip()


def is_minus_one(label: Any) -> bool:
    """Whether a label is -1, as a number or in any spelling."""
    return folded(label) == str(UNLABELLED) if isinstance(label, str) else bool(label == UNLABELLED)


def are_signs(classes: Iterable[Any]) -> bool:
    """Whether distinct labels are -1 and 1: two classes, as in the paper, since only one would be left otherwise."""
    return {folded(str(name)) for name in classes} == TWO_SIGNS


def is_unlabelled(label: Any, minus_one_is_class: bool) -> bool:
    """Whether a label is none, once it is known whether -1 is a class."""
    return is_missing(label) or (not minus_one_is_class and is_minus_one(label))


def named(labels: Any) -> Bools:
    """Whether each name is a label, of the same shape."""
    return np.asarray(np.asarray(labels, dtype=object) != np.array(None), dtype=bool)


def coded_rows(codes: Ints) -> Bools:
    """Whether each code is a label, shape (n,)."""
    return np.asarray(codes > UNLABELLED)


def soft_rows(Y: Floats) -> Bools:
    """Whether each distribution is a label, shape (n,). Y: (n, c)."""
    return np.asarray(Y.any(axis=1))


def labelled_rows(y: Any, classes: Any) -> Bools:
    """Whether each example has a label, (n,); -1 is a class if the fitted classes hold it."""
    values = column_or_1d(np.asarray(y))
    minus_one_is_class = np.asarray(classes).dtype.kind not in "iuf" or UNLABELLED in classes
    present = np.array([not is_unlabelled(value, minus_one_is_class) for value in values.tolist()], dtype=bool)
    if isinstance(y, np.ma.MaskedArray):
        present &= ~np.ma.getmaskarray(y).ravel()
    return present


def labelled_accuracy(y: Any, answers: Any, classes: Any, sample_weight: Any = None) -> float:
    """Share of the labels that are predicted, without unlabelled examples; y, answers, sample_weight: (n,)."""
    check_consistent_length(y, answers, sample_weight)
    rows = some_labelled(labelled_rows(y, classes))
    weights = np.ones(rows.size) if sample_weight is None else check_array(sample_weight, ensure_2d=False)
    given, found = np.asarray(y, dtype=object).ravel(), np.asarray(answers, dtype=object)  # 3.0 is 3, "3" is not
    return float(np.average(np.asarray(given[rows] == found[rows], dtype=bool), weights=weights[rows]))


def some_labelled(rows: Bools) -> Bools:
    """Refuse a score without a labelled example; returns the same rows, shape (n,)."""
    if not rows.any():
        raise ValueError(
            f"a score needs at least one labelled example; none of {rows.size} has a label. In a cross-validation, "
            "hold out labels: cv=LabelledKFold(5), from siis.validation."
        )
    return rows
