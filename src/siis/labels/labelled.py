"""Which of the labels that a model is compared with are labels, and how many of them it meets."""

from __future__ import annotations

from typing import Any

import numpy as np
from sklearn.utils.validation import check_array, check_consistent_length, column_or_1d

from siis._types import Bools
from siis.labels.unlabelled import UNLABELLED, is_unlabelled


def labelled_rows(y: Any, classes: Any) -> Bools:
    """Tell which examples have a label, as a model with these classes reads it.

    A part of the labels does not say by itself what -1 means; the classes of the model do.

    Parameters
    ----------
    y : array-like of shape (n,)
    classes : array-like of shape (c,)
        Of the fitted model.

    Returns
    -------
    ndarray of bool, shape (n,)
        False at None, NaN and NA, and at -1 unless that is a class.
    """
    values = column_or_1d(np.asarray(y))
    minus_one_is_class = np.asarray(classes).dtype.kind not in "iuf" or UNLABELLED in classes
    present = np.array([not is_unlabelled(value, minus_one_is_class) for value in values.tolist()], dtype=bool)
    if isinstance(y, np.ma.MaskedArray):
        present &= ~np.ma.getmaskarray(y).ravel()
    return present


def labelled_accuracy(y: Any, answers: Any, classes: Any, sample_weight: Any = None) -> float:
    """Give the share of the labels that the answers meet; examples without a label do not count.

    Parameters
    ----------
    y : array-like of shape (n,)
        Given labels; -1 among integers, None, NaN or NA where unlabelled.
    answers : array-like of shape (n,)
        Classes.
    classes : array-like of shape (c,)
        Of the fitted model.
    sample_weight : array-like of shape (n,), optional

    Returns
    -------
    float
    """
    check_consistent_length(y, answers, sample_weight)
    rows = some_labelled(labelled_rows(y, classes))
    weights = np.ones(rows.size) if sample_weight is None else check_array(sample_weight, ensure_2d=False)
    given, found = np.asarray(y, dtype=object).ravel(), np.asarray(answers, dtype=object)  # 3.0 is 3, "3" is not
    return float(np.average(np.asarray(given[rows] == found[rows], dtype=bool), weights=weights[rows]))


def some_labelled(rows: Bools) -> Bools:
    """Refuse a score of nothing.

    Parameters
    ----------
    rows : ndarray of bool, shape (n,)

    Returns
    -------
    ndarray of bool, shape (n,)
        The same.
    """
    if not rows.any():
        raise ValueError(
            f"a score needs at least one labelled example; none of {rows.size} has a label. In a cross-validation, "
            "hold out labels: cv=LabelledKFold(5), from siis.validation."
        )
    return rows
