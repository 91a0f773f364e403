"""Examples -> vertices of a graph."""

from __future__ import annotations

import warnings
from dataclasses import dataclass

import numpy as np

from siis._types import Bools, Features, Ints
from siis.graph.distinct import distinct_rows
from siis.graph.graph import Graph
from siis.graph.neighbors import neighbors_within, prepare
from siis.graph.weights import gaussian_weights, median_bandwidth


@dataclass(frozen=True, eq=False)
class Embedded:
    """Examples placed on a graph.

    Attributes
    ----------
    graph : Graph
    vertex : ndarray of shape (n,)
        The vertex of each example; -1 where it has none.
    points : array or csr_array of shape (n_vertices, d), or None for a ready-made graph
        The vertices, in the space where the metric is the Euclidean distance.
    bandwidth : float
    """

    graph: Graph
    vertex: Ints
    points: Features | None
    bandwidth: float


def embed(
    X: Features,
    n_neighbors: int = 10,
    bandwidth: float | str = "median",
    metric: str = "euclidean",
    kind: str = "union",
    absent: Bools | None = None,
) -> Embedded:
    """Merge equal examples and join each to its nearest neighbours.

    Parameters
    ----------
    X : array or csr_array of shape (n, d), or (n, n) where ``metric="precomputed"``
    n_neighbors : int
        K; at most one less than the number of distinct examples counts.
    bandwidth : float or "median"
    metric : {"euclidean", "cosine", "precomputed"}
    kind : {"union", "mutual"}
    absent : ndarray of bool, shape (n,), optional
        Examples that stay off the graph (a ready-made graph keeps all).

    Returns
    -------
    Embedded
    """
    n = X.shape[0]
    if metric == "precomputed":
        return Embedded(Graph(X), np.arange(n), None, float("nan"))
    present = np.ones(n, dtype=bool) if absent is None else ~absent
    distinct = distinct_rows(prepare(X, metric)[present])
    vertex = np.full(n, -1, dtype=np.int64)
    vertex[present] = distinct.vertex
    points = distinct.X
    n_vertices = points.shape[0]
    k = min(n_neighbors, n_vertices - 1)
    if k < n_neighbors:
        warnings.warn(
            f"n_neighbors={n_neighbors} but there are only {n_vertices} distinct examples: "
            "each is joined to all others",
            UserWarning,
            stacklevel=3,
        )
    if k == 0:
        return Embedded(Graph(np.zeros((1, 1))), vertex, points, 1.0)
    neighbors = neighbors_within(points, k)
    if (neighbors.distances == 0).any():
        raise ValueError(
            "distances between different examples underflow to 0; rescale X (for instance to unit variance)"
        )
    width = median_bandwidth(neighbors) if bandwidth == "median" else float(bandwidth)
    return Embedded(Graph.from_neighbors(neighbors, gaussian_weights(neighbors, width), kind), vertex, points, width)
