"""What counts as unlabelled: the only place that decides it.

Within siis, an unlabelled example is None among names, -1 among codes and a row of zeros among distributions.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import numpy as np

from siis._types import Bools, Floats, Ints
from siis.labels.label_spelling import folded

UNLABELLED = -1
TWO_SIGNS = {"-1", "1"}  # the paper's two classes
MISSING = ("", "nan", r"\n")  # cells without a value, in lower case: pandas writes NaN, MySQL and Hive \N


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
