"""Examples and their labels on the graph of a fit, and what is kept of the scores of its vertices."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import scipy.sparse as sp

from siis._types import Features, Floats, Ints
from siis.engine import NUMPY, Engine
from siis.estimators.vertices import Vertices
from siis.evidence import KernelScores
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
from siis.progress import Progress
from siis.selection import Constraints, Selection, join_scores

SAME = 1e-5  # of the distance between neighbours: examples closer than this are the same one, rounded


@dataclass(frozen=True, eq=False)
class Located:
    """Examples on the graph of a fit.

    Attributes
    ----------
    placed : NeighborGraph
    pairs, given, parts : VertexLabels
        As in Vertices, by the graph's own numbers of the vertices.
    marks : ndarray of shape (n_vertices,)
        Fingerprint of the example at each vertex; empty on a ready-made graph.
    X : array or csr_array of shape (n_vertices, d), or None
        The example at each vertex; None on a ready-made graph.
    """

    placed: NeighborGraph
    pairs: VertexLabels
    given: VertexLabels
    parts: VertexLabels
    marks: Ints
    X: Features | None


@dataclass(frozen=True, eq=False)
class Evidence:
    """Scores of the vertices of the chosen graph, and of held-out labels.

    Attributes
    ----------
    placed : NeighborGraph
    pairs : VertexLabels
        The distinct (vertex, label) pairs that were given.
    given : VertexLabels
        One label for each labelled vertex: the mean of its pairs.
    selection : Selection
    distributions : ndarray of shape (n_vertices, c)
        The average, as soft labels of the program.
    rows : ndarray of shape (h,)
        Labelled examples whose labels were held out in turn, by their place among the labelled ones.
    readings : ndarray of shape (l, c)
        Scores without their own label.
    model : KernelScores or None
        Of files that siis 0.1 has written: scores that are further coordinates,
    deviation : float
        and the root of their total variance.
    marks : ndarray of shape (n_vertices,)
        Fingerprint of the example at each vertex.
    is_sparse : bool
        Whether the examples came as a sparse matrix.
    """

    placed: NeighborGraph
    pairs: VertexLabels
    given: VertexLabels
    selection: Selection
    distributions: Floats
    rows: Ints
    readings: Floats
    model: KernelScores | None
    deviation: float
    marks: Ints
    is_sparse: bool

    def locate(self, X: Features, engine: Engine = NUMPY) -> Floats:
        """Map examples to points of the graph's space; those of the training set to their own vertices.

        Parameters
        ----------
        X : array or csr_array of shape (n, d)
        engine : Engine
            On which kernel scores are computed, and neighbours sought.

        Returns
        -------
        ndarray of shape (n, k)
        """
        selection = self.selection
        assert selection.space is not None
        assert self.placed.points is not None
        if sp.issparse(X) != self.is_sparse:
            X = X.toarray() if sp.issparse(X) else sp.csr_array(X)
        Z = selection.space(X)
        scores = None if self.model is None else self.model(Z, engine)
        points = join_scores(Z, scores, selection.chosen.score_weight * selection.unit, self.deviation)
        order = np.argsort(self.marks)
        marks = fingerprints(X)
        place = order[np.minimum(np.searchsorted(self.marks[order], marks), order.size - 1)]
        known = self.marks[place] == marks
        if not known.all():  # the same example after rounding, in another precision
            near = neighbors_between(Z[~known], self.placed.points[:, : Z.shape[1]], 1, engine)
            place[~known] = near.indices[:, 0]
            known[~known] = near.distances[:, 0] <= SAME * selection.unit
        points[known] = self.placed.points[place[known]]
        return points


def build_graph(
    vertices: Vertices,
    selection: Selection,
    constraints: Constraints,
    seed: int,
    progress: Progress,
    engine: Engine = NUMPY,
) -> Located:
    """Build the leading graph on all examples."""
    chosen, nothing = selection.chosen, np.zeros(0, dtype=np.int64)
    if vertices.graph is not None:
        graph = ready_made(vertices.graph)
        return Located(graph, vertices.pairs, vertices.given, vertices.parts, nothing, None)
    assert selection.space is not None
    with progress.stage("graph") as report:
        Z = selection.space(vertices.X)
        marks = fingerprints(vertices.X)
        if len(Z) == 1:
            alone = NeighborGraph(Graph(np.zeros((1, 1))), vertices.vertex, Z, 1.0)
            return Located(alone, vertices.pairs, vertices.given, vertices.parts, marks, vertices.X)
        near = neighbors_within(Z, chosen.n_neighbors, constraints.neighbor_search, seed, report, engine)
        is_auto = constraints.bandwidth == "median"
        width = median_bandwidth(near) if is_auto else float(constraints.bandwidth)
        graph = from_neighbors(
            near, width, chosen.connectivity, vertices.vertex, Z, engine, LEAST_NEAREST_WEIGHT if is_auto else 0.0
        )
    return _numbered(graph, vertices, marks if graph.order is None else marks[graph.order])


def relocate(evidence: Evidence, vertices: Vertices) -> Located:
    """Put other labels on the graph of a former fit to the same examples."""
    if vertices.graph is not None:
        return Located(evidence.placed, vertices.pairs, vertices.given, vertices.parts, evidence.marks, None)
    return _numbered(evidence.placed, vertices, evidence.marks)


def _numbered(graph: NeighborGraph, vertices: Vertices, marks: Ints) -> Located:
    """Labels and examples by the numbers that vertices have on the graph."""
    pairs, given, parts, X = vertices.pairs, vertices.given, vertices.parts, vertices.X
    if graph.order is not None:
        number = np.argsort(graph.order)
        pairs, parts = pairs.relabel(number), parts.relabel(number)
        X = X[graph.order]
        given = pairs.aggregate()
    return Located(graph, pairs, given, parts, marks, X)
