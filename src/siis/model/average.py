"""The default: an average of members that predict held-out labels; halves of the labels estimate its errors."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Sequence
from dataclasses import dataclass, replace
from functools import partial

import numpy as np

from siis._types import Features, Floats, Ints, Sparse
from siis.engine import NUMPY, Engine
from siis.engine.threads import FEW_THREADS, in_threads, one_blas_thread
from siis.experts import Forest
from siis.model.forest import can_grow, forest_members
from siis.model.kernels import (
    FAMILIES,
    FEATURES,
    FOREST,
    GIVEN,
    GRAPH,
    KERNEL,
    MOST_IN_SUMS,
    SUM,
    SUM_WEIGHTS,
    Choice,
    Kernel,
    feature_kernels,
    graph_columns,
    graph_kernels,
)
from siis.model.link import ExpectedAccuracy, Labels, Link, fit_link, label_posterior
from siis.model.members import (
    Member,
    Pool,
    centred,
    classes_in_order,
    kernel_members,
    near_best,
    some_rows,
    stratified_folds,
    unlabelled_rows,
    weigh_families,
)
from siis.model.ridge import Ridge, scale_of

PASSES, FOLDS = 3, 10
SPLITS, MOST_ROWS = 3, 1500  # of labels into halves, and rows on which these are compared
MOST_IN_HALVES = 4  # members of a family
EVEN, PSEUDO_COUNT = 0.9, 1.0  # effective number of classes, over theirs, above which they are of like size
EQUAL_UNTIL, SELECTED_FROM = 3.0, 8.0  # labels a class: the equal mean of graphs, or selected members alone


@dataclass(frozen=True, eq=False)
class Average:
    """Scores of all vertices and of held-out labels.

    Attributes
    ----------
    members : list of Member
        All that were tried.
    pool : Pool
    scores : ndarray of shape (n, c)
    held_out : ndarray of shape (l, c)
    link : Link
        From these scores to probabilities.
    estimated : ExpectedAccuracy or None
        Accuracy that the agreement of halves of the labels estimates.
    """

    members: Sequence[Member]
    pool: Pool
    scores: Floats
    held_out: Floats
    link: Link
    estimated: ExpectedAccuracy | None


def all_members(
    points: Sequence[Floats],
    X: Features,
    labels: Labels,
    graphs: Sequence[tuple[int, str]],
    bandwidth: float | str,
    seed: int,
    engine: Engine = NUMPY,
    families: Collection[str] = FAMILIES,
) -> tuple[list[Member], dict[str, Forest]]:
    """Everything that is tried of some families, and the forests."""
    at, kinds = labels.rows, dict.fromkeys(range(len(points)), graphs)
    has_graphs, has_kernels = (not {family, SUM}.isdisjoint(families) for family in (GRAPH, KERNEL))
    makers = list(graph_kernels(points, at, kinds, bandwidth, engine)) if has_graphs else []
    scales: tuple[bool, ...] = (False,)
    if makers:
        first = makers[0]()
        makers[0], scales = (lambda: first), scales_of(first, labels)
    of_graph = _fitted(makers, labels, scales)
    spaces = (*range(len(points)), FEATURES) if has_kernels else ()
    of_features = _fitted(feature_kernels(spaces, points, X, at), labels, scales)
    of_sums: list[list[Member]] = []
    gaussian = [some for some in of_features if some[0].choice.space != FEATURES]
    if gaussian and of_graph and SUM in families:
        best = _kernel_of(max(gaussian, key=_best))
        ranked = sorted(of_graph, key=lambda some: -_best(some))[:MOST_IN_SUMS]
        of_sums = _fitted(
            [partial(_kernel_of(some).plus, best, weight, at) for some in ranked for weight in SUM_WEIGHTS],
            labels,
            scales,
        )
    found = [m for some in (*of_graph, *of_features, *of_sums) for m in some if m.family in families]
    forests: dict[str, Forest] = {}
    if FOREST in families and can_grow(X, labels):
        more, forests = forest_members(X, labels, seed)
        found += more
    return found, forests


def graph_members(W: Sparse, labels: Labels) -> list[Member]:
    """Members on a ready-made graph."""
    kernel = Kernel(Choice(GRAPH, 0, 0, GIVEN), graph_columns(W, labels.rows))
    return kernel_members(kernel, labels, kernel.fidelities, scales_of(kernel, labels))


def planned_members(
    plan: Plan,
    points: Sequence[Floats],
    X: Features,
    labels: Labels,
    bandwidth: float | str,
    seed: int,
    engine: Engine = NUMPY,
) -> tuple[list[Member], dict[str, Forest]]:
    """The members of a plan, fitted to other labels or more examples, and the forests that it has."""
    at, bare = labels.rows, {c: replace(c, fidelity=0.0, is_balanced=False) for c in plan.choices}
    kinds: dict[int, list[tuple[int, str]]] = {}
    for choice in plan.choices:
        if choice.family in (GRAPH, SUM):
            some = kinds.setdefault(choice.space, [])
            some += [] if (choice.n_neighbors, choice.kind) in some else [(choice.n_neighbors, choice.kind)]
    spaces = {c.space if c.family == KERNEL else c.partner for c in plan.choices if c.family in (KERNEL, SUM)}
    makers = [
        *graph_kernels(points, at, kinds, bandwidth, engine),
        *feature_kernels(sorted(spaces), points, X, at),
    ]
    kernels = {kernel.choice: kernel for kernel in in_threads(_made, makers, FEW_THREADS)}
    for choice in bare.values():
        if choice.family == SUM and choice not in kernels:
            graph = kernels[replace(choice, family=GRAPH, weight=0.0, partner=-1)]
            kernels[choice] = graph.plus(kernels[Choice(KERNEL, choice.partner)], choice.weight, at)

    def fitted(choice: Choice) -> Member | None:
        if choice.family == FOREST:
            return None
        return kernel_members(kernels[bare[choice]], labels, (choice.fidelity,), (choice.is_balanced,))[0]

    with one_blas_thread():
        found = in_threads(fitted, list(plan.choices), FEW_THREADS)
    kinds_of_trees = [choice.kind for choice in plan.choices if choice.family == FOREST]
    trees, forests = forest_members(X, labels, seed, kinds_of_trees) if kinds_of_trees else ([], {})
    members = iter(trees)
    return [next(members) if m is None else m for m in found], forests


def scales_of(kernel: Kernel, labels: Labels) -> tuple[bool, ...]:
    """How scores are scaled: also for classes of unlike size, where a first graph predicts such ones.  (D8)"""
    R, mean = Ridge.of(kernel.columns[labels.rows], labels, kernel.fidelities[1]).fit(labels.Y)
    scores = kernel.columns @ R + mean
    counts = np.bincount(scale_of(scores, mean)(scores).argmax(axis=1), minlength=labels.n_classes) + PSEUDO_COUNT
    shares = counts / counts.sum()
    n_effective = float(np.exp(-np.sum(shares * np.log(shares))))
    return (False,) if n_effective >= EVEN * labels.n_classes else (False, True)


def _fitted(makers: Iterable[Callable[[], Kernel]], labels: Labels, scales: Sequence[bool]) -> list[list[Member]]:
    """Members with each of several kernels, in threads."""

    def work(make: Callable[[], Kernel]) -> list[Member]:
        kernel = make()
        return kernel_members(kernel, labels, kernel.fidelities, scales)

    with one_blas_thread():
        return in_threads(work, list(makers), FEW_THREADS)


def _made(make: Callable[[], Kernel]) -> Kernel:
    return make()


def _best(members: Sequence[Member]) -> float:
    return max(member.link.score for member in members)


def _kernel_of(members: Sequence[Member]) -> Kernel:
    kernel = members[0].kernel
    assert kernel is not None
    return kernel


@dataclass(frozen=True, eq=False)
class Plan:
    """The members that are averaged, and the weights of their families.

    Attributes
    ----------
    choices : tuple of Choice
    families : tuple of str
    weights : ndarray
        Of the families.
    """

    choices: tuple[Choice, ...]
    families: tuple[str, ...]
    weights: Floats


def average(members: Sequence[Member], labels: Labels, n: int, seed: int, plan: Plan | None = None) -> Average:
    """Average the members near the best; three passes, the later ones with each label's posterior as its target."""
    pool = weigh_families(near_best(members) if plan is None else members, labels)
    rows = unlabelled_rows(n, labels.rows, MOST_ROWS)
    is_full = np.unique(labels.rows).size == n
    estimated = agreement(pool, labels, None if is_full else rows, seed)
    of_graph = [m for m in members if m.family == GRAPH]
    equal, graph_mean = _equal_weight(labels) if of_graph else 0.0, None
    if equal > 0:
        of_graph = [m for m in of_graph if not m.choice.is_balanced] or of_graph
        graph_mean = tuple(
            centred(np.mean([getattr(m, what) for m in of_graph], axis=0)) for what in ("scores", "held_out")
        )

    def pooled(scores: list[Floats], held: list[Floats]) -> tuple[Floats, Floats]:
        Z, H = pool.mean(scores), pool.mean(held)
        unit = float(Z.std()) or 1.0
        Z, H = Z / unit, H / unit
        if graph_mean is not None:
            unit = float(graph_mean[0].std()) or 1.0
            Z, H = ((1 - equal) * a + equal * b / unit for a, b in zip((Z, H), graph_mean, strict=True))
        return Z, H

    logs = [m.link.logarithms(m.scores) for m in pool.members]
    held = [m.link.logarithms(m.held_out) for m in pool.members]
    Z, H = pooled(logs, held)
    means, held_means = [Z], [H]
    link = fit_link(H, labels, rows=Z[rows], estimated=estimated)
    if all(m.ridge is None for m in pool.members) or equal == 1.0:
        return Average(members, pool, Z, H, link, estimated)
    expected = None if estimated is None else estimated.after_passes()
    some = some_rows(n)
    folds = stratified_folds(labels.Y.argmax(axis=1), FOLDS, seed)
    unit = float(pool.mean(logs).std()) or 1.0

    def without(fold: tuple[Ints, Ints]) -> Floats:
        """Scores of the labels that a fold keeps, without their own and those of the fold."""
        kept, held_rows = fold
        first = [
            h[kept] if m.ridge is None else m.link.logarithms(m.scale(m.ridge.without(held_rows, kept, labels.Y)))
            for m, h in zip(pool.members, held, strict=True)
        ]
        return pool.mean(first) / unit

    with one_blas_thread():
        inner_scores = in_threads(without, folds, FEW_THREADS)
    for _ in range(PASSES - 1):
        Q = label_posterior(link(np.mean(held_means, axis=0)), labels, link.rate)
        again = [before if m.ridge is None else m.fit(Q) for m, before in zip(pool.members, logs, strict=True)]

        def one_fold(number: int, link: Link = link) -> list[Floats]:
            kept, held_rows = folds[number]
            T = label_posterior(link(inner_scores[number]), labels.picked(kept), link.rate)
            return [
                h[held_rows]
                if m.ridge is None or m.kernel is None
                else m.link.logarithms(
                    m.ridge.held_out(held_rows, kept, T, m.kernel.columns[some], m.choice.is_balanced)
                )
                for m, h in zip(pool.members, held, strict=True)
            ]

        with one_blas_thread():
            told = in_threads(one_fold, range(len(folds)), FEW_THREADS)
        out = [np.empty_like(h) for h in held]
        for (_, held_rows), values in zip(folds, told, strict=True):
            for o, value in zip(out, values, strict=True):
                o[held_rows] = value
        Z, H = pooled(again, out)
        means.append(Z)
        held_means.append(H)
        link = fit_link(np.mean(held_means, axis=0), labels, rows=np.mean(means, axis=0)[rows], estimated=expected)
    return Average(members, pool, np.mean(means, axis=0), np.mean(held_means, axis=0), link, expected)


