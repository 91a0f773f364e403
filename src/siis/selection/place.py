"""Points in a space, the scores beside them, and the graphs that are tried on them."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, TypeAlias

import numpy as np

from siis._types import Features, Floats, Sparse
from siis.evidence import Space, choose_kernel, kernel_scores, smooth_labels
from siis.evidence.kernel import Kernel
from siis.graph import Neighbors, candidates, gaussian_weights, join, median_bandwidth, without_self
from siis.labels import Supervision
from siis.selection.candidate import Candidate

GraphOf: TypeAlias = Callable[[Supervision], tuple[Sparse, Floats | None]]

GRAPHS = ((5, "mutual"), (10, "mutual"), (20, "mutual"), (50, "mutual"), (10, "union"), (20, "union"))
UNION_ONLY = (5, 10, 20, 50)
UNIT_NEIGHBOR = 10  # points are scaled by the median distance to this neighbour
WORTH_THREADS = 1000  # vertices, below which threads cost more than they save


@dataclass(frozen=True)
class Wishes:
    """What the user has fixed; "auto" leaves it open.

    Attributes
    ----------
    n_neighbors : int or "auto"
    graph : {"auto", "union", "mutual"}
    metric : {"auto", "euclidean", "cosine"}
    bandwidth : float or "median"
    n_components : int or "auto"
    alpha, beta : float or "auto"
    laplacian : {"auto", "normalized", "unnormalized"}
    neighbors : str or object
        How neighbours of the final graph are sought.
    """

    n_neighbors: int | str = "auto"
    graph: str = "auto"
    metric: str = "auto"
    bandwidth: float | str = "median"
    n_components: int | str = "auto"
    alpha: float | str = "auto"
    beta: float | str = "auto"
    laplacian: str = "auto"
    neighbors: Any = "auto"

    @property
    def family(self) -> str:
        """The spaces to try: a bandwidth in numbers is one in the units of X."""
        return "euclidean" if self.metric == "auto" and self.bandwidth != "median" else self.metric

    def graphs(self, n_vertices: int) -> list[tuple[int, str]]:
        """The graphs to try: (n_neighbors, kind), without repetition."""
        kinds = ("mutual", "union") if self.graph == "auto" else (self.graph,)
        if self.n_neighbors == "auto":
            wanted = [(K, kind) for K, kind in GRAPHS if kind in kinds]
            if self.graph == "union":
                wanted = [(K, "union") for K in UNION_ONLY]
        else:
            wanted = [(int(self.n_neighbors), kind) for kind in kinds]
        return list(dict.fromkeys((min(K, n_vertices - 1), kind) for K, kind in wanted))


@dataclass(frozen=True, eq=False)
class Place:
    """Points in a space, with what all folds share."""

    space: Space
    points: Floats
    unit: float
    kernel: Kernel

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


def unit_distance(points: Floats) -> float:
    """The median distance to the tenth neighbour, the unit in which scores are weighed against points."""
    if len(points) == 1:
        return 1.0
    found = nearest(points, min(UNIT_NEIGHBOR, len(points) - 1)).distances[:, -1]
    return float(np.median(found[found > 0])) if (found > 0).any() else 1.0


def graph_weights(
    points: Floats | Neighbors, n_neighbors: int, kind: str, bandwidth: float | str = "median"
) -> Sparse:
    """Weights of a neighbourhood graph, unchecked and fast: for graphs that are tried and thrown away."""
    found = points if isinstance(points, Neighbors) else nearest(points, n_neighbors)
    found = Neighbors(found.indices[:, :n_neighbors], found.distances[:, :n_neighbors])
    width = median_bandwidth(found) if bandwidth == "median" else float(bandwidth)
    return join(found, gaussian_weights(found, width), kind)


def nearest(points: Floats, n_neighbors: int) -> Neighbors:
    """Nearest other points, in single precision."""
    centered = points - points.mean(axis=0)
    largest = float(np.abs(centered).max()) or 1.0  # any units of X fit into single precision
    compact = np.ascontiguousarray(centered / largest, dtype=np.float32)
    indices, scores = candidates(compact, compact, min(n_neighbors + 1, len(points)))
    own = np.einsum("ij,ij->i", compact, compact)[:, None]
    indices, squares = without_self(indices, np.maximum(scores + own, 0).astype(np.float64))
    return Neighbors(indices, largest * np.sqrt(squares))


def settle(space: Space, X: Features, given: Supervision) -> Place:
    """Map examples to a space, measure its unit and choose a kernel in it."""
    points = space(X)
    return Place(space, points, unit_distance(points), choose_kernel(points, given))


def fold_graphs(place: Place, chosen: Candidate, wishes: Wishes) -> GraphOf:
    """Prepare to build a candidate's graph from some of the labels: its weights, and the scores.

    Without scores among the coordinates all labels have one graph.
    """
    shared = None
    if chosen.score_weight == 0:
        shared = graph_weights(place.points, chosen.n_neighbors, chosen.graph, wishes.bandwidth)

    def build(train: Supervision) -> tuple[Sparse, Floats]:
        scores, _ = kernel_scores(place.points, train, place.kernel)
        if shared is not None:
            return shared, scores
        points = place.joined(scores, chosen.score_weight)
        return graph_weights(points, chosen.n_neighbors, chosen.graph, wishes.bandwidth), scores

    return build


def smoothed(
    W: Sparse, given: Supervision, fidelity: float, pull: float, scores: Floats | None, tol: float = 1e-3
) -> Floats:
    """Evidence, (C3): the labels' frequencies plus the smoothed labels, drawn to the scores' own excess over them.

    Parameters
    ----------
    W : csr_array of shape (n, n)
    given : Supervision
    fidelity, pull : float
        Weights of the labels and of the scores.
    scores : ndarray of shape (n, c), or None
    tol : float

    Returns
    -------
    ndarray of shape (n, c)
    """
    excess = None if scores is None else scores - given.prior
    return given.prior + smooth_labels(W, given, fidelity, pull, excess, tol)
