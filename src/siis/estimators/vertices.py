"""Examples and given labels -> vertices that may hold a label."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from siis._types import Bools, Features, Ints
from siis.graph import Graph, check_range, distinct_rows, graph_of_weights, prepare
from siis.labels import GivenLabels, VertexLabels, gather

MOST_PARTS = 10  # of the copies of an example with one label


@dataclass(frozen=True, eq=False)
class Vertices:
    """Distinct examples, or a ready-made graph, with the labels at their vertices.

    Attributes
    ----------
    X : array or csr_array of shape (n_vertices, d); the weights of a ready-made graph: csr_array
    vertex : ndarray of shape (n,)
        The vertex of each example; -1 where it has none.
    pairs : VertexLabels
        The distinct (vertex, label) pairs that were given.
    given : VertexLabels
        One label for each labelled vertex: the mean of its pairs.
    labels : VertexLabels
        One label for each labelled example, by vertex and label, so that the order of the examples does not matter:
        what can be held out.
    order : ndarray of shape (l,)
        The place among the labelled examples of each of these labels.
    parts : VertexLabels
        The pairs, each cut into at most ten parts of about as many examples: what can be held out while copies stay.
    part : ndarray of shape (l,)
        The part of each of these labels.
    verified : ndarray of bool, one for each part
        Whether somebody has checked it.
    graph : Graph, optional
        The ready-made one, checked.
    """

    X: Features
    vertex: Ints
    pairs: VertexLabels
    given: VertexLabels
    labels: VertexLabels
    order: Ints
    parts: VertexLabels
    part: Ints
    verified: Bools
    graph: Graph | None = None


def merge_examples(X: Features, labels: GivenLabels, metric: str, affinity: str) -> Vertices:
    """Merge equal examples and gather their labels.

    Parameters
    ----------
    X : array or csr_array of shape (n, d), or (n, n) where the affinity is "precomputed"
    labels : GivenLabels
    metric : {"auto", "euclidean", "cosine"}
    affinity : {"nearest_neighbors", "precomputed"}

    Returns
    -------
    Vertices
    """
    vertex, graph = np.arange(X.shape[0]), None
    if affinity == "precomputed":
        graph = graph_of_weights(X)
        X = graph.weights
    else:
        if metric == "cosine":
            prepare(X, "cosine")  # refuses empty rows by their own index
        check_range(X)
        present = ~labels.absent
        distinct = distinct_rows(X[present])
        vertex = np.full(X.shape[0], -1, dtype=np.int64)
        vertex[present], X = distinct.vertex, distinct.X
    at = vertex[labels.used]
    pairs = gather(at, labels.Y, labels.weights, labels.kinds, labels.counts)
    order = np.lexsort((labels.weights, labels.kinds, at))
    each = VertexLabels(at, labels.Y, labels.weights, labels.counts).subset(order)
    parts, part = _cut(each, labels.kinds[order])
    verified = np.zeros(parts.rows.size, dtype=bool)
    verified[part[labels.verified[labels.used][order]]] = True
    return Vertices(X, vertex, pairs, pairs.aggregate(), each, order, parts, part, verified, graph)


def _cut(each: VertexLabels, kinds: Ints) -> tuple[VertexLabels, Ints]:
    """Labels in the order of their pairs, the copies of a pair dealt to at most ten parts; and the part of each."""
    starts = np.ones(kinds.size, dtype=bool)
    starts[1:] = (each.rows[1:] != each.rows[:-1]) | (kinds[1:] != kinds[:-1])
    first = np.flatnonzero(starts)
    rank = np.arange(kinds.size) - np.repeat(first, np.diff(np.append(first, kinds.size)))
    keys = np.cumsum(starts) * MOST_PARTS + rank % MOST_PARTS
    _, index, part = np.unique(keys, return_index=True, return_inverse=True)
    weights = np.bincount(part, each.weights).astype(np.float64)
    counts = np.bincount(part, each.counts).astype(np.float64)
    return VertexLabels(each.rows[index], each.Y[index], weights, counts), np.asarray(part)
