"""Spaces compared by a probe; then a race of graphs and smoothings by what they say of held-out labels."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple

import numpy as np

from siis._types import Floats, Ints, Sparse
from siis.engine import NUMPY, Engine
from siis.engine.threads import FEW, in_threads
from siis.errors import FAILURES
from siis.evidence import READINGS, read, smooth_folds
from siis.graph import Neighbors, components_of
from siis.graph.rough import graph_weights, nearest
from siis.labels import Supervision
from siis.progress import Progress
from siis.selection.candidate import (
    Candidate,
    Comparison,
    compare,
    expected_hits,
    failed_rows,
    held_out,
    hits,
    rank_candidates,
)
from siis.selection.constraints import Constraints, usual_graph
from siis.selection.folds import splits
from siis.selection.prepared import PreparedSpace

SCORE_WEIGHTS = (0.0, 1.0, 3.0)
FIDELITIES = (1.0, 0.1, 0.01)  # from rough to smooth: each starts from the one before
PULLS = (1e-4, 0.1)
PROBES = ((10, "mutual"), (20, "union"))  # graphs by which spaces are compared
ROUGH = 3e-2  # tolerance of smoothing in the search
WORTH_THREADS = 1000  # vertices, below which threads cost more than they save
RACE_MARGIN = 1.5  # standard errors behind the best at which a candidate is not heard beside it
MOST_HEARD = 3  # graphs whose evidence is averaged

EARLY_FOLDS = 2  # on which all are tried
EARLY_MARGIN = 3.0  # standard errors behind the best there, at which the other folds are spared

Split = tuple[Supervision, Ints]  # labels that stay, and indices of those held out
Key = tuple[float, tuple[int, str]]  # score weight and graph


class Heat(NamedTuple):
    """Graphs of the same neighbours, to be tried on some of the folds."""

    weight: float
    graphs: list[tuple[int, str]]
    near: Neighbors
    parts: list[Split]


def smoothing_path(
    W: Sparse, trains: Sequence[Supervision], fidelities: tuple[float, ...], engine: Engine = NUMPY
) -> Iterator[list[Floats]]:
    """Smooth sets of labels from rough to fine, each from the one before."""
    F = None
    for fidelity in fidelities:
        F = smooth_folds(W, trains, fidelity, [PULLS[0]] * len(trains), tol=ROUGH, start=F, engine=engine)
        yield F


def path_hits(
    W: Sparse,
    given: Supervision,
    parts: Sequence[Split],
    fidelities: tuple[float, ...],
    reading: str = READINGS[0],
    engine: Engine = NUMPY,
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
    engine : Engine

    Returns
    -------
    hits : ndarray of shape (number of fidelities, l)
        0 where a label is held out in none of the parts.
    unreached : float
        Share of the vertices that no label reaches, in the mean of the parts.
    """
    component = components_of(W)
    reached = [np.isin(component, component[train.rows]) for train, _ in parts]
    met = np.zeros((len(fidelities), given.rows.size))
    for k, path in enumerate(smoothing_path(W, [train for train, _ in parts], fidelities, engine)):
        for F, (train, held), is_reached in zip(path, parts, reached, strict=True):
            rows, Y = given.rows[held], given.Y[held]
            said = hits(read(F, reading, rows), Y)
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
        met.extend(path_hits(W, given, parts, FIDELITIES[:2], engine=prepared.engine)[0])
    return np.asarray(np.mean(met, axis=0)[held_out(folds)])


