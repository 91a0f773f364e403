"""Examples and labels on the leading graph of a fit."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import scipy.sparse as sp

from siis._types import Features, Floats, Ints
from siis.engine import NUMPY, Engine
from siis.graph import (
    Graph,
    NeighborGraph,
    fingerprints,
    from_neighbors,
    median_bandwidth,
    neighbors_between,
    neighbors_within,
    ready_made,
)
from siis.graph.weights import LEAST_NEAREST_WEIGHT
from siis.labels import VertexLabels
from siis.model.config import MemberConfig
from siis.model.constraints import Constraints
from siis.model.spaces import Space
from siis.model.vertices import Vertices
from siis.progress import Progress

SAME = 1e-5  # examples closer than this are the same one, rounded


@dataclass(frozen=True, eq=False)
class FittedGraph:
    """The leading graph, and what maps new examples to points of its space."""

    placed: NeighborGraph
    space: Space | None  # None for a ready-made graph
    marks: Ints  # (n_vertices,), fingerprint of the example at each vertex; empty for a ready-made graph
    is_sparse: bool  # whether the examples came as a sparse matrix

    def locate(self, X: Features, engine: Engine = NUMPY) -> Floats:
        """Points of examples, shape (n, k); those of the training set get the points of their own vertices."""
        assert self.space is not None
        assert self.placed.points is not None
        if sp.issparse(X) != self.is_sparse:
            X = X.toarray() if sp.issparse(X) else sp.csr_array(X)
        points = self.space(X)
        order = np.argsort(self.marks)
        marks = fingerprints(X)
        place = order[np.minimum(np.searchsorted(self.marks[order], marks), order.size - 1)]
        known = self.marks[place] == marks
        if not known.all():  # the same example after rounding, in another precision
            near = neighbors_between(points[~known], self.placed.points, 1, engine)
            place[~known] = near.indices[:, 0]
            known[~known] = near.distances[:, 0] <= SAME
        points[known] = self.placed.points[place[known]]
        return points


@dataclass(frozen=True, eq=False)
class Located:
    """A graph with the labels and examples of a fit, by its own numbers of the vertices."""

    fitted: FittedGraph
    given: VertexLabels  # one label for each labelled vertex
    parts: VertexLabels  # as in Vertices
    X: Features | None  # (n_vertices, d), the example at each vertex; None for a ready-made graph

    @property
    def graph(self) -> Graph:
        """The graph itself."""
        return self.fitted.placed.graph

    @property
    def order(self) -> Ints | None:
        """Former numbers of the vertices, where they were renumbered."""
        return self.fitted.placed.order

    @classmethod
    def of(cls, fitted: FittedGraph, vertices: Vertices) -> Located:
        """Labels and examples on a graph of the same examples."""
        order, given, parts = fitted.placed.order, vertices.given, vertices.parts
        if vertices.graph is not None:
            return cls(fitted, given, parts, None)
        if order is None:
            return cls(fitted, given, parts, vertices.X)
        number = np.argsort(order)
        return cls(fitted, given.relabel(number).aggregate(), parts.relabel(number), vertices.X[order])


def build_graph(
    vertices: Vertices,
    leading: MemberConfig,
    space: Space | None,
    constraints: Constraints,
    seed: int,
    progress: Progress,
    engine: Engine = NUMPY,
) -> FittedGraph:
    """The leading graph on all examples."""
    is_sparse = sp.issparse(vertices.X)
    if vertices.graph is not None:
        return FittedGraph(ready_made(vertices.graph), None, np.zeros(0, dtype=np.int64), is_sparse)
    assert space is not None
    with progress.stage("graph") as report:
        Z = space(vertices.X)
        marks = fingerprints(vertices.X)
        if len(Z) == 1:
            alone = NeighborGraph(Graph(np.zeros((1, 1))), vertices.vertex, Z, 1.0)
            return FittedGraph(alone, space, marks, is_sparse)
        near = neighbors_within(Z, leading.n_neighbors, constraints.neighbor_search, seed, report, engine)
        is_auto = constraints.bandwidth == "median"
        width = median_bandwidth(near) if is_auto else float(constraints.bandwidth)
        least = LEAST_NEAREST_WEIGHT if is_auto else 0.0
        placed = from_neighbors(near, width, leading.connectivity, vertices.vertex, Z, engine, least)
    return FittedGraph(placed, space, marks if placed.order is None else marks[placed.order], is_sparse)