def agreement(pool: Pool, labels: Labels, rows: Ints | None, seed: int) -> ExpectedAccuracy | None:
    """Accuracy that models of disjoint halves of the labels estimate: they agree as often as both are right.

    With q the accuracy, and errors spread over the other classes, they agree at q^2 + (1 - q)^2 / (c - 1).   (D6)
    Without unlabelled rows, thirds: two predict, and are compared on the third.
    """
    c, codes = labels.n_classes, labels.Y.argmax(axis=1)
    counts = np.bincount(codes, minlength=c)
    if np.median(counts[counts > 0]) < 2:
        return None
    small = _best_kernels(pool)
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
        some, logs = labels.picked(h), []
        for m in small.members:
            assert m.kernel is not None
            K = m.kernel.columns[np.ix_(some.rows, h)]
            R, mean = Ridge.of(K, some, m.choice.fidelity).fit(some.Y)
            scores = m.kernel.columns[np.ix_(seen, h)] @ R + mean
            logs.append(m.link.logarithms(m.scaled(scores, mean)))
        return np.asarray(small.mean(logs).argmax(axis=1))

    with one_blas_thread():
        said = in_threads(answers, halves, FEW_THREADS)
    return ExpectedAccuracy.of(list(zip(said[::2], said[1::2], strict=True)), c)


def _best_kernels(pool: Pool) -> Pool | None:
    """The best members of each family, but for forests; None where there are only these."""
    of_kernels = [m for m in pool.members if m.ridge is not None]
    chosen = [m for f in pool.families for m in [x for x in of_kernels if x.family == f][:MOST_IN_HALVES]]
    if not chosen:
        return None
    families = tuple(f for f in pool.families if any(m.family == f for m in chosen))
    weights = np.array([w for f, w in zip(pool.families, pool.weights, strict=True) if f in families])
    return Pool(tuple(chosen), families, weights / weights.sum())


def _equal_weight(labels: Labels) -> float:
    """How much the equal mean of graphs counts beside the selected members: all of it with few labels a class."""
    counts = labels.votes @ labels.Y
    each = float(np.median(counts[counts > 0]))
    return float(np.clip((SELECTED_FROM - each) / (SELECTED_FROM - EQUAL_UNTIL), 0.0, 1.0))
