"""What is no label: the only place that decides it.

Readers of files, classifiers, scores and reports ask here. Within siis, an unlabelled example is None among names,
-1 among codes and a row of zeros among distributions.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import numpy as np

from siis._types import Bools, Floats, Ints
from siis.labels.traps import folded

UNLABELLED = -1
TWO_SIGNS = {"-1", "1"}  # the paper's two classes
MISSING = ("", "nan", r"\n")  # cells without a value, in lower case: pandas writes NaN, MySQL and Hive \N


def is_missing(label: Any) -> bool:
    """Tell whether a label is None, NaN or NA.

    Parameters
    ----------
    label : object

    Returns
    -------
    bool
    """
    return (
        label is None
        or type(label).__name__ in ("NAType", "NaTType")
        or (isinstance(label, float | np.floating) and bool(np.isnan(label)))
    )


def is_blank(name: str) -> bool:
    """Tell whether a text says nothing."""
    return not name.strip()


def is_minus_one(label: Any) -> bool:
    """Tell whether a label is -1, as a number or however it is written.

    Parameters
    ----------
    label : object

    Returns
    -------
    bool
    """
    return folded(label) == str(UNLABELLED) if isinstance(label, str) else bool(label == UNLABELLED)


def are_signs(classes: Iterable[Any]) -> bool:
    """Tell whether labels are -1 and 1: then -1 is a class, as in the paper, for only one would be left otherwise.

    Parameters
    ----------
    classes : iterable
        Distinct labels, none of them missing.

    Returns
    -------
    bool
    """
    return {folded(str(name)) for name in classes} == TWO_SIGNS


def is_unlabelled(label: Any, minus_one_is_class: bool) -> bool:
    """Tell whether a label is none, where it is known what -1 means.

    Parameters
    ----------
    label : object
    minus_one_is_class : bool

    Returns
    -------
    bool
    """
    return is_missing(label) or (not minus_one_is_class and is_minus_one(label))


def named(labels: Any) -> Bools:
    """Tell which examples have a label, by names.

    Parameters
    ----------
    labels : ndarray of str or None

    Returns
    -------
    ndarray of bool, of the same shape
    """
    return np.asarray(np.asarray(labels, dtype=object) != np.array(None), dtype=bool)


def coded_rows(codes: Ints) -> Bools:
    """Tell which examples have a label, by codes.

    Parameters
    ----------
    codes : ndarray of shape (n,)

    Returns
    -------
    ndarray of bool, shape (n,)
    """
    return np.asarray(codes > UNLABELLED)


def soft_rows(Y: Floats) -> Bools:
    """Tell which examples have a label, by distributions.

    Parameters
    ----------
    Y : ndarray of shape (n, c)

    Returns
    -------
    ndarray of bool, shape (n,)
    """
    return np.asarray(Y.any(axis=1))