@dataclass(eq=False)
class _Race:
    """Candidates by score weight and graph, all fidelities together, and their hits so far."""

    prepared: PreparedSpace
    given: Supervision
    parts: list[Split]
    constraints: Constraints
    reading: str
    met: dict[Key, Floats] = field(default_factory=dict)
    unreached: dict[Key, float] = field(default_factory=dict)
    failures: dict[Candidate, str] = field(default_factory=dict)
    dropped: list[dict[str, Any]] = field(default_factory=list)

    def candidates(self, keys: Iterable[Key]) -> list[Candidate]:
        """One for each score weight, graph and fidelity."""
        name = self.prepared.space.name
        return [
            Candidate(name, weight, *graph, fidelity, PULLS[0], self.reading)
            for weight, graph in keys
            for fidelity in FIDELITIES
        ]

    def run(self, heats: Sequence[Heat]) -> None:
        """Try graphs on some of the folds, in threads; those that fail are out."""
        failed = {(c.score_weight, (c.n_neighbors, c.graph)) for c in self.failures}
        tries = [(heat, graph) for heat in heats for graph in heat.graphs if (heat.weight, graph) not in failed]

        def attempt(one: tuple[Heat, tuple[int, str]]) -> tuple[Floats, float] | str:
            heat, graph = one
            try:
                W = graph_weights(heat.near, *graph, self.constraints.bandwidth)
                return path_hits(W, self.given, heat.parts, FIDELITIES, self.reading, self.prepared.engine)
            except FAILURES as failure:
                return str(failure)

        worth = len(self.prepared.points) >= WORTH_THREADS
        told = in_threads(attempt, tries, FEW) if worth else [attempt(one) for one in tries]
        for (heat, graph), found in zip(tries, told, strict=True):
            key = (heat.weight, graph)
            if isinstance(found, str):
                self.failures.update(dict.fromkeys(self.candidates([key]), found))
            else:
                self.met[key] = self.met.get(key, 0.0) + found[0]
                self.unreached[key] = found[1]
        for c in self.failures:
            self.met.pop((c.score_weight, (c.n_neighbors, c.graph)), None)

    def best(self, labels: Ints) -> Key:
        """Score weight and graph of the winner on some of the labels."""
        candidates = self.candidates(self.met)
        winner = candidates[self._compare(labels).winner(self._order)]
        return winner.score_weight, (winner.n_neighbors, winner.graph)

    def drop(self, labels: Ints) -> None:
        """Leave out those that are far behind the best on some of the labels, with all of their smoothings."""
        if not self.met:
            return
        rows, _ = self.ranked(labels)
        is_level = self._compare(labels).level(EARLY_MARGIN).reshape(-1, len(FIDELITIES))
        out = [key for key, ahead in zip(list(self.met), is_level, strict=True) if not ahead.any()]
        for weight, graph in out:
            del self.met[weight, graph]
            key = (weight, *graph)
            self.dropped += [r for r in rows if (r["score_weight"], r["n_neighbors"], r["graph"]) == key]

    def ranked(self, labels: Ints) -> tuple[list[dict[str, Any]], Candidate]:
        """Rows of those that are left, and the winner."""
        candidates = self.candidates(self.met)
        rows, best = rank_candidates(
            "graph",
            candidates,
            self._hits(labels),
            self.given.votes[labels],
            self._order,
            unreached=np.repeat([self.unreached[key] for key in self.met], len(FIDELITIES)),
        )
        return rows, candidates[best]

    def heard(self, winner: Candidate, labels: Ints) -> list[Candidate]:
        """The winner, and the best smoothing of the next best graphs that are not far behind."""
        candidates, judged = self.candidates(self.met), self._compare(labels)
        is_level, heard = judged.level(RACE_MARGIN), {winner.graph_key: winner}
        for k in np.argsort(-judged.accuracy, kind="stable"):
            if is_level[k] and len(heard) < MOST_HEARD:
                heard.setdefault(candidates[k].graph_key, candidates[k])
        return list(heard.values())

    def _compare(self, labels: Ints) -> Comparison:
        return compare(self._hits(labels), self.given.votes[labels], self._order)

    @property
    def _order(self) -> list[tuple[float, ...]]:
        return [c.complexity for c in self.candidates(self.met)]

    def _hits(self, labels: Ints) -> Floats:
        return np.concatenate([met[:, labels] for met in self.met.values()])


def race(
    prepared: PreparedSpace,
    graphs: list[tuple[int, str]],
    given: Supervision,
    folds: Ints,
    constraints: Constraints,
    reading: str,
    weights: Sequence[float],
    progress: Progress,
) -> tuple[list[dict[str, Any]], list[Candidate]]:
    """Try score weights, graphs and fidelities; give the winner and those that are heard beside it.

    All graphs without scores, and each score weight on the winner of these and on the usual graph: first on some of
    the folds, then, those that are not far behind, on the others. At last, in the same way, the other graphs with the
    score weight that won. None where all of them have failed. Beside the winner, the best smoothing of each of the
    next best graphs is heard where it is not far behind the best.
    """
    out = held_out(folds)
    field = _Race(prepared, given, list(splits(given, folds)), constraints, reading)
    joined = _Joined(prepared, field.parts)
    early, late = range(EARLY_FOLDS), range(EARLY_FOLDS, len(field.parts))
    seen = np.concatenate([held for _, held in field.parts[:EARLY_FOLDS]])
    field.run([Heat(0.0, graphs, prepared.near, field.parts[:EARLY_FOLDS])])
    first = list(dict.fromkeys([field.best(seen)[1], usual_graph(graphs)])) if field.met else graphs
    field.run(joined.heats(early, dict.fromkeys(weights[1:], first)))
    field.drop(seen)
    left = {weight: [graph for w, graph in field.met if w == weight] for weight in weights}
    plain = [Heat(0.0, left.pop(0.0), prepared.near, field.parts[EARLY_FOLDS:])] if late else []
    field.run(plain + joined.heats(late, left))
    progress.say(2, f"after {seen.size} labels: {len(field.met)} graphs left")
    if field.met and (weight := field.best(out)[0]) > 0:
        others = [graph for graph in graphs if graph not in first]
        field.run(joined.heats(early, {weight: others}))
        field.drop(seen)
        field.run(joined.heats(late, {weight: [graph for graph in others if (weight, graph) in field.met]}))
        progress.say(2, f"scores of weight {weight:g}: {len(field.met)} graphs left")
    failed = failed_rows("graph", field.failures)
    if not field.met:
        return field.dropped + failed, []
    rows, winner = field.ranked(out)
    return rows + field.dropped + failed, field.heard(winner, out)


class _Joined:
    """Neighbours of points and scores for each weight and fold, found once."""

    def __init__(self, prepared: PreparedSpace, parts: list[Split]) -> None:
        self.prepared, self.parts = prepared, parts
        self.found: dict[tuple[float, int], Neighbors] = {}

    def heats(self, folds: Iterable[int], graphs: dict[float, list[tuple[int, str]]]) -> list[Heat]:
        """Graphs of each score weight, on each of the folds."""
        chosen, folds = [weight for weight in graphs if graphs[weight]], list(folds)

        def search(fold: int) -> None:
            missing = [weight for weight in chosen if (weight, fold) not in self.found]
            scores = self.prepared.scores(self.parts[fold][0]) if missing else None
            for weight in missing:
                most = self.prepared.near.indices.shape[1]
                self.found[weight, fold] = nearest(self.prepared.joined(scores, weight), most, self.prepared.engine)

        in_threads(search, folds, FEW)
        return [
            Heat(weight, graphs[weight], self.found[weight, fold], [self.parts[fold]])
            for fold in folds
            for weight in chosen
        ]
