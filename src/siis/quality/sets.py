"""Sets of classes that hold the true one at a given rate, by calibrated probabilities or by held-out labels."""

from __future__ import annotations

from numbers import Real

import numpy as np

from siis._types import Bools, Floats, Ints
from siis.engine.rows import evenly

MOST_LEVELS = 2000
MOST_NUMBERS, LEAST_ROWS = 500_000, 1000  # probabilities that are sorted, and rows that are taken in any case


def enough_rows(n: int, c: int) -> Ints:
    """Those of n rows, evenly spread, that are looked at where there are many numbers."""
    return evenly(n, max(LEAST_ROWS, MOST_NUMBERS // c))


def coverage_levels(P: Floats, truth: Floats, weights: Floats) -> Floats:
    """Falling levels and the coverage of each, (m, 2), by the split-conformal rule (C13); P, truth: (l, c).

    With p_ik the probability of class k of example i, and t_ik what is known of its true class, the coverage of the
    sets {k : p_ik >= level} is sum_ik w_i t_ik [p_ik >= level] / sum_i w_i; one more example counts as missed. For
    unlabelled examples t = p; for held-out labels it is the posterior given the label, (C6).
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


def check_coverage(coverage: object) -> None:
    """Refuse a coverage that is no number between 0 and 1."""
    if not (isinstance(coverage, Real) and 0 < float(coverage) < 1):
        raise ValueError(f"coverage must be a number between 0 and 1; found {coverage!r}")


def class_sets(P: Floats, levels: Floats, coverage: float, allow_empty: bool) -> Bools:
    """Sets, (n, c), that hold the true class with probability ``coverage``; all classes where no level suffices."""
    enough = np.flatnonzero(levels[:, 1] >= coverage)
    level = levels[enough[0], 0] if enough.size else 0.0
    return np.asarray((level <= P) | (not allow_empty and P.max(axis=1, keepdims=True) <= P))
