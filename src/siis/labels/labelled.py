"""Accuracy on the labelled examples alone."""

from __future__ import annotations

from typing import Any

import numpy as np
from sklearn.utils.validation import check_array, check_consistent_length, column_or_1d

from siis._types import Bools
from siis.labels.unlabelled import UNLABELLED, is_unlabelled


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
