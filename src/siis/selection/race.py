"""Spaces compared by a probe; then a race of graphs and smoothings by what they say of held-out labels."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from itertools import product
from typing import Any

import numpy as np
from scipy.sparse.csgraph import connected_components

from siis._types import Floats, Ints, Sparse
from siis.engine.threads import in_threads
from siis.errors import FAILURES
from siis.evidence import READINGS, read, smooth_folds
from siis.graph import Neighbors
from siis.graph.rough import graph_weights, nearest
from siis.labels import Supervision
from siis.progress import Progress
from siis.selection.candidate import Candidate, compare, expected_hits, failed_rows, held_out, hits, rank_candidates
from siis.selection.constraints import Constraints, usual_graph
from siis.selection.folds import splits
from siis.selection.prepared import PreparedSpace

SCORE_WEIGHTS = (0.0, 1.0, 3.0)
FIDELITIES = (1.0, 0.1, 0.01)  # from rough to smooth: each starts from the one before
PULLS = (1e-4, 0.1)
PROBES = ((10, "mutual"), (20, "union"))  # graphs by which spaces are compared
ROUGH = 3e-2  # tolerance of smoothing in the search
WORTH_THREADS = 1000  # vertices, below which threads cost more than they save
RACE_MARGIN = 1.5  # standard errors behind the best at which a candidate is dropped
MOST_HEARD = 3  # graphs whose evidence is averaged

Split = tuple[Supervision, Ints]  # labels that stay, and indices of those held out


def smoothing_path(W: Sparse, trains: Sequence[Supervision], fidelities: tuple[float, ...]) -> Iterator[list[Floats]]:
    """Smooth sets of labels from rough to fine, each from the one before."""
    F = None
    for fidelity in fidelities:
        F = smooth_folds(W, trains, fidelity, [PULLS[0]] * len(trains), tol=ROUGH, start=F)
        yield F


def path_hits(
    W: Sparse, given: Supervision, parts: Sequence[Split], fidelities: tuple[float, ...], reading: str = READINGS[0]
) -> tuple[Floats, float]:
    """Hits of labels smoothed over a graph, for each fidelity; vertices that no label reaches count as guesses.

    Parameters
    ----------
    W : csr_array of shape (n, n)
    given : Supervision
    parts : sequence of (Supervision, ndarray)
        Labels that stay, and indices of those held out.
    fidelities : tuple of float
    reading : str

    Returns
    -------
    hits : ndarray of shape (number of fidelities, l)
        0 where a label is held out in none of the parts.
    unreached : float
        Share of the vertices that no label reaches, in the mean of the parts.
    """
    component = connected_components(W, directed=False)[1]
    reached = [np.isin(component, component[train.rows]) for train, _ in parts]
    met = np.zeros((len(fidelities), given.rows.size))
    for k, path in enumerate(smoothing_path(W, [train for train, _ in parts], fidelities)):
        for F, (train, held), is_reached in zip(path, parts, reached, strict=True):
            rows, Y = given.rows[held], given.Y[held]
            said = hits(read(F, reading)[rows], Y)
            met[k, held] = expected_hits(said, Y, train.prior, is_reached[rows], float(np.mean(~is_reached)))
    return met, float(np.mean([np.mean(~is_reached) for is_reached in reached]))


def probe(prepared: PreparedSpace, given: Supervision, folds: Ints, constraints: Constraints) -> Floats:
    """Hits of a space: the mean of its kernel model's and of some graphs'."""
    n = len(prepared.points)
    graphs = (
        constraints.graphs(n) if constraints.n_neighbors != "auto" else [(min(K, n - 1), kind) for K, kind in PROBES]
    )
    parts = list(splits(given, folds))
    scores = prepared.scores(given.merged())  # without their own labels, (C2)
    met = [hits(read(scores - given.prior, READINGS[0])[given.rows], given.Y)]
    for K, kind in graphs:
        W = graph_weights(prepared.near, K, kind, constraints.bandwidth)
        met.extend(path_hits(W, given, parts, FIDELITIES[:2])[0])
    return np.asarray(np.mean(met, axis=0)[held_out(folds)])


@dataclass(eq=False)
class _Race:
    """Candidates by score weight and graph, all fidelities together, and their hits so far."""

    prepared: PreparedSpace
    given: Supervision
    parts: list[Split]
    constraints: Constraints
    reading: str
    met: dict[tuple[float, tuple[int, str]], Floats] = field(default_factory=dict)
    unreached: dict[tuple[float, tuple[int, str]], float] = field(default_factory=dict)
    failures: dict[Candidate, str] = field(default_factory=dict)

    def candidates(self, weight: float, graph: tuple[int, str]) -> list[Candidate]:
        """One for each fidelity."""
        name = self.prepared.space.name
        return [Candidate(name, weight, *graph, fidelity, PULLS[0], self.reading) for fidelity in FIDELITIES]

    def run(self, weight: float, graphs: list[tuple[int, str]], near: Neighbors, parts: list[Split]) -> None:
        """Try graphs of these neighbours on some of the folds; those that fail are out."""
        failed = {(c.score_weight, (c.n_neighbors, c.graph)) for c in self.failures}
        graphs = [graph for graph in graphs if (weight, graph) not in failed]

        def attempt(graph: tuple[int, str]) -> tuple[Floats, float] | str:
            try:
                W = graph_weights(near, *graph, self.constraints.bandwidth)
                return path_hits(W, self.given, parts, FIDELITIES, self.reading)
            except FAILURES as failure:
                return str(failure)

        worth = len(self.prepared.points) >= WORTH_THREADS
        for graph, found in zip(graphs, in_threads(attempt, graphs) if worth else map(attempt, graphs), strict=True):
            if isinstance(found, str):
                self.failures.update(dict.fromkeys(self.candidates(weight, graph), found))
                self.met.pop((weight, graph), None)
            else:
                self.met[weight, graph] = self.met.get((weight, graph), 0.0) + found[0]
                self.unreached[weight, graph] = found[1]

    def best(self, labels: Ints) -> tuple[float, tuple[int, str]]:
        """Score weight and graph of the winner on some of the labels."""
        keys, found = self._flat(labels)
        order = [c.complexity for key in self.met for c in self.candidates(*key)]
        return keys[compare(found, self.given.votes[labels]).winner(order)]

    def level(self, labels: Ints) -> set[tuple[float, tuple[int, str]]]:
        """Which are not far behind the best on some of the labels."""
        keys, found = self._flat(labels)
        is_level = compare(found, self.given.votes[labels]).level(RACE_MARGIN)
        return {key for key, ahead in zip(keys, is_level, strict=True) if ahead}

    def _flat(self, labels: Ints) -> tuple[list[tuple[float, tuple[int, str]]], Floats]:
        keys = [key for key in self.met for _ in FIDELITIES]
        return keys, np.concatenate([met[:, labels] for met in self.met.values()])


def race(
    prepared: PreparedSpace,
    graphs: list[tuple[int, str]],
    given: Supervision,
    folds: Ints,
    constraints: Constraints,
    reading: str,
    progress: Progress,
) -> tuple[list[dict[str, Any]], list[Candidate]]:
    """Try score weights, graphs and fidelities; give the winner and those that are heard beside it.

    First all graphs without scores, whose folds share them; then each score weight on the winner's graph and on the
    usual one, fold after fold, until it falls far behind; at last the other graphs with the score weight that won.
    None where all of them have failed. Beside the winner, the best smoothing of each of the next best graphs is heard
    where it is not far behind the best.
    """
    out = held_out(folds)
    field = _Race(prepared, given, list(splits(given, folds)), constraints, reading)
    field.run(SCORE_WEIGHTS[0], graphs, prepared.near, field.parts)
    first = list(dict.fromkeys([field.best(out)[1], usual_graph(graphs)])) if field.met else graphs
    near = _joined(field, first, progress)
    if field.met:
        weight = field.best(out)[0]
        if weight > 0:
            for part, found in zip(field.parts, near[weight], strict=True):
                field.run(weight, [g for g in graphs if g not in first], found, [part])
            progress.say(2, f"scores of weight {weight:g} on {len(graphs)} graphs")
    if not field.met:
        return failed_rows("graph", field.failures), []
    keys = list(field.met)
    candidates = [c for key in keys for c in field.candidates(*key)]
    rows, best = rank_candidates(
        "graph",
        candidates,
        np.concatenate([field.met[key][:, out] for key in keys]),
        given.votes[out],
        [c.complexity for c in candidates],
        unreached=np.repeat([field.unreached[key] for key in keys], len(FIDELITIES)),
    )
    return rows + failed_rows("graph", field.failures), _heard(field, candidates[best], out)


def _heard(field: _Race, winner: Candidate, labels: Ints) -> list[Candidate]:
    """The winner, and the best smoothing of the next best graphs that are not far behind."""
    candidates = [c for key in field.met for c in field.candidates(*key)]
    judged = compare(field._flat(labels)[1], field.given.votes[labels])
    is_level, heard = judged.level(RACE_MARGIN), {winner.graph_key: winner}
    for k in np.argsort(-judged.accuracy, kind="stable"):
        if is_level[k] and len(heard) < MOST_HEARD:
            heard.setdefault(candidates[k].graph_key, candidates[k])
    return list(heard.values())


def _joined(field: _Race, graphs: list[tuple[int, str]], progress: Progress) -> dict[float, list[Neighbors]]:
    """Score weights on some graphs, fold after fold; the neighbours of those that have come to the end."""
    near: dict[float, list[Neighbors]] = {weight: [] for weight in SCORE_WEIGHTS[1:]}
    seen = np.zeros(0, dtype=np.int64)
    most = field.prepared.near.indices.shape[1]
    for part in field.parts:
        if not near:
            break
        scores = field.prepared.scores(part[0])
        for weight, found in near.items():
            found.append(nearest(field.prepared.joined(scores, weight), most))
            field.run(weight, graphs, found[-1], [part])
        seen = np.concatenate([seen, part[1]])
        level = field.level(seen) if field.met else set()
        for weight, graph in product(list(near), graphs):
            if (weight, graph) not in level:
                field.met.pop((weight, graph), None)
        near = {weight: found for weight, found in near.items() if any((weight, g) in field.met for g in graphs)}
        progress.say(2, f"score weights left after {seen.size} labels: {', '.join(map(str, near)) or 'none'}")
    return near
