"""What the labels say at every vertex of the chosen graph."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import scipy.sparse as sp

from siis._types import Features, Floats, Ints, Sparse
from siis.engine import NUMPY, Engine
from siis.engine.types import Array
from siis.estimators.vertices import Vertices
from siis.evidence import KernelScores, kernel_scores, read, softmax
from siis.graph import (
    Embedded,
    Graph,
    fingerprints,
    median_bandwidth,
    neighbors_between,
    neighbors_within,
    placed,
    ready_made,
)
from siis.graph.rough import graph_weights, nearest
from siis.labels import Supervision
from siis.progress import Progress
from siis.selection import (
    Constraints,
    Selection,
    cross_readings,
    is_searched_in_part,
    join_scores,
    smoothed,
    total_deviation,
)

SAME = 1e-5  # of the distance between neighbours: examples closer than this are the same one, rounded
FINE, ENOUGH = 1e-4, 1e-3  # residuals of the evidence; the second where the search sees some examples or classes only


@dataclass(frozen=True, eq=False)
class Located:
    """Examples on the chosen graph.

    Attributes
    ----------
    placed : Embedded
    pairs, given : Supervision
        As in Vertices, by the graph's own numbers of the vertices.
    labels : Supervision
        One label for each labelled example, by these numbers.
    scores : ndarray of shape (n_vertices, c), or None
        Of the kernel model; None on a ready-made graph.
    model : KernelScores or None
    marks : ndarray of shape (n_vertices,)
        Fingerprint of the example at each vertex; empty on a ready-made graph.
    X : array or csr_array of shape (n_vertices, d), or None
        The example at each vertex; None on a ready-made graph.
    beside : list of csr_array of shape (n_vertices, n_vertices)
        Weights of the other graphs that are heard, ``Selection.beside``.
    """

    placed: Embedded
    pairs: Supervision
    given: Supervision
    labels: Supervision
    scores: Floats | None
    model: KernelScores | None
    marks: Ints
    X: Features | None
    beside: list[Sparse]


@dataclass(frozen=True, eq=False)
class Evidence:
    """What the labels say at every vertex of the chosen graph.

    Attributes
    ----------
    placed : Embedded
    pairs : Supervision
        The distinct (vertex, label) pairs that were given.
    given : Supervision
        One label for each labelled vertex: the mean of its pairs.
    selection : Selection
    distributions : ndarray of shape (n_vertices, c)
    rows : ndarray of shape (h,)
        Labelled examples whose labels were held out in turn, by their place among the labelled ones.
    readings : ndarray of shape (l, c)
        What was read there.
    model : KernelScores or None
    deviation : float
        Root of the total variance of the scores.
    marks : ndarray of shape (n_vertices,)
        Fingerprint of the example at each vertex.
    is_sparse : bool
        Whether the examples came as a sparse matrix.
    """

    placed: Embedded
    pairs: Supervision
    given: Supervision
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
    points: Floats | None,
    constraints: Constraints,
    seed: int,
    progress: Progress,
    engine: Engine = NUMPY,
) -> Located:
    """Build the chosen graph on all examples.

    Parameters
    ----------
    vertices : Vertices
    selection : Selection
    points : ndarray of shape (n_vertices, k), or None
        The examples in the chosen space, where the search has computed them.
    constraints : Constraints
    seed : int
    progress : Progress
    engine : Engine

    Returns
    -------
    Located
    """
    pairs, given, labels, chosen = vertices.pairs, vertices.given, vertices.labels, selection.chosen
    if vertices.graph is not None:
        return Located(
            ready_made(vertices.graph), pairs, given, labels, None, None, np.zeros(0, dtype=np.int64), None, []
        )
    assert selection.space is not None
    assert selection.kernel is not None
    with progress.stage("graph") as report:
        Z = selection.space(vertices.X) if points is None else points
        scores, model = kernel_scores(Z, given, selection.kernel, engine)
        X, marks = vertices.X, fingerprints(vertices.X)
        joined = join_scores(Z, scores, chosen.score_weight * selection.unit)
        if len(joined) == 1:
            return Located(
                Embedded(Graph(np.zeros((1, 1))), vertices.vertex, joined, 1.0),
                pairs,
                given,
                labels,
                scores,
                model,
                marks,
                vertices.X,
                [],
            )
        near = neighbors_within(joined, chosen.n_neighbors, constraints.neighbors, seed, report, engine)
        width = median_bandwidth(near) if constraints.bandwidth == "median" else float(constraints.bandwidth)
        graph = placed(near, width, chosen.graph, vertices.vertex, joined, engine)
        beside = _beside(Z, scores, selection, constraints, engine)
    if graph.order is not None:  # vertices have new numbers
        number = np.argsort(graph.order)
        pairs, labels = pairs.moved(number), labels.moved(number)
        scores, marks, X = scores[graph.order], marks[graph.order], X[graph.order]
        given = pairs.merged()
        beside = [W[graph.order][:, graph.order] for W in beside]
    return Located(graph, pairs, given, labels, scores, model, marks, X, beside)


def gather_evidence(
    located: Located,
    selection: Selection,
    seed: int,
    progress: Progress,
    is_sparse: bool,
    subspace: Array | None,
    engine: Engine = NUMPY,
) -> Evidence:
    """Smooth the labels over the graph (C3), and read them (C4).

    Parameters
    ----------
    located : Located
    selection : Selection
    seed : int
    progress : Progress
    is_sparse : bool
        Whether the examples came as a sparse matrix.
    subspace : Array of shape (n_vertices, m), or None
        Smooth functions, of the final basis, which spare iterations.
    engine : Engine

    Returns
    -------
    Evidence
    """
    graphs, heard = (located.placed.graph.weights, *located.beside), (selection.chosen, *selection.beside)
    n = located.placed.graph.n_vertices
    rows, readings = selection.rows, selection.readings
    with progress.stage("evidence"):
        said = spoken_evidence(located, selection, subspace, engine)
        if (
            is_searched_in_part(n, located.given.n_classes) and rows.size
        ):  # the search has seen some of the labels only
            rows, readings = cross_readings(graphs, located.labels, heard, located.scores, seed, engine, subspace)
    return Evidence(
        located.placed,
        located.pairs,
        located.given,
        selection,
        softmax(said),
        rows,
        readings,
        located.model,
        1.0 if located.scores is None else total_deviation(located.scores),
        located.marks,
        is_sparse,
    )


def spoken_evidence(located: Located, selection: Selection, subspace: Array | None, engine: Engine = NUMPY) -> Floats:
    """Smooth the labels over the graphs that are heard (C3), and take the mean of what is read there (C4).

    Parameters
    ----------
    located : Located
    selection : Selection
    subspace : Array of shape (n_vertices, m), or None
    engine : Engine

    Returns
    -------
    ndarray of shape (n_vertices, c)
    """
    heard = (selection.chosen, *selection.beside)
    graphs = (located.placed.graph.weights, *located.beside)
    tol = ENOUGH if is_searched_in_part(located.placed.graph.n_vertices, located.given.n_classes) else FINE
    said = [
        read(smoothed(W, located.given, c.fidelity, c.pull, located.scores, tol, engine, subspace), c.reading)
        for c, W in zip(heard, graphs, strict=True)
    ]
    return said[0] if len(said) == 1 else np.asarray(np.mean(said, axis=0))


def relocate(evidence: Evidence, vertices: Vertices, constraints: Constraints, engine: Engine = NUMPY) -> Located:
    """Put other labels on the graph of a former fit to the same examples.

    Parameters
    ----------
    evidence : Evidence
        Of that fit.
    vertices : Vertices
    constraints : Constraints
    engine : Engine

    Returns
    -------
    Located
    """
    placed, selection = evidence.placed, evidence.selection
    pairs, given, labels = vertices.pairs, vertices.given, vertices.labels
    if vertices.graph is not None:
        return Located(placed, pairs, given, labels, None, None, evidence.marks, None, [])
    assert selection.space is not None
    assert selection.kernel is not None
    X = vertices.X
    if placed.order is not None:
        number = np.argsort(placed.order)
        pairs, labels, X = pairs.moved(number), labels.moved(number), X[placed.order]
        given = pairs.merged()
    Z = selection.space(X)
    scores, _ = kernel_scores(Z, given, selection.kernel, engine)
    beside = _beside(Z, scores, selection, constraints, engine)
    return Located(placed, pairs, given, labels, scores, evidence.model, evidence.marks, X, beside)


def _beside(
    Z: Floats, scores: Floats, selection: Selection, constraints: Constraints, engine: Engine
) -> list[Sparse]:
    """Weights of the other graphs that are heard; those of one score weight share neighbours."""
    most = max((c.n_neighbors for c in selection.beside), default=0)
    near = {
        weight: nearest(join_scores(Z, scores, weight * selection.unit), most, engine)
        for weight in {c.score_weight for c in selection.beside}
    }
    return [
        graph_weights(near[c.score_weight], c.n_neighbors, c.graph, constraints.bandwidth) for c in selection.beside
    ]
