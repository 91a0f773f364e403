"""Examples -> neighbours -> weights -> graph, in one place; and back from a graph to neighbours."""

from __future__ import annotations

import warnings
from dataclasses import dataclass
from typing import Any

import numpy as np
import scipy.sparse as sp
from scipy.sparse.csgraph import reverse_cuthill_mckee

from siis._types import Bools, Features, Floats, Ints, Sparse
from siis.engine import NUMPY, Engine
from siis.errors import Message
from siis.graph.distinct import distinct_rows
from siis.graph.graph import Graph, join
from siis.graph.neighbors import (
    Neighbors,
    candidate_neighbors,
    distances_between,
    neighbors_between,
    neighbors_within,
    prepare,
    without_self,
)
from siis.graph.weights import LEAST_NEAREST_WEIGHT, gaussian_weights, median_bandwidth
from siis.progress import Report, no_progress

RENUMBER_FROM = 20_000  # vertices: what is known of fewer fits into a core's own cache
GROUP_SIZE, GROUP_ROUNDS = 8192, 15  # vertices that are kept together, whose rows of a block fit into that cache
EDGES_AT_ONCE = 100_000  # whose ends are compared


@dataclass(frozen=True, eq=False)
class NeighborGraph:
    """Examples as vertices of a graph."""

    graph: Graph
    vertex: Ints  # (n,), the vertex of each example; -1 where it has none
    points: Features | None  # (n_vertices, d), where the metric is Euclidean; None for a ready-made graph
    bandwidth: float
    search: str = "exact"  # how neighbours were searched: "exact", the name of a library, or "ready-made"
    recall: float = 1.0  # share of nearest neighbours found, measured on a sample; NaN for a ready-made graph
    order: Ints | None = None  # (n_vertices,), the former numbers of vertices that were renumbered


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
    """Merge equal examples, X: (n, d), and join each to its nearest neighbours.

    At most one less than the number of distinct examples counts as K. Examples that are ``absent``, (n,), are not
    on the graph. ``kind`` is "union" or "mutual"; the other arguments are those of ``neighbors_within``.
    """
    n = X.shape[0]
    present = np.ones(n, dtype=bool) if absent is None else ~absent
    prepared = prepare(X, metric)
    distinct = distinct_rows(prepared[present])
    vertex = np.full(n, -1, dtype=np.int64)
    vertex[present] = distinct.vertex
    points = distinct.X
    if engine.search is not None:
        engine.search.track(prepared, np.flatnonzero(present)[distinct.rows], points)
    n_vertices = points.shape[0]
    k = min(n_neighbors, n_vertices - 1)
    if k < n_neighbors:
        warnings.warn(
            Message(
                "{n_neighbors:{k}} but there are only {n} distinct examples: each is joined to all others",
                k=n_neighbors,
                n=n_vertices,
            ),
            UserWarning,
            stacklevel=3,
        )
    if k == 0:
        return NeighborGraph(Graph(np.zeros((1, 1))), vertex, points, 1.0)
    neighbors = neighbors_within(points, k, search, seed, report, engine)
    if (neighbors.distances == 0).any():
        raise ValueError(
            Message(
                "distances between different examples underflow to 0; rescale {X} (for instance to unit variance)"
            )
        )
    return from_neighbors(neighbors, bandwidth, kind, vertex, points, engine)


def ready_made(graph: Graph) -> NeighborGraph:
    """The user's own graph, one vertex for each example."""
    return NeighborGraph(graph, np.arange(graph.n_vertices), None, float("nan"), "ready-made", float("nan"))


def from_neighbors(
    neighbors: Neighbors,
    bandwidth: float | str,
    kind: str,
    vertex: Ints,
    points: Features,
    engine: Engine = NUMPY,
    least: float = 0.0,
) -> NeighborGraph:
    """Join points to their neighbours; large graphs are renumbered so that neighbours are close in memory.

    vertex: (n,), of each example; points: (n_vertices, d); ``least`` as in ``gaussian_weights``.
    """
    W, width = _edge_weights(neighbors, bandwidth, kind, engine, least)
    if W.shape[0] <= RENUMBER_FROM or not engine.is_host:
        return NeighborGraph(Graph.symmetric(W), vertex, points, width, neighbors.method, neighbors.recall)
    order = local_order(W)
    number = np.empty_like(order)
    number[order] = np.arange(order.size)
    vertex = np.where(vertex >= 0, number[vertex], -1)
    graph = Graph.symmetric(W[order][:, order])
    return NeighborGraph(graph, vertex, points[order], width, neighbors.method, neighbors.recall, order)


