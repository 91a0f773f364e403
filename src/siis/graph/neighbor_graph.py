"""Examples -> vertices of a graph."""

from __future__ import annotations

import warnings
from dataclasses import dataclass
from typing import Any

import numpy as np

from siis._types import Bools, Features, Ints
from siis.engine import NUMPY, Engine
from siis.graph.distinct import distinct_rows
from siis.graph.graph import Graph, join
from siis.graph.neighbors import Neighbors, neighbors_within, prepare
from siis.graph.order import local_order
from siis.graph.weights import gaussian_weights, median_bandwidth
from siis.progress import Report, no_progress

RENUMBER_FROM = 20_000  # vertices: what is known of fewer fits into a core's own cache


@dataclass(frozen=True, eq=False)
class NeighborGraph:
    """Examples as vertices of a graph.

    Attributes
    ----------
    graph : Graph
    vertex : ndarray of shape (n,)
        The vertex of each example; -1 where it has none.
    points : array or csr_array of shape (n_vertices, d), or None for a ready-made graph
        The vertices, in the space where the metric is the Euclidean distance.
    bandwidth : float
    search : str
        How neighbours were found: "exact", the name of a library, or "ready-made".
    recall : float
        The share of nearest neighbours that was found, measured on a sample; NaN for a ready-made graph.
    order : ndarray of shape (n_vertices,), or None
        Where the vertices were renumbered, the former number of each.
    """

    graph: Graph
    vertex: Ints
    points: Features | None
    bandwidth: float
    search: str = "exact"
    recall: float = 1.0
    order: Ints | None = None


def build_neighbor_graph(
    X: Features,
    n_neighbors: int = 10,
    bandwidth: float | str = "median",
    metric: str = "euclidean",
    kind: str = "union",
    absent: Bools | None = None,
    search: Any = "exact",
    seed: int = 0,
    report: Report = no_progress,
    engine: Engine = NUMPY,
) -> NeighborGraph:
    """Merge equal examples and join each to its nearest neighbours.

    Parameters
    ----------
    X : array or csr_array of shape (n, d)
    n_neighbors : int
        K; at most one less than the number of distinct examples counts.
    bandwidth : float or "median"
    metric : {"euclidean", "cosine"}
    kind : {"union", "mutual"}
    absent : ndarray of bool, shape (n,), optional
        Examples that stay off the graph.
    search, seed, report, engine
        As in ``neighbors_within``.

    Returns
    -------
    NeighborGraph
    """
    n = X.shape[0]
    present = np.ones(n, dtype=bool) if absent is None else ~absent
    prepared = prepare(X, metric)
    distinct = distinct_rows(prepared[present])
    vertex = np.full(n, -1, dtype=np.int64)
    vertex[present] = distinct.vertex
    points = distinct.X
    engine.track_rows(prepared, np.flatnonzero(present)[distinct.rows], points)
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
        return NeighborGraph(Graph(np.zeros((1, 1))), vertex, points, 1.0)
    neighbors = neighbors_within(points, k, search, seed, report, engine)
    if (neighbors.distances == 0).any():
        raise ValueError(
            "distances between different examples underflow to 0; rescale X (for instance to unit variance)"
        )
    width = median_bandwidth(neighbors) if bandwidth == "median" else float(bandwidth)
    return from_neighbors(neighbors, width, kind, vertex, points, engine)


def ready_made(graph: Graph) -> NeighborGraph:
    """Examples on a graph of the user's."""
    return NeighborGraph(graph, np.arange(graph.n_vertices), None, float("nan"), "ready-made", float("nan"))


def from_neighbors(
    neighbors: Neighbors,
    bandwidth: float,
    kind: str,
    vertex: Ints,
    points: Features,
    engine: Engine = NUMPY,
    least: float = 0.0,
) -> NeighborGraph:
    """Join points to their neighbours; vertices of large graphs are renumbered, neighbours side by side.

    vertex: (n,), of each example; points: (n_vertices, d); ``least`` as in ``gaussian_weights``.
    """
    W = join(neighbors, gaussian_weights(neighbors, bandwidth, least), kind, engine)
    if W.shape[0] <= RENUMBER_FROM or not engine.is_host:
        return NeighborGraph(Graph.symmetric(W), vertex, points, bandwidth, neighbors.method, neighbors.recall)
    order = local_order(W)
    number = np.empty_like(order)
    number[order] = np.arange(order.size)
    vertex = np.where(vertex >= 0, number[vertex], -1)
    graph = Graph.symmetric(W[order][:, order])
    return NeighborGraph(graph, vertex, points[order], bandwidth, neighbors.method, neighbors.recall, order)
