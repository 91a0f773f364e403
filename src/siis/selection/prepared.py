"""Examples in a space, with its unit and kernel; the graphs that are tried on them, and smoothing over these."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TypeAlias

import numpy as np

from siis._types import Features, Floats, Sparse
from siis.engine import NUMPY, Engine
from siis.engine.types import Array
from siis.evidence import FoldScores, Space, choose_kernel, smooth_folds
from siis.evidence.kernel import Kernel
from siis.graph import Neighbors
from siis.graph.rough import graph_weights, nearest
from siis.labels import Supervision
from siis.selection.candidate import Candidate
from siis.selection.constraints import Constraints

GraphsOf: TypeAlias = Callable[[Supervision], tuple[list[Sparse], Floats | None]]

UNIT_NEIGHBOR = 10


@dataclass(frozen=True, eq=False)
class PreparedSpace:
    """Points in a space, with what all folds share.

    Attributes
    ----------
    space : Space
    points : ndarray of shape (n, k)
    near : Neighbors
        As many of each point as the largest graph takes.
    unit : float
        The median distance to the tenth neighbour, in which scores are weighed against points.
    kernel : Kernel
    scores : callable
        What the kernel model says of all points by some of the labels.
    engine : Engine
        On which neighbours are sought, and labels smoothed.
    """

    space: Space
    points: Floats
    near: Neighbors
    unit: float
    kernel: Kernel
    scores: FoldScores
    engine: Engine = NUMPY

    def joined(self, scores: Floats | None, weight: float) -> Floats:
        """Points, with weighted scores over their total deviation, times the unit, as further coordinates."""
        return join_scores(self.points, scores, weight * self.unit)


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


def unit_distance(near: Neighbors) -> float:
    """The median distance to the tenth neighbour; 1 where there is none."""
    if not near.distances.shape[1]:
        return 1.0
    found = near.distances[:, min(UNIT_NEIGHBOR, near.distances.shape[1]) - 1]
    return float(np.median(found[found > 0])) if (found > 0).any() else 1.0


def prepare_space(
    space: Space, X: Features, given: Supervision, n_neighbors: int, engine: Engine = NUMPY
) -> PreparedSpace:
    """Map examples to a space, find neighbours there, measure its unit and choose a kernel in it.

    Parameters
    ----------
    space : Space
    X : array or csr_array of shape (n, d)
    given : Supervision
    n_neighbors : int
        Of the largest graph.
    engine : Engine
        On which neighbours are sought, and labels smoothed.

    Returns
    -------
    PreparedSpace
    """
    points = space(X)
    near = nearest(points, min(max(n_neighbors, UNIT_NEIGHBOR), len(points) - 1), engine)
    kernel = choose_kernel(points, given.merged())
    scores = FoldScores(points, given, kernel)
    return PreparedSpace(space, points, near, unit_distance(near), kernel, scores, engine)


def fold_graphs(prepared: PreparedSpace, heard: Sequence[Candidate], constraints: Constraints) -> GraphsOf:
    """Prepare to build candidates' graphs from some of the labels: their weights, and the scores.

    Without scores among the coordinates all labels have one graph. Graphs of one score weight share neighbours.
    """
    most = max(candidate.n_neighbors for candidate in heard)
    shared = {
        c: graph_weights(prepared.near, c.n_neighbors, c.graph, constraints.bandwidth)
        for c in heard
        if c.score_weight == 0
    }

    def build(train: Supervision) -> tuple[list[Sparse], Floats]:
        scores = prepared.scores(train)
        near = {
            weight: nearest(prepared.joined(scores, weight), most, prepared.engine)
            for weight in {c.score_weight for c in heard} - {0.0}
        }
        graphs = [
            shared[c]
            if c in shared
            else graph_weights(near[c.score_weight], c.n_neighbors, c.graph, constraints.bandwidth)
            for c in heard
        ]
        return graphs, scores

    return build


def smoothed(
    W: Sparse,
    given: Supervision,
    fidelity: float,
    pull: float,
    scores: Floats | None,
    tol: float = 1e-3,
    engine: Engine = NUMPY,
    subspace: Array | None = None,
) -> Floats:
    """Evidence: the labels less their frequencies, smoothed, with a pull towards the scores' own excess.

    Parameters
    ----------
    W : csr_array of shape (n, n)
    given : Supervision
    fidelity, pull : float
    scores : ndarray of shape (n, c), or None
    tol : float
    engine : Engine
    subspace : Array of shape (n, m), optional
        Smooth functions, which spare iterations.

    Returns
    -------
    ndarray of shape (n, c)
    """
    return smooth_all(W, [given], fidelity, (pull,), [scores], tol, engine, subspace)[0]


def smooth_all(
    W: Sparse,
    given: Sequence[Supervision],
    fidelity: float,
    pulls: Sequence[float],
    scores: Sequence[Floats | None],
    tol: float = 1e-3,
    engine: Engine = NUMPY,
    subspace: Array | None = None,
) -> list[Floats]:
    """Evidence of several sets of labels on one graph, each as ``smoothed`` would give it.

    Parameters
    ----------
    W : csr_array of shape (n, n)
    given : sequence of k Supervision
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
