"""The average on many examples: members chosen on a sample, fitted by conjugate gradients, held out in folds."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from functools import partial
from itertools import combinations

import numpy as np

from siis._types import Features, Floats, Ints, Sparse
from siis.engine import NUMPY, Engine
from siis.engine.rows import evenly
from siis.engine.types import Array
from siis.labels import VertexLabels
from siis.labels.folds import stratified_folds
from siis.model.average import Average
from siis.model.config import FEATURES, FOREST, KERNEL, MemberConfig, Plan
from siis.model.forest import can_grow, forest_members, no_member
from siis.model.gaussian import gaussian_scores, squared_distances
from siis.model.linear import LinearScores, linear_scores
from siis.model.link import SHARES, ExpectedAccuracy, MemberLabels, fit_link, label_posterior
from siis.model.members import Member, unlabelled_rows, weigh_families
from siis.model.ridge import Scale, scale_of
from siis.model.smoothing import smooth_labels
from siis.model.trees import Forest

FOLDS = 5
TOL, ROUGH_TOL = 1e-4, 1e-3  # residual of the smoothing; the second from MANY vertices on
MANY = 10_000
MOST_IN_PASSES = 1_000_000  # vertices times classes of which there is a second pass
MOST_COLUMNS = 200  # classes, up to which halves of the labels are compared
MOST_SEEN = 20_000  # vertices by which columns are standardised
MOST_CLASSES = 64  # up to which models of the features are fitted
WIDTH_ROWS = 2000  # points by which the width of the Gaussian kernel is found


def large_average(
    plan: Plan,
    leading: Sequence[MemberConfig],
    W: Sparse,
    points: Floats | None,
    X: Features | None,
    given: VertexLabels,
    labels: MemberLabels,
    seed: int,
    engine: Engine = NUMPY,
    subspace: Array | None = None,
) -> Average:
    """Fit the leading graph, of weights W, and the models of the features that a plan names, and average them.

    leading: the graph, with fidelities. points: (n, k), the vertices in its space; X: (n, d); both None for a
    ready-made graph. given: the (vertex, label) pairs of ``labels``. subspace: (n, m), smooth functions, which spare
    iterations.
    """
    members: list[Member] = []
    estimated: ExpectedAccuracy | None = None
    forests: dict[str, Forest] = {}
    model: LinearScores | None = None
    for config in leading:
        member, estimated = _graph_member(config, W, given, labels, seed, engine, subspace)
        members.append(member)
    families = set(plan.families)
    if X is not None and points is not None and labels.n_classes <= MOST_CLASSES:
        if KERNEL in families:
            gaussian = [c for c in plan.members if c.family == KERNEL and c.space != FEATURES]
            if gaussian:
                members.append(_gaussian_member(gaussian[0], points, given, labels, engine))
            linear = [c for c in plan.members if c.family == KERNEL and c.space == FEATURES]
            if linear:
                scores, held, model = linear_scores(X, given)
                members.append(_scaled_member(linear[0], scores, held, labels))
        splits = [c.splits for c in plan.members if c.family == FOREST]
        if splits and can_grow(X, labels):
            more, forests = forest_members(X, labels, seed, splits)
            members += more
    if not members:
        raise no_member(plan.families, labels)
    ensemble = weigh_families(members, labels)
    Z = ensemble.mean([m.link.logarithms(m.scores) for m in ensemble.members])
    H = ensemble.mean([m.link.logarithms(m.held_out) for m in ensemble.members])
    unit = float(np.std(Z, dtype=np.float64)) or 1.0
    Z /= Z.dtype.type(unit)
    return Average(ensemble, Z, H / unit, fit_link(H / unit, labels), estimated, forests, model)


def _graph_member(
    leading: MemberConfig,
    W: Sparse,
    given: VertexLabels,
    labels: MemberLabels,
    seed: int,
    engine: Engine,
    subspace: Array | None,
) -> tuple[Member, ExpectedAccuracy | None]:
    """The graph, its held-out scores by folds, and the accuracy that halves of the labels estimate.

    Where there are not too many vertices and classes, a second pass smooths the posterior of each label; that of a
    label in training, for a fold, comes from the labels of neither fold.
    """
    n, codes, c = W.shape[0], labels.Y.argmax(axis=1), labels.n_classes
    folds = [held for _, held in stratified_folds(codes, FOLDS, seed)]
    with_pass = engine.total_count(n) * c <= MOST_IN_PASSES and len(folds) == FOLDS
    pairs = list(combinations(range(len(folds)), 2)) if with_pass else []
    halves: list[Ints] = []
    if c <= MOST_COLUMNS and np.median(np.bincount(codes)[np.unique(codes)]) >= 2:
        halves = [kept for kept, _ in stratified_folds(codes, 2, seed)]
    every = np.arange(codes.size)
    parts = [every, *(np.setdiff1d(every, held) for held in folds)]
    parts += [np.setdiff1d(every, np.concatenate([folds[j], folds[k]])) for j, k in pairs]
    smooth = partial(_smoothed, W, leading.fidelity, n <= MANY, engine, subspace)
    found = smooth([given.subset(kept) for kept in (*parts, *halves)])
    prior = np.zeros(c) if leading.is_balanced else None  # of labels less their frequencies
    scales = [_scale(F, prior) for F in found]

    def scores_of(number: int, rows: Ints) -> Floats:
        """Scores of some labels by the labels of a part."""
        return scales[number](np.asarray(found[number][labels.rows[rows]], dtype=np.float64))

    held_out = np.empty(labels.Y.shape)
    for k, held in enumerate(folds):
        held_out[held] = scores_of(1 + k, held)
    scores = _standardised(found[0], scales[0])
    link = fit_link(held_out, labels, SHARES)
    estimated = None
    if halves:
        rows = unlabelled_rows(n, labels.rows, n)
        answers = [scale(F[rows]).argmax(axis=1) for F, scale in zip(found[-2:], scales[-2:], strict=True)]
        estimated = ExpectedAccuracy.of([(answers[0], answers[1])], c)
        estimated = estimated.after_passes() if with_pass else estimated
    if with_pass:
        targets = [label_posterior(link(held_out), labels, link.rate)]
        for k in range(len(folds)):
            P = np.zeros(labels.Y.shape)
            for number, pair in enumerate(pairs):
                if k in pair:
                    inner = folds[pair[0] if pair[1] == k else pair[1]]
                    P[inner] = link(scores_of(1 + len(folds) + number, inner))
            targets.append(label_posterior(P, labels, link.rate))
        del found
        again = smooth(
            [replace(given, Y=T).subset(kept) for T, kept in zip(targets, parts[: 1 + len(folds)], strict=True)]
        )
        scores = _mean(scores, _standardised(again[0], _scale(again[0], prior)))
        for held, F in zip(folds, again[1:], strict=True):
            held_out[held] += _scale(F, prior)(np.asarray(F[labels.rows[held]], dtype=np.float64))
        held_out /= 2
        link = fit_link(held_out, labels, SHARES)
    return Member(leading, None, None, scores, held_out, scales[0], link), estimated


def _smoothed(
    W: Sparse,
    fidelity: float,
    is_fine: bool,
    engine: Engine,
    subspace: Array | None,
    sets: Sequence[VertexLabels],
) -> list[Floats]:
    """Several sets of labels, smoothed over a graph."""
    tol = TOL if is_fine else ROUGH_TOL
    return smooth_labels(W, [labels.aggregate() for labels in sets], fidelity, tol, engine, subspace)


def _mean(Z: Floats, other: Floats) -> Floats:
    Z = Z + other
    Z /= 2
    return Z


def _gaussian_member(
    config: MemberConfig, points: Floats, given: VertexLabels, labels: MemberLabels, engine: Engine
) -> Member:
    """The Gaussian kernel; many labels have some of their points as centres."""
    some = points[evenly(len(points), WIDTH_ROWS)]
    at = given.rows[evenly(given.rows.size, WIDTH_ROWS)]
    width = 0.5 / (float(np.median(squared_distances(some, points[at]))) or 1.0)
    merged = given.aggregate()
    scores, _ = gaussian_scores(points, merged, width, 1 / config.fidelity, engine)
    return _scaled_member(config, scores, scores[labels.rows], labels)


def _scaled_member(config: MemberConfig, scores: Floats, held: Floats, labels: MemberLabels) -> Member:
    scale = _scale(scores, labels.prior if config.is_balanced else None)
    held = scale(np.asarray(held, dtype=np.float64))
    return Member(config, None, None, _standardised(scores, scale), held, scale, fit_link(held, labels, SHARES))


def _scale(F: Floats, prior: Floats | None = None) -> Scale:
    rows = evenly(len(F), MOST_SEEN)
    return scale_of(np.asarray(F[rows], dtype=np.float64), prior)


def _standardised(F: Floats, scale: Scale) -> Floats:
    F = np.subtract(F, scale.center, dtype=F.dtype, casting="same_kind")
    F /= scale.unit.astype(F.dtype)
    return F
