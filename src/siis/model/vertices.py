"""Distinct examples as vertices, with the labels given there."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from siis._types import Bools, Features, Floats, Ints
from siis.graph import Graph, check_range, distinct_rows, graph_of_weights, prepare
from siis.labels import GivenLabels, VertexLabels, gather

MOST_PARTS = 10  # of a group of equal labels
USUAL_QUANTILE = 0.1  # of the weights: counts as one copy


@dataclass(frozen=True, eq=False)
class Vertices:
    """Distinct examples, or a ready-made graph, with the labels at their vertices."""

    X: Features  # (n_vertices, d); of a ready-made graph its weights
    vertex: Ints  # (n,), the vertex of each example; -1 where it has none
    given: VertexLabels  # one label for each labelled vertex
    # Equal labels of equal examples are a group, by weight cut into at most ten parts: a part can be held out while
    # the others stay. A row of weight k is cut as k copies of it are.
    parts: VertexLabels
    group: Ints  # (l,), the group of each labelled example
    group_of_part: Ints  # (p,)
    verified: Bools  # (p,), somebody has checked the part
    graph: Graph | None = None  # the ready-made one, checked

    def by_example(self, values: Floats) -> Floats:
        """Values of the parts, shape (p, k), as means of their groups, for each labelled example, shape (l, k)."""
        n_parts = np.bincount(self.group_of_part)
        first = np.cumsum(n_parts) - n_parts
        means = np.add.reduceat(values, first, axis=0) / n_parts[:, None]
        return np.asarray(means[self.group])


def merge_examples(X: Features, labels: GivenLabels, metric: str, affinity: str) -> Vertices:
    """Merge equal examples and gather their labels; X: (n, d), or (n, n) with affinity "precomputed"."""
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
    given = gather(at, labels.Y, labels.weights, labels.kinds, labels.counts).aggregate()
    parts, group, group_of_part, verified = _cut(at, labels)
    return Vertices(X, vertex, given, parts, group, group_of_part, verified, graph)


def _cut(at: Ints, labels: GivenLabels) -> tuple[VertexLabels, Ints, Ints, Bools]:
    """Equal labels of equal examples as a group, cut into parts by its weight; see ``Vertices``."""
    sure = labels.verified[labels.used]
    keys = np.column_stack([at, labels.kinds, sure])
    _, index, group = np.unique(keys, axis=0, return_index=True, return_inverse=True)
    group = group.ravel()
    weights, counts = np.bincount(group, labels.weights), np.bincount(group, labels.counts)
    usual = max(1.0, float(np.quantile(counts, USUAL_QUANTILE)))
    n_parts = np.clip(np.round(counts / usual), 1, MOST_PARTS).astype(np.int64)
    of = np.repeat(np.arange(index.size), n_parts)
    parts = VertexLabels(at[index[of]], labels.Y[index[of]], (weights / n_parts)[of], (counts / n_parts)[of])
    return parts, group, of, sure[index[of]]
