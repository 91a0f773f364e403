"""The neighbours that a finished graph knows, nearest first: no second search."""

from __future__ import annotations

import numpy as np

from siis._types import Features, Floats
from siis.graph.graph import Graph
from siis.graph.neighbors import Neighbors, distances_between, neighbors_between, without_self

BLOCK = 100_000  # edges whose ends are compared at once


def neighbors_on(graph: Graph, points: Features, n_neighbors: int) -> Neighbors:
    """Give the nearest neighbours of each vertex, read off the graph's edges.

    A graph of K neighbours joins each vertex to its K nearest ones at least, whether it is of the kind "union" or
    "mutual". Only vertices with fewer edges, which lie so far off that weights have vanished, are looked up.

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
    for a in range(0, heads.size, BLOCK):
        part = slice(a, a + BLOCK)
        lengths[part] = distances_between(points[heads[part]], points, tails[part, None])[:, 0]
    return lengths
