"""Sets of classes that hold the true one as often as asked, by held-out labels and what is known of their noise."""

from __future__ import annotations

import numpy as np

from siis._types import Bools, Floats

MOST_LEVELS = 2000


def coverage_levels(P: Floats, truth: Floats, weights: Floats) -> Floats:
    """How often the true class has at least a probability, from held-out labels.

    With p_ik the probability of class k of example i while its label was held out, and t_ik the probability that k is
    its true class given that label (C6), sum_ik w_i t_ik [p_ik >= level] / sum_i w_i is the coverage of the sets
    {k : p_ik >= level}; one more label counts as missed, as in split conformal prediction.                  (C13)

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
    order = np.argsort(-P, axis=None, kind="stable")
    total = float(weights.sum())
    covered = np.cumsum((weights[:, None] * truth).ravel()[order]) / (total + float(weights.max()))
    levels = P.ravel()[order]
    last = np.append(levels[1:] < levels[:-1], True)  # equal probabilities enter together
    levels, covered = levels[last], covered[last]
    some = np.unique(np.linspace(0, levels.size - 1, MOST_LEVELS).astype(np.int64))
    return np.column_stack([levels[some], covered[some]])


def class_sets(P: Floats, levels: Floats, coverage: float) -> Bools:
    """Sets of classes that hold the true one with a probability.

    Parameters
    ----------
    P : ndarray of shape (n, c)
    levels : ndarray of shape (m, 2)
        Of ``coverage_levels``.
    coverage : float

    Returns
    -------
    ndarray of bool, shape (n, c)
        The likeliest class is always in; all classes are where held-out labels cannot vouch for less.
    """
    enough = np.flatnonzero(levels[:, 1] >= coverage)
    level = levels[enough[0], 0] if enough.size else 0.0
    return np.asarray((level <= P) | (P.max(axis=1, keepdims=True) <= P))
