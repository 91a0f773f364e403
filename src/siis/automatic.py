"""From examples and labels to evidence on a chosen graph, and from evidence to judged labels."""

from __future__ import annotations

import warnings
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import scipy.sparse as sp

from siis._types import Features, Floats, Ints
from siis.evidence import KernelScores, kernel_scores, read, softmax
from siis.evidence.reading import SHARPNESS
from siis.graph import (
    Embedded,
    Graph,
    check_range,
    distinct_rows,
    fingerprints,
    median_bandwidth,
    neighbors_between,
    neighbors_within,
    placed,
    prepare,
    ready_made,
)
from siis.labels import GivenLabels, Supervision, gather
from siis.progress import Progress, Report
from siis.selection import (
    MOST_VERTICES,
    Selection,
    Wishes,
    cross_readings,
    join_scores,
    search,
    search_graph,
    smoothed,
    total_deviation,
)
from siis.selection.search import TOO_FEW
from siis.trust import Carriage, NoiseModel, carriage, fit_noise
from siis.trust.issues import BELOW_CERTAIN, CERTAIN

SAME = 1e-5  # of the distance between neighbours: examples closer than this are the same one, rounded
MOSTLY_WRONG = 0.75  # share of wrong labels in a class, at which to say so
ENOUGH = 10  # labels of a class, to say so


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
    rows : ndarray of shape (l,)
        Vertices whose labels were held out in turn.
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

    def locate(self, X: Features) -> Floats:
        """Map examples to points of the graph's space; those of the training set to their own vertices.

        Parameters
        ----------
        X : array or csr_array of shape (n, d)

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
        scores = None if self.model is None else self.model(Z)
        points = join_scores(Z, scores, selection.chosen.score_weight * selection.unit, self.deviation)
        order = np.argsort(self.marks)
        marks = fingerprints(X)
        place = order[np.minimum(np.searchsorted(self.marks[order], marks), order.size - 1)]
        known = self.marks[place] == marks
        if not known.all():  # the same example after rounding, in another precision
            near = neighbors_between(Z[~known], self.placed.points[:, : Z.shape[1]], 1)
            place[~known] = near.indices[:, 0]
            known[~known] = near.distances[:, 0] <= SAME * selection.unit
        points[known] = self.placed.points[place[known]]
        return points


@dataclass(frozen=True, eq=False)
class Judged:
    """Labels judged by what was read while they were held out.

    Attributes
    ----------
    noise : NoiseModel
    carriage : Carriage
    probabilities : ndarray of shape (n_vertices, c)
        Calibrated.
    quality : ndarray of shape (n,)
        Probability that a given label is right; NaN where unlabelled.
    codes, suggested : ndarray of shape (n,)
        Given and likeliest class of labelled examples; -1 elsewhere.
    held_out : ndarray of shape (n, c)
        Calibrated probabilities of labelled examples without their own labels; NaN elsewhere.
    """

    noise: NoiseModel
    carriage: Carriage
    probabilities: Floats
    quality: Floats
    codes: Ints
    suggested: Ints
    held_out: Floats


def gather_evidence(X: Features, labels: GivenLabels, wishes: Wishes, seed: int, progress: Progress) -> Evidence:
    """Choose a graph by the labels, build it, and smooth the labels over it.

    Parameters
    ----------
    X : array or csr_array of shape (n, d), or (n, n) where the metric is "precomputed"
    labels : GivenLabels
        Of two classes or more.
    wishes : Wishes
    seed : int
    progress : Progress

    Returns
    -------
    Evidence
    """
    n = X.shape[0]
    if wishes.metric == "precomputed":
        place = ready_made(X)
        pairs = gather(np.flatnonzero(labels.used), labels.Y, labels.weights)
        given = pairs.merged()
        selection = search_graph(place.graph.weights, given, wishes, seed, progress)
        scores, model, deviation, marks = None, None, 1.0, np.zeros(0, dtype=np.int64)
    else:
        if wishes.metric == "cosine":
            prepare(X, "cosine")  # refuses empty rows by their own index
        check_range(X)
        present = ~labels.absent
        distinct = distinct_rows(X[present])
        vertex = np.full(n, -1, dtype=np.int64)
        vertex[present] = distinct.vertex
        pairs = gather(vertex[labels.used], labels.Y, labels.weights)
        given = pairs.merged()
        selection = search(distinct.X, given, wishes, seed, progress)
        assert selection.space is not None
        assert selection.kernel is not None
        with progress.stage("graph") as report:
            Z = selection.space(distinct.X)
            scores, model = kernel_scores(Z, given, selection.kernel)
            deviation, marks = total_deviation(scores), fingerprints(distinct.X)
            points = join_scores(Z, scores, selection.chosen.score_weight * selection.unit, deviation)
            place = _placed(points, vertex, selection, wishes, seed, report)
            if place.order is not None:  # vertices have new numbers
                number = np.argsort(place.order)
                pairs, scores, marks = pairs.moved(number), scores[place.order], marks[place.order]
                given = pairs.merged()
    chosen = selection.chosen
    with progress.stage("evidence"):
        F = smoothed(place.graph.weights, given, chosen.fidelity, chosen.pull, scores, 1e-4)
        rows, readings = selection.rows, selection.readings
        if place.order is not None:
            rows = number[rows]
        if place.graph.n_vertices > MOST_VERTICES and rows.size:
            rows, readings = cross_readings(place.graph.weights, given, chosen, scores, seed)
    soft = softmax(read(F, chosen.reading))
    return Evidence(place, pairs, given, selection, soft, rows, readings, model, deviation, marks, sp.issparse(X))


def _placed(
    points: Floats, vertex: Ints, selection: Selection, wishes: Wishes, seed: int, report: Report
) -> Embedded:
    if len(points) == 1:
        return Embedded(Graph(np.zeros((1, 1))), vertex, points, 1.0)
    near = neighbors_within(points, selection.chosen.n_neighbors, wishes.neighbors, seed, report)
    width = median_bandwidth(near) if wishes.bandwidth == "median" else float(wishes.bandwidth)
    return placed(near, width, selection.chosen.graph, vertex, points)


def judge(evidence: Evidence, labels: GivenLabels, final: Floats) -> Judged:
    """Estimate the noise, judge every given label, and calibrate the answers.

    Parameters
    ----------
    evidence : Evidence
    labels : GivenLabels
    final : ndarray of shape (n_vertices, c)
        Readings of the answers.

    Returns
    -------
    Judged
    """
    given = evidence.given
    held = np.full(evidence.placed.graph.n_vertices, -1)
    held[evidence.rows] = np.arange(evidence.rows.size)
    # contradicting labels of equal examples all count
    pairs = evidence.pairs.picked(np.flatnonzero(held[evidence.pairs.rows] >= 0))
    codes, weights, at_pairs = pairs.codes, pairs.weights, evidence.readings[held[pairs.rows]]
    scored = carriage(at_pairs, codes, weights)
    sure = np.zeros(held.size, dtype=bool)
    sure[evidence.placed.vertex[labels.certain]] = True
    doubtful = np.flatnonzero(~sure[pairs.rows])  # certain labels say nothing of how often others are wrong
    codes = codes[doubtful]
    noise = fit_noise(at_pairs[doubtful], codes, weights[doubtful])
    if not codes.size:  # nothing was held out: nothing is known of the noise
        unknown = np.full_like(noise.matrix, np.nan)
        noise = replace(noise, rate=float("nan"), interval=(0.0, 1.0), sharpness=SHARPNESS, matrix=unknown)
    n, c = labels.used.size, given.n_classes
    quality, all_codes, suggested = np.full(n, np.nan), np.full(n, -1), np.full(n, -1)
    used = np.flatnonzero(labels.used)
    all_codes[used] = np.argmax(labels.Y, axis=1)
    suggested[used] = all_codes[used]
    held_out = np.full((n, c), np.nan)
    quality[used] = 1 - noise.rate  # the only label of its class: nothing but the overall rate speaks about it
    judged = used[held[evidence.placed.vertex[used]] >= 0]
    if judged.size:
        readings = evidence.readings[held[evidence.placed.vertex[judged]]]
        posterior = noise.posterior(readings, all_codes[judged])
        quality[judged] = noise.quality(readings, all_codes[judged])
        doubted = np.flatnonzero(quality[judged] < 0.5)
        posterior[doubted, all_codes[judged[doubted]]] = -1.0  # what is likely wrong is no suggestion
        suggested[judged] = np.argmax(posterior, axis=1)
        held_out[judged] = noise.probabilities(readings)
    quality = np.minimum(quality, BELOW_CERTAIN)  # however clear the readings are, nobody has checked the label
    quality[labels.certain], suggested[labels.certain] = CERTAIN, all_codes[labels.certain]
    return Judged(noise, scored, noise.probabilities(final), quality, all_codes, suggested, held_out)


def warn_about(evidence: Evidence, judged: Judged, classes: Any) -> None:
    """Warn where labels are too few to choose by, do not follow the graph, or are mostly wrong in a class.

    Parameters
    ----------
    evidence : Evidence
    judged : Judged
    classes : ndarray of shape (c,)
    """
    if not evidence.rows.size:
        reason = evidence.selection.reason
        remedy = " Label two examples or more of each class." if reason == TOO_FEW else ""
        warnings.warn(f"{reason}.{remedy}", UserWarning, stacklevel=4)
        return
    if judged.carriage.is_weak:
        warnings.warn(
            "the labels do not follow the neighbourhoods: held-out labels are met hardly more often than by chance "
            f"(graph_score_ = {judged.carriage.score:.2f} +- {judged.carriage.error:.2f}). Do not rely on the "
            "answers. Use features in which examples of a class are close to each other (for instance embeddings "
            "of a pretrained model), or label more examples.",
            UserWarning,
            stacklevel=4,
        )
    counts = np.bincount(evidence.given.codes, minlength=len(classes))
    bad = np.flatnonzero((judged.noise.class_rates > MOSTLY_WRONG) & (counts >= ENOUGH))
    if bad.size and not judged.carriage.is_weak:
        names = ", ".join(f"{classes[k]} ({judged.noise.class_rates[k]:.0%})" for k in bad[:10])
        warnings.warn(
            f"most labels of these classes seem to be wrong (class_noise_rates_): {names}. Check them first: "
            "label_issues() lists them.",
            UserWarning,
            stacklevel=4,
        )
