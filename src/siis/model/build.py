"""Members: fitted with everything that is tried, or with the configurations of a plan."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import replace
from functools import partial

import numpy as np

from siis._types import Features, Floats, Sparse
from siis.engine import NUMPY, Engine
from siis.engine.threads import FEW_THREADS, in_threads, one_blas_thread
from siis.model.config import FAMILIES, FEATURES, FOREST, GIVEN, GRAPH, KERNEL, SUM, MemberConfig, Plan
from siis.model.forest import can_grow, forest_members
from siis.model.kernels import (
    MOST_IN_SUMS,
    SUM_WEIGHTS,
    Kernel,
    feature_kernels,
    graph_columns,
    graph_kernels,
    kernel_of,
)
from siis.model.link import MemberLabels
from siis.model.members import Member, kernel_members
from siis.model.ridge import Ridge, scale_of
from siis.model.trees import Forest

EVEN, PSEUDO_COUNT = 0.9, 1.0  # effective number of classes, over theirs, above which they are of like size


def all_members(
    points: Mapping[str, Floats],
    X: Features,
    labels: MemberLabels,
    graphs: Sequence[tuple[int, str]],
    bandwidth: float | str,
    seed: int,
    engine: Engine = NUMPY,
    families: Collection[str] = FAMILIES,
) -> tuple[list[Member], dict[str, Forest]]:
    """Everything that is tried of some families, and the forests."""
    at, kinds = labels.rows, dict.fromkeys(points, graphs)
    has_graphs, has_kernels = (not {family, SUM}.isdisjoint(families) for family in (GRAPH, KERNEL))
    makers = list(graph_kernels(points, at, kinds, bandwidth, engine)) if has_graphs else []
    scales: tuple[bool, ...] = (False,)
    if makers:
        first = makers[0]()
        makers[0], scales = (lambda: first), scales_of(first, labels)
    of_graph = _fitted(makers, labels, scales)
    spaces = (*points, FEATURES) if has_kernels else ()
    of_features = _fitted(feature_kernels(spaces, points, X, at), labels, scales)
    of_sums: list[list[Member]] = []
    gaussian = [some for some in of_features if some[0].config.space != FEATURES]
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


def graph_members(W: Sparse, labels: MemberLabels) -> list[Member]:
    """Members on a ready-made graph."""
    kernel = kernel_of(MemberConfig(GRAPH, GIVEN, 0, GIVEN), graph_columns(W, labels.rows))
    return kernel_members(kernel, labels, kernel.fidelities, scales_of(kernel, labels))


def planned_members(
    plan: Plan,
    points: Mapping[str, Floats],
    X: Features,
    labels: MemberLabels,
    bandwidth: float | str,
    seed: int,
    engine: Engine = NUMPY,
) -> tuple[list[Member], dict[str, Forest]]:
    """The members of a plan, fitted to other labels or more examples, and the forests that it has."""
    at, bare = labels.rows, {c: replace(c, fidelity=0.0, is_balanced=False) for c in plan.members}
    kinds: dict[str, list[tuple[int, str]]] = {}
    for config in plan.members:
        if config.family in (GRAPH, SUM):
            some = kinds.setdefault(config.space, [])
            some += (
                []
                if (config.n_neighbors, config.connectivity) in some
                else [(config.n_neighbors, config.connectivity)]
            )
    spaces = {c.space if c.family == KERNEL else c.partner for c in plan.members if c.family in (KERNEL, SUM)}
    makers = [
        *graph_kernels(points, at, kinds, bandwidth, engine),
        *feature_kernels(sorted(spaces), points, X, at),
    ]
    kernels = {kernel.config: kernel for kernel in (make() for make in makers)}  # one after the other: they are large
    for config in bare.values():
        if config.family == SUM and config not in kernels:
            graph = kernels[replace(config, family=GRAPH, weight=0.0, partner="")]
            kernels[config] = graph.plus(kernels[MemberConfig(KERNEL, config.partner)], config.weight, at)

    def fitted(config: MemberConfig) -> Member | None:
        if config.family == FOREST:
            return None
        return kernel_members(kernels[bare[config]], labels, (config.fidelity,), (config.is_balanced,))[0]

    with one_blas_thread():
        found = in_threads(fitted, list(plan.members), FEW_THREADS)
    splits = [config.splits for config in plan.members if config.family == FOREST]
    trees, forests = forest_members(X, labels, seed, splits) if splits else ([], {})
    members = iter(trees)
    return [next(members) if m is None else m for m in found], forests


def scales_of(kernel: Kernel, labels: MemberLabels) -> tuple[bool, ...]:
    """How scores are scaled: also for classes of unlike size, where a first graph predicts such ones.  (D8)"""
    R, mean = Ridge.of(kernel.rows(labels.rows), labels, kernel.fidelities[1]).fit(labels.Y)
    scores = kernel @ R + mean
    counts = np.bincount(scale_of(scores, mean)(scores).argmax(axis=1), minlength=labels.n_classes) + PSEUDO_COUNT
    shares = counts / counts.sum()
    n_effective = float(np.exp(-np.sum(shares * np.log(shares))))
    return (False,) if n_effective >= EVEN * labels.n_classes else (False, True)


def _fitted(
    makers: Iterable[Callable[[], Kernel]], labels: MemberLabels, scales: Sequence[bool]
) -> list[list[Member]]:
    """Members with each of several kernels, in threads."""

    def work(make: Callable[[], Kernel]) -> list[Member]:
        kernel = make()
        return kernel_members(kernel, labels, kernel.fidelities, scales)

    with one_blas_thread():
        return in_threads(work, list(makers), FEW_THREADS)


def _best(members: Sequence[Member]) -> float:
    return max(member.link.score for member in members)


def _kernel_of(members: Sequence[Member]) -> Kernel:
    kernel = members[0].kernel
    assert kernel is not None
    return kernel
