"""The default: an average of members that predict held-out labels; halves of the labels estimate its errors."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np

from siis._types import Floats, Ints
from siis.engine.threads import FEW_THREADS, in_threads, one_blas_thread
from siis.labels.folds import classes_in_order, stratified_folds
from siis.model.config import GRAPH, Plan
from siis.model.linear import LinearScores
from siis.model.link import ExpectedAccuracy, Link, MemberLabels, fit_link, label_posterior
from siis.model.members import Ensemble, Member, near_best, some_rows, unlabelled_rows, weigh_families
from siis.model.ridge import Ridge
from siis.model.scores import centred
from siis.model.trees import Forest

PASSES, FOLDS = 3, 5
SPLITS, MOST_ROWS = 3, 1500  # of labels into halves, and rows on which these are compared
MOST_IN_HALVES = 4  # members of a family
EQUAL_UNTIL, SELECTED_FROM = 3.0, 8.0  # labels a class: the equal mean of graphs, or selected members alone


@dataclass(frozen=True, eq=False)
class Average:
    """Scores of all vertices and of held-out labels."""

    ensemble: Ensemble
    scores: Floats  # (n, c)
    held_out: Floats  # (l, c)
    link: Link  # from these scores to probabilities
    estimated: ExpectedAccuracy | None  # accuracy that the agreement of halves of the labels estimates
    forests: dict[str, Forest] = field(default_factory=dict)  # by the splits of their trees
    linear: LinearScores | None = None  # the model of the features, where it was fitted


def average(
    members: Sequence[Member],
    labels: MemberLabels,
    n: int,
    seed: int,
    plan: Plan | None = None,
    n_passes: int | None = None,
) -> Average:
    """Average the members near the best; the passes after the first have each label's posterior as its target."""
    ensemble = weigh_families(near_best(members) if plan is None else members, labels)
    rows = unlabelled_rows(n, labels.rows, MOST_ROWS)
    is_full = np.unique(labels.rows).size == n
    estimated = agreement(ensemble, labels, None if is_full else rows, seed)
    of_graph = [m for m in members if m.family == GRAPH]
    equal, graph_mean = _equal_weight(labels) if of_graph else 0.0, None
    if equal > 0:
        of_graph = [m for m in of_graph if not m.config.is_balanced] or of_graph
        graph_mean = tuple(
            centred(np.mean([getattr(m, what) for m in of_graph], axis=0)) for what in ("scores", "held_out")
        )

    def combined(scores: list[Floats], held: list[Floats]) -> tuple[Floats, Floats]:
        Z, H = ensemble.mean(scores), ensemble.mean(held)
        unit = float(Z.std()) or 1.0
        Z, H = Z / unit, H / unit
        if graph_mean is not None:
            unit = float(graph_mean[0].std()) or 1.0
            Z, H = ((1 - equal) * a + equal * b / unit for a, b in zip((Z, H), graph_mean, strict=True))
        return Z, H

    logs = [m.link.logarithms(m.scores) for m in ensemble.members]
    held = [m.link.logarithms(m.held_out) for m in ensemble.members]
    Z, H = combined(logs, held)
    means, held_means = [Z], [H]
    link = fit_link(H, labels, rows=Z[rows], estimated=estimated)
    if all(m.ridge is None for m in ensemble.members) or equal == 1.0:
        return Average(ensemble, Z, H, link, estimated)
    expected = None if estimated is None else estimated.after_passes()
    if n_passes == 1:
        return Average(ensemble, Z, H, link, expected)
    some = some_rows(n)
    folds = stratified_folds(labels.Y.argmax(axis=1), FOLDS, seed)
    unit = float(ensemble.mean(logs).std()) or 1.0

    def without(fold: tuple[Ints, Ints]) -> Floats:
        """Scores of the labels that a fold keeps, without their own and those of the fold."""
        kept, held_rows = fold
        first = [
            h[kept] if m.ridge is None else m.link.logarithms(m.scale(m.ridge.without(held_rows, kept, labels.Y)))
            for m, h in zip(ensemble.members, held, strict=True)
        ]
        return ensemble.mean(first) / unit

    with one_blas_thread():
        inner_scores = in_threads(without, folds, FEW_THREADS)
    for _ in range((n_passes or PASSES) - 1):
        Q = label_posterior(link(np.mean(held_means, axis=0)), labels, link.rate)
        again = [before if m.ridge is None else m.fit(Q) for m, before in zip(ensemble.members, logs, strict=True)]

        def one_fold(number: int, link: Link = link) -> list[Floats]:
            kept, held_rows = folds[number]
            T = label_posterior(link(inner_scores[number]), labels.subset(kept), link.rate)
            return [
                h[held_rows]
                if m.ridge is None or m.kernel is None
                else m.link.logarithms(
                    m.ridge.held_out(held_rows, kept, T, m.kernel.rows(some), m.config.is_balanced)
                )
                for m, h in zip(ensemble.members, held, strict=True)
            ]

        with one_blas_thread():
            of_folds = in_threads(one_fold, range(len(folds)), FEW_THREADS)
        out = [np.empty_like(h) for h in held]
        for (_, held_rows), values in zip(folds, of_folds, strict=True):
            for o, value in zip(out, values, strict=True):
                o[held_rows] = value
        Z, H = combined(again, out)
        means.append(Z)
        held_means.append(H)
        link = fit_link(np.mean(held_means, axis=0), labels, rows=np.mean(means, axis=0)[rows], estimated=expected)
    return Average(ensemble, np.mean(means, axis=0), np.mean(held_means, axis=0), link, expected)


