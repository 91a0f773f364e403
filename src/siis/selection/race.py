"""Spaces compared by a probe; then a race of graphs and smoothings, fold after fold."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import product
from typing import Any

import numpy as np
from scipy.sparse.csgraph import connected_components

from siis._types import Floats, Ints, Sparse
from siis.engine.threads import in_threads
from siis.errors import FAILURES
from siis.evidence import READINGS, kernel_scores, read, smooth_labels
from siis.graph import Neighbors
from siis.graph.rough import graph_weights, nearest
from siis.labels import Supervision
from siis.progress import Progress
from siis.selection.candidate import Candidate, compare, expected_hits, failed_rows, held_out, hits, rank_candidates
from siis.selection.constraints import Constraints
from siis.selection.folds import splits
from siis.selection.prepared import PreparedSpace

SCORE_WEIGHTS = (0.0, 1.0, 3.0)
FIDELITIES = (1.0, 0.1, 0.01)  # from rough to smooth: each starts from the one before
PULLS = (1e-4, 0.1)
PROBES = ((10, "mutual"), (20, "union"))  # graphs by which spaces are compared
ROUGH = 3e-2  # tolerance of smoothing in the search
WORTH_THREADS = 1000  # vertices, below which threads cost more than they save
RACE_MARGIN = 1.5  # standard errors behind the best at which a candidate is dropped


def smoothing_path(W: Sparse, train: Supervision, fidelities: tuple[float, ...]) -> Iterator[Floats]:
    """Smooth from rough to fine, each from the one before."""
    F = None
    for fidelity in fidelities:
        F = smooth_labels(W, train, fidelity, PULLS[0], tol=ROUGH, start=F)
        yield F


def probe(prepared: PreparedSpace, given: Supervision, folds: Ints, constraints: Constraints) -> Floats:
    """Hits of a space: the mean of its kernel model's and of some graphs'."""
    n = len(prepared.points)
    graphs = (
        constraints.graphs(n) if constraints.n_neighbors != "auto" else [(min(K, n - 1), kind) for K, kind in PROBES]
    )
    near = nearest(prepared.joined(None, 0.0), max(K for K, _ in graphs))
    built = [graph_weights(near, K, kind, constraints.bandwidth) for K, kind in graphs]
    found = np.zeros(given.rows.size)
    for train, held in splits(given, folds):
        Y, rows = given.Y[held], given.rows[held]
        scores = kernel_scores(prepared.points, train, prepared.kernel)[0]
        met = [hits(read(scores - train.prior, READINGS[0])[rows], Y)]
        for W in built:
            met.extend(path_hits(W, train, rows, Y, FIDELITIES[:2])[0])
        found[held] = np.mean(met, axis=0)
    return found[held_out(folds)]


def path_hits(
    W: Sparse, train: Supervision, rows: Ints, Y: Floats, fidelities: tuple[float, ...], reading: str = READINGS[0]
) -> tuple[list[Floats], float]:
    """Hits of labels smoothed over a graph, for each fidelity; vertices that no label reaches count as guesses.

    Parameters
    ----------
    W : csr_array of shape (n, n)
    train : Supervision
    rows : ndarray of shape (l,)
        Vertices of held-out labels.
    Y : ndarray of shape (l, c)
        These labels.
    fidelities : tuple of float
    reading : str

    Returns
    -------
    hits : list of ndarray of shape (l,)
    unreached : float
        Share of the vertices that no label of ``train`` reaches.
    """
    component = connected_components(W, directed=False)[1]
    reached = np.isin(component, component[train.rows])
    unreached = float(np.mean(~reached))
    paths = smoothing_path(W, train, fidelities)
    return [
        expected_hits(hits(read(F, reading)[rows], Y), Y, train.prior, reached[rows], unreached) for F in paths
    ], unreached


def race(
    prepared: PreparedSpace,
    graphs: list[tuple[int, str]],
    given: Supervision,
    folds: Ints,
    constraints: Constraints,
    reading: str,
    progress: Progress,
) -> tuple[list[dict[str, Any]], Candidate | None]:
    """Try all score weights, graphs and fidelities, fold after fold; drop those that fail or fall far behind.

    None where all of them have failed.
    """
    name = prepared.space.name
    combined = list(product(SCORE_WEIGHTS, graphs))
    candidates = [
        Candidate(name, weight, K, kind, fidelity, PULLS[0], reading)
        for weight, (K, kind) in combined
        for fidelity in FIDELITIES
    ]
    met, unreached = np.zeros((len(candidates), given.rows.size)), np.zeros(len(candidates))
    alive, seen = np.ones(len(candidates), dtype=bool), np.zeros(given.rows.size, dtype=bool)
    failures: dict[Candidate, str] = {}
    most = max(K for K, _ in graphs)
    bandwidth = constraints.bandwidth
    for fold, (train, held) in enumerate(splits(given, folds)):
        scores, _ = kernel_scores(prepared.points, train, prepared.kernel)
        for weight in SCORE_WEIGHTS:
            mine = [g for g, (w, _) in enumerate(combined) if w == weight and alive[_block(g)].any()]
            if not mine:
                continue
            near = nearest(prepared.joined(scores, weight), most)

            def attempt(
                g: int, near: Neighbors = near, train: Supervision = train, held: Ints = held
            ) -> tuple[list[Floats], float] | str:
                K, kind = combined[g][1]
                last = int(np.flatnonzero(alive[_block(g)])[-1]) + 1
                try:
                    W = graph_weights(near, K, kind, bandwidth)
                    return path_hits(W, train, given.rows[held], given.Y[held], FIDELITIES[:last], reading)
                except FAILURES as failure:
                    return str(failure)

            worth = len(prepared.points) >= WORTH_THREADS
            for g, found in zip(mine, in_threads(attempt, mine) if worth else map(attempt, mine), strict=True):
                if isinstance(found, str):
                    failures.update(dict.fromkeys(candidates[_block(g)], found))
                    alive[_block(g)] = False
                else:
                    for k, hit in enumerate(found[0], start=_block(g).start):
                        met[k, held], unreached[k] = hit, found[1]
        if not alive.any():
            return failed_rows("graph", failures), None
        seen[held] = True
        so_far = compare(met[np.ix_(alive, seen)], given.votes[seen])
        alive[alive] = so_far.level(RACE_MARGIN)
        progress.say(2, f"fold {fold + 1}: {np.count_nonzero(alive)} of {len(candidates)} candidates left")
    left = np.flatnonzero(alive)
    out = held_out(folds)
    rows, best = rank_candidates(
        "graph",
        [candidates[k] for k in left],
        met[np.ix_(left, out)],
        given.votes[out],
        [candidates[k].complexity for k in left],
        unreached=unreached[left],
    )
    return rows + failed_rows("graph", failures), candidates[left[best]]


def _block(g: int) -> slice:
    return slice(g * len(FIDELITIES), (g + 1) * len(FIDELITIES))
