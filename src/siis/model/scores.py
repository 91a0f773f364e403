"""Class scores: on one scale, as probabilities, and in the paper's coding of two classes."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from siis._types import Floats, Ints
from siis.engine import NUMPY, Engine
from siis.engine.threads import in_threads

SHARPNESS = 2.0  # of the distributions that enter the program, in standard deviations
FLAT = 1e-6  # deviation of a column without information, over the largest one
BLOCK = 2**18  # numbers in one piece of work


def softmax(Z: Floats, sharpness: float = SHARPNESS) -> Floats:
    """Rows exp(sharpness z) over their sum, shape (n, c); faster than SciPy's, and in the precision of Z."""
    P = np.multiply(Z, sharpness, dtype=Z.dtype)
    P -= P.max(axis=1, keepdims=True, initial=-np.inf)
    np.exp(P, out=P)
    P /= P.sum(axis=1, keepdims=True)
    return P


def mean_softmax(
    Z: Floats, sharpness: Sequence[float], weights: Sequence[float], offsets: Sequence[Floats | None]
) -> Floats:
    """sum_m weight_m softmax(sharpness_m z + offset_m), rows over their sum, shape (n, c), in threads.  (D3)"""
    P, ones = np.zeros_like(Z), np.ones(Z.shape[1], Z.dtype)

    def piece(rows: slice) -> None:
        below = Z[rows] - Z[rows].max(axis=1, keepdims=True, initial=-np.inf)
        for a, weight, offset in zip(sharpness, weights, offsets, strict=True):
            E = exponentials(below, a, offset)
            E *= (weight / (E @ ones))[:, None]
            P[rows] += E
        P[rows] /= (P[rows] @ ones)[:, None]

    step = max(1, BLOCK // Z.shape[1])
    pieces = [slice(a, a + step) for a in range(0, len(P), step)]
    if len(pieces) > 1:
        in_threads(piece, pieces)
    elif pieces:
        piece(pieces[0])
    return P


def exponentials(below: Floats, sharpness: float, offset: Floats | None) -> Floats:
    """exp(sharpness z + offset) up to a factor, shape (n, c), of scores less the largest of their row."""
    E = below * below.dtype.type(sharpness)
    if offset is not None:
        E += offset - offset.max()
    return np.exp(E, out=E)


def standardize(F: Floats, rows: Ints | None = None, engine: Engine = NUMPY) -> Floats:
    """Columns less their mean, over their deviation, (C4); of some rows by the scale of all: (n, c) or (h, c).

    Wrong labels and smoothing shrink a column towards its mean, and some columns more than others; this undoes it
    where classes are of like size. A constant column gets the least score. ``engine``: NumPy's, or of shards, where F
    holds the rows of one.
    """
    mean, deviation = engine.mean(F), engine.deviation(F)
    flat = deviation <= FLAT * deviation.max(initial=0.0)
    scale = np.where(flat, 1.0, deviation)
    Z: Floats = (F if rows is None else F[rows]) - mean
    Z /= scale  # (C4)
    if flat.any():
        Z[:, flat] = np.min((engine.xp.min(F, axis=0) - mean) / scale, initial=0.0)
    return Z


def centred(Z: Floats) -> Floats:
    """Scores less the mean of their row."""
    return np.asarray(Z - Z.mean(axis=1, keepdims=True))


def as_scores(P: Floats) -> Floats:
    """Scores whose ``softmax`` is P, but for a number that is the same in a row."""
    scores = np.log(np.maximum(P, np.finfo(P.dtype).tiny))  # what was rounded to 0 has a logarithm, too
    scores /= SHARPNESS
    return np.asarray(scores)


def as_distributions(F: Floats, n_classes: int) -> Floats:
    """Undo the paper's coding: one column f becomes ((1 - f) / 2, (1 + f) / 2)."""
    return np.hstack([1 - F, 1 + F]) / 2 if n_classes == 2 else F
