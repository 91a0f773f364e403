"""How much is tried on how many examples, which graphs, and which of them leads."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import replace

import numpy as np

from siis._types import Bools
from siis.labels import VertexLabels
from siis.model.average import Average
from siis.model.kernels import GRAPH, GRAPHS, SUM, Choice
from siis.model.link import Labels
from siis.model.members import Member

MOST_TRIED, MOST_LABELS, MOST_CLASSES = 3000, 1200, 64  # vertices, labels and classes with which everything is tried
MOST_DENSE, MOST_DENSE_LABELS = 10_000, 2000  # with which the chosen members are fitted by factorisations
USUAL_FIDELITY, USUAL_NEIGHBORS = 0.1, 10
FEW_LOST = 0.005  # of the vertices, which a leading graph may leave without a label
TOO_FEW = "nothing could be chosen: no label can be held out (a class needs two of them); all members count alike"


def labels_of(pairs: VertexLabels, verified: Bools) -> Labels:
    """Given (vertex, label) pairs as labels; the only label of a class cannot be judged."""
    votes = pairs.counts / max(float(pairs.counts.mean()), 1.0)
    counts = np.bincount(pairs.codes, minlength=pairs.n_classes)
    return Labels(pairs.rows, pairs.Y, pairs.normalized_weights, votes, verified, counts[pairs.codes] > 1)


def graphs_of(n_neighbors: int | str, kind: str, n: int) -> list[tuple[int, str]]:
    """Neighbours and kinds of the graphs to try, (k, kind); what is not "auto" is kept."""
    wanted = list(GRAPHS)
    if n_neighbors != "auto":
        kinds = ("mutual", "union") if kind == "auto" else (kind,)
        wanted = [(int(n_neighbors), each) for each in kinds]
    elif kind != "auto":
        wanted = list(dict.fromkeys((k, kind) for k, _ in GRAPHS))
    return list(dict.fromkeys((min(k, n - 1), kind) for k, kind in wanted))


def leading_graph(members: Sequence[Member], average: Average, n: int, lengths: Collection[int] = ()) -> Choice:
    """The graph with the largest weight in an average, with the fidelity of the best member that is it alone.

    Graphs on which clearly fewer vertices are connected to a label are left to others that are averaged, too; and so
    are spaces in which all examples have unit length, ``lengths``: what is far from all others is not seen there.
    """
    weight: dict[tuple[int, int, str], float] = {}
    for member, share in zip(average.pool.members, average.pool.shares, strict=True):
        if member.family in (GRAPH, SUM):
            weight[_graph(member)] = weight.get(_graph(member), 0.0) + share
    alone = [m for m in members if m.family == GRAPH] or [m for m in members if m.family == SUM]
    reach = {_graph(m): _reached(m) for m in alone}
    most = max((reach[graph] for graph in weight), default=0.0)
    weight = {graph: share for graph, share in weight.items() if reach[graph] >= most - FEW_LOST}
    weight = {graph: share for graph, share in weight.items() if graph[0] not in lengths} or weight
    if not alone:  # one vertex, or graphs are left out
        return Choice(GRAPH, 0, min(USUAL_NEIGHBORS, n - 1), GRAPHS[-1][1], fidelity=USUAL_FIDELITY)
    if weight:
        most = max(weight.values())
        alone = [m for m in alone if weight.get(_graph(m), 0.0) >= most - 1e-12] or alone
    best = max(alone, key=lambda m: m.link.score).choice
    return replace(best, family=GRAPH, weight=0.0, partner=-1)


def _reached(member: Member) -> float:
    """Share of the vertices that are connected to a label."""
    assert member.kernel is not None
    return float(np.mean(member.kernel.columns.max(axis=1) > 0))


def _graph(member: Member) -> tuple[int, int, str]:
    return member.choice.space, member.choice.n_neighbors, member.choice.kind


def is_tried_whole(n: int, n_labels: int, n_classes: int) -> bool:
    """Whether everything is tried on all examples."""
    return n <= MOST_TRIED and n_labels <= MOST_LABELS and n_classes <= MOST_CLASSES


def is_dense(n: int, n_labels: int, n_classes: int) -> bool:
    """Whether members are fitted to all examples by factorisations."""
    return n <= MOST_DENSE and n_labels <= MOST_DENSE_LABELS and n_classes <= MOST_CLASSES
