"""Scores as further coordinates, and smoothing of several sets of labels over a graph."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from siis._types import Floats, Sparse
from siis.engine import NUMPY, Engine
from siis.engine.types import Array
from siis.evidence import smooth_folds
from siis.labels import VertexLabels


def join_scores(points: Floats, scores: Floats | None, weight: float, deviation: float | None = None) -> Floats:
    """Append scores to points: [z, weight s / deviation].

    Parameters
    ----------
    points : ndarray of shape (n, k)
    scores : ndarray of shape (n, c), or None
    weight : float
        0 leaves the scores out.
    deviation : float, optional
        The root of the scores' total variance; measured if left out.

    Returns
    -------
    ndarray of shape (n, k) or (n, k + c)
    """
    if scores is None or weight == 0:
        return points
    return np.hstack([points, weight / (deviation or total_deviation(scores)) * scores])


def total_deviation(scores: Floats) -> float:
    """Root of the sum of the columns' variances (1 where they are constant)."""
    return float(np.sqrt(scores.var(axis=0).sum())) or 1.0


def smooth_all(
    W: Sparse,
    given: Sequence[VertexLabels],
    fidelity: float,
    pulls: Sequence[float],
    scores: Sequence[Floats | None],
    tol: float = 1e-3,
    engine: Engine = NUMPY,
    subspace: Array | None = None,
) -> list[Floats]:
    """Smooth the labels less their frequencies, several sets on one graph, each with a pull towards scores.

    Parameters
    ----------
    W : csr_array of shape (n, n)
    given : sequence of k VertexLabels
    fidelity : float
    pulls : sequence of k floats
    scores : sequence of k ndarrays of shape (n, c), or of None
    tol : float
    engine : Engine
    subspace : Array of shape (n, m), optional

    Returns
    -------
    list of k ndarrays of shape (n, c)
    """
    excess = [
        np.subtract(s, labels.prior, dtype=s.dtype) for s, labels in zip(scores, given, strict=True) if s is not None
    ]
    return smooth_folds(W, given, fidelity, pulls, excess or None, tol, engine=engine, subspace=subspace)
