"""Sets of classes that hold the true one as often as asked, by calibrated probabilities or by held-out labels."""

from __future__ import annotations

import numpy as np

from siis._types import Bools, Floats, Ints
from siis.engine.rows import evenly

MOST_LEVELS = 2000
MOST_NUMBERS, LEAST_ROWS = 2_000_000, 1000  # probabilities that are sorted, and rows that are taken in any case


def enough_rows(n: int, c: int) -> Ints:
    """Those of n rows, evenly spread, that are looked at where there are many numbers."""
    return evenly(n, max(LEAST_ROWS, MOST_NUMBERS // c))


def coverage_levels(P: Floats, truth: Floats, weights: Floats) -> Floats:
    """How often the true class has at least a probability.

    With p_ik the probability of class k of example i, and t_ik what is known of its true class, the coverage of the
    sets {k : p_ik >= level} is sum_ik w_i t_ik [p_ik >= level] / sum_i w_i; one more example counts as missed, as in
    split conformal prediction. For unlabelled examples t = p; for held-out labels it is the posterior given the
    label, (C6).                                                                                            (C13)

    Parameters
    ----------
    P, truth : ndarray of shape (l, c)
    weights : ndarray of shape (l,)

    Returns
    -------
    ndarray of shape (m, 2)
        Levels, falling, and the coverage of each; one row of zeros where there are no labels.
    """
    if not len(P):
        return np.zeros((1, 2))
    rows = enough_rows(*P.shape)
    P, truth, weights = P[rows], truth[rows], weights[rows]
    order = np.argsort(-P, axis=None, kind="stable")
    total = float(weights.sum())
    covered = np.cumsum((weights[:, None] * truth).ravel()[order]) / (total + float(weights.max()))
    levels = P.ravel()[order]
    last = np.append(levels[1:] < levels[:-1], True)  # equal probabilities enter together
    levels, covered = levels[last], covered[last]
    some = evenly(levels.size, MOST_LEVELS)
    return np.column_stack([levels[some], covered[some]])


def class_sets(P: Floats, levels: Floats, coverage: float, allow_empty: bool) -> Bools:
    """Sets of classes that hold the true one with a probability.

    Parameters
    ----------
    P : ndarray of shape (n, c)
    levels : ndarray of shape (m, 2)
        Of ``coverage_levels``.
    coverage : float
    allow_empty : bool
        Whether the likeliest class may be left out; else it is always in.

    Returns
    -------
    ndarray of bool, shape (n, c)
        All classes are in where nothing can vouch for less.
    """
    enough = np.flatnonzero(levels[:, 1] >= coverage)
    level = levels[enough[0], 0] if enough.size else 0.0
    return np.asarray((level <= P) | (not allow_empty and P.max(axis=1, keepdims=True) <= P))
