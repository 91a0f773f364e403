"""Offsets and scales of scores that give stated mean probabilities and confidence."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from siis._types import Floats
from siis.engine.rows import evenly
from siis.model.scores import softmax

ROUNDS, SMALL = 50, 1e-4
MOST_ROWS = 5000
LEAST = 1e-6  # of a share
WIDEST, HALVINGS = 2.0, 30  # of a factor


def class_offsets(scores: Floats, shares: Floats, sharpness: float) -> Floats:
    """O with mean softmax(sharpness (z + o)) = shares, shape (c,), by some of the rows.  (D7)"""
    rows = evenly(len(scores), MOST_ROWS)
    Z, target = np.asarray(scores[rows], dtype=np.float64), np.maximum(shares, LEAST)
    offsets = np.zeros(target.size)
    for _ in range(ROUNDS):
        mean = softmax(Z + offsets, sharpness).mean(axis=0)
        step = np.log(target / np.maximum(mean, LEAST)) / sharpness
        offsets += step
        if np.abs(step).max() * sharpness < SMALL:
            break
    return np.asarray(offsets - offsets.mean())


def mean_probabilities(scores: Floats, sharpness: float) -> Floats:
    """Mean softmax(sharpness z) of some rows, shape (c,)."""
    rows = evenly(len(scores), MOST_ROWS)
    return np.asarray(softmax(np.asarray(scores[rows], dtype=np.float64), sharpness).mean(axis=0))


def equal_confidence(scores: Floats, other: Floats, link: Callable[[Floats], Floats]) -> float:
    """The factor of scores at which the mean confidence that a link gives them is that of others."""
    rows = evenly(len(scores), MOST_ROWS)
    Z, goal = np.asarray(scores[rows], dtype=np.float64), _confidence(other[rows], link)
    low, high = 0.0, 2 * WIDEST
    for _ in range(HALVINGS):
        middle = (low + high) / 2
        low, high = (middle, high) if _confidence(middle * Z, link) < goal else (low, middle)
    return (low + high) / 2


def _confidence(scores: Floats, link: Callable[[Floats], Floats]) -> float:
    return float(link(np.asarray(scores, dtype=np.float64)).max(axis=1).mean())