def agreement(ensemble: Ensemble, labels: MemberLabels, rows: Ints | None, seed: int) -> ExpectedAccuracy | None:
    """Accuracy that models of disjoint halves of the labels estimate: they agree as often as both are right.

    With q the accuracy, and errors spread over the other classes, they agree at q^2 + (1 - q)^2 / (c - 1).   (D6)
    Without unlabelled rows, thirds: two predict, and are compared on the third.
    """
    c, codes = labels.n_classes, labels.Y.argmax(axis=1)
    counts = np.bincount(codes, minlength=c)
    if np.median(counts[counts > 0]) < 2:
        return None
    small = _best_kernels(ensemble)
    if small is None:
        return None
    rng, in_order = np.random.default_rng(seed), classes_in_order(codes)
    parts = 2 if rows is not None else 3
    halves: list[tuple[Ints, Ints]] = []
    for _ in range(SPLITS):
        order = np.concatenate([rng.permutation(np.flatnonzero(codes == k)) for k in rng.permutation(in_order)])
        part = np.empty(codes.size, dtype=np.int64)
        part[order] = np.arange(codes.size) % parts
        seen = labels.rows[part == 2] if rows is None else rows
        halves += [(np.flatnonzero(part == 0), seen), (np.flatnonzero(part == 1), seen)]

    def answers(half: tuple[Ints, Ints]) -> Ints:
        h, seen = half
        some, logs = labels.subset(h), []
        for m in small.members:
            assert m.kernel is not None
            K = m.kernel.rows(some.rows)[:, h]
            R, mean = Ridge.of(K, some, m.config.fidelity).fit(some.Y)
            scores = m.kernel.rows(seen)[:, h] @ R + mean
            logs.append(m.link.logarithms(m.scaled(scores, mean)))
        return np.asarray(small.mean(logs).argmax(axis=1))

    with one_blas_thread():
        found = in_threads(answers, halves, FEW_THREADS)
    return ExpectedAccuracy.of(list(zip(found[::2], found[1::2], strict=True)), c)


def _best_kernels(ensemble: Ensemble) -> Ensemble | None:
    """The best members of each family, but for forests; None where there are only these."""
    of_kernels = [m for m in ensemble.members if m.ridge is not None]
    chosen = [m for f in ensemble.families for m in [x for x in of_kernels if x.family == f][:MOST_IN_HALVES]]
    if not chosen:
        return None
    families = tuple(f for f in ensemble.families if any(m.family == f for m in chosen))
    weights = np.array([w for f, w in zip(ensemble.families, ensemble.weights, strict=True) if f in families])
    return Ensemble(tuple(chosen), families, weights / weights.sum())


def _equal_weight(labels: MemberLabels) -> float:
    """Weight of the equal mean of graphs against the selected members: 1 with few labels a class."""
    counts = labels.counts @ labels.Y
    each = float(np.median(counts[counts > 0]))
    return float(np.clip((SELECTED_FROM - each) / (SELECTED_FROM - EQUAL_UNTIL), 0.0, 1.0))