def candidate_weights(
    points: Floats | Neighbors, n_neighbors: int, kind: str, bandwidth: float | str = "median"
) -> Sparse:
    """Weights, (n, n), of a candidate graph: neighbours in single precision, without checks."""
    found = points if isinstance(points, Neighbors) else candidate_neighbors(points, n_neighbors)
    found = Neighbors(found.indices[:, :n_neighbors], found.distances[:, :n_neighbors])
    return _edge_weights(found, bandwidth, kind, NUMPY, LEAST_NEAREST_WEIGHT if bandwidth == "median" else 0.0)[0]


def _edge_weights(
    neighbors: Neighbors, bandwidth: float | str, kind: str, engine: Engine, least: float
) -> tuple[Sparse, float]:
    """Symmetric Gaussian weights, (n, n), and the bandwidth in units of the data."""
    width = median_bandwidth(neighbors) if bandwidth == "median" else float(bandwidth)
    return join(neighbors, gaussian_weights(neighbors, width, least), kind, engine), width


def local_order(W: Sparse) -> Ints:
    """Order vertices, (n,), so that most of the neighbours of each are among the next few thousand.

    The first order is reverse Cuthill-McKee. It is cut into groups of a few thousand; round after round, each vertex
    joins the group with which it has most weight.
    """
    n = W.shape[0]
    first = reverse_cuthill_mckee(sp.csr_matrix(W), symmetric_mode=True)
    place = np.empty(n, dtype=np.int64)
    place[first] = np.arange(n)
    group = place // GROUP_SIZE
    own = sp.csr_matrix(W) + sp.identity(n, format="csr") * 1e-9 * float(W.data.max(initial=1.0))
    for _ in range(GROUP_ROUNDS):
        members = sp.csr_matrix((np.ones(n), group, np.arange(n + 1)), shape=(n, group.max() + 1))
        shares = sp.csr_matrix(own @ members)
        most = np.maximum.reduceat(shares.data, shares.indptr[:-1])
        rows = np.repeat(np.arange(n), np.diff(shares.indptr))
        won = shares.data == most[rows]
        group = np.full(n, group.max() + 1)
        np.minimum.at(group, rows[won], shares.indices[won])
    return np.lexsort((place, group))


def knn_from_graph(graph: Graph, points: Features, n_neighbors: int) -> Neighbors:
    """The nearest neighbours of each vertex, by the graph's edges.

    A graph of K neighbours joins each vertex to its K nearest ones at least, whether it is of the kind "union" or
    "mutual". Only vertices with fewer edges, so far from all others that weights vanish, are searched.

    The graph must join each point, (n, d), to ``n_neighbors`` or more. Ties go to the smaller index.
    """
    n, W = graph.n_vertices, graph.weights
    k = min(n_neighbors, n - 1)
    lengths = _edge_lengths(graph, points)[graph.edges.entries]
    heads = np.repeat(np.arange(n), np.diff(W.indptr))
    order = np.lexsort((W.indices, lengths, heads))
    rank = np.arange(order.size) - W.indptr[heads]  # sorting has moved entries within their rows only
    kept = rank < k
    indices, distances = np.full((n, k), -1, dtype=np.int64), np.full((n, k), np.inf)
    indices[heads[kept], rank[kept]] = W.indices[order[kept]]
    distances[heads[kept], rank[kept]] = lengths[order[kept]]
    alone = np.flatnonzero(indices[:, -1] < 0) if k else np.zeros(0, dtype=np.int64)
    if alone.size:
        found = neighbors_between(points[alone], points, k + 1)
        indices[alone], distances[alone] = without_self(found.indices, found.distances, alone)
    return Neighbors(indices, distances)


def _edge_lengths(graph: Graph, points: Features) -> Floats:
    heads, tails = graph.edges.heads, graph.edges.tails.astype(np.int64)
    lengths = np.empty(heads.size)
    for a in range(0, heads.size, EDGES_AT_ONCE):
        part = slice(a, a + EDGES_AT_ONCE)
        lengths[part] = distances_between(points[heads[part]], points, tails[part, None])[:, 0]
    return lengths
