"""The search: space, then graph and smoothing, then reading, each by what held-out labels say."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import asdict, dataclass, replace
from itertools import product
from typing import Any

import numpy as np

from siis._types import Features, Floats, Ints, Sparse
from siis.evidence import READINGS, Space, kernel_scores, read, smooth_labels, spaces
from siis.evidence.kernel import Kernel
from siis.graph import Neighbors
from siis.labels import Supervision
from siis.progress import Progress
from siis.selection.candidate import TELL_APART, Candidate, Comparison, compare, held_out
from siis.selection.folds import N_FOLDS, deal_folds
from siis.selection.place import WORTH_THREADS, Place, Wishes, fold_graph, graph_weights, nearest, settle
from siis.table import Table

SCORE_WEIGHTS = (0.0, 1.0, 3.0)
FIDELITIES = (1.0, 0.1, 0.01)  # from rough to smooth: each starts from the one before
PULLS = (1e-4, 0.1)
USUAL = (10, "mutual", 0.1)  # graph and smoothing where nothing can be chosen
PROBES = ((10, "mutual"), (20, "union"))  # graphs by which spaces are compared
MOST_VERTICES = 10_000  # in the search; the answer is computed on all
MOST_LABELS = 5_000
STEADY = 1.5  # standard errors that it takes to leave the plainest space, and the usual reading
ROUGH = 3e-2  # tolerance of smoothing in the search
RACE_MARGIN = 1.5  # standard errors behind the best at which a candidate is dropped
LEAST_HELD_OUT = 4  # labels, below which nothing can be told apart
COLUMNS = (
    "stage",
    "space",
    "score_weight",
    "n_neighbors",
    "graph",
    "fidelity",
    "pull",
    "reading",
    "accuracy",
    "error",
    "behind",
    "behind_error",
    "n_held_out",
    "chosen",
)


@dataclass(frozen=True, eq=False)
class Selection:
    """What was chosen, and why.

    Attributes
    ----------
    chosen : Candidate
    space : Space or None
        None for a ready-made graph.
    unit : float
        Median distance to the tenth neighbour in it, in which scores are weighed against points.
    kernel : Kernel or None
    table : Table
        Everything that was tried: the share of held-out given labels that was met (accuracy), its standard error, how
        far that is behind the best of its stage, and the standard error of that difference.
    reason : str
        Why the chosen one was chosen, in a sentence.
    rows : ndarray of shape (l,)
        The labelled vertices that were held out.
    readings : ndarray of shape (l, c)
        What the chosen candidate says of them without their own labels.
    """

    chosen: Candidate
    space: Space | None
    unit: float
    kernel: Kernel | None
    table: Table
    reason: str
    rows: Ints
    readings: Floats


def search(X: Features, given: Supervision, wishes: Wishes, seed: int, progress: Progress) -> Selection:
    """Choose space, graph, smoothing and reading by cross-validation on the given labels.

    Parameters
    ----------
    X : array or csr_array of shape (n, d)
        Distinct examples.
    given : Supervision
        One label for each vertex, of at least two classes.
    wishes : Wishes
    seed : int
    progress : Progress

    Returns
    -------
    Selection
    """
    found = spaces(X, wishes.family, seed)
    folds = deal_folds(given.Y, seed)
    graphs = wishes.graphs(X.shape[0])
    if held_out(folds).size < LEAST_HELD_OUT or X.shape[0] < 3:
        return _fixed(found[0], settle(found[0], X, given), graphs, given)
    kept, X, given, folds = _subset(X, given, folds, seed)

    with progress.stage(f"selection: {len(found)} spaces"):
        places, hits = [], []
        for space in found:
            place = settle(space, X, given)
            places.append(place)
            hits.append(_probe(place, given, folds, wishes))
        rows, best = _judge(
            "space",
            [Candidate(p.space.name, 0.0, *USUAL, PULLS[0], READINGS[0]) for p in places],
            np.array(hits),
            given.weights[held_out(folds)],
            [(float(i),) for i in range(len(places))],
            STEADY,
        )
        place = places[best]
    with progress.stage(f"selection: {len(SCORE_WEIGHTS) * len(graphs) * len(FIDELITIES)} graphs and smoothings"):
        more, chosen = _race(place, graphs, given, folds, wishes, progress)
        rows += more
    with progress.stage("selection: reading"):
        fresh = deal_folds(given.Y, seed + 1)  # the winner's luck with the folds of the race does not count
        more, chosen, readings = _finish(
            chosen, given, fresh, PULLS, lambda train: fold_graph(place, chosen, train, wishes)
        )
        rows += more
    out = held_out(fresh)
    table = Table.from_rows(rows, COLUMNS)
    labelled = kept[given.rows[out]]
    return Selection(chosen, place.space, place.unit, place.kernel, table, _reason(rows), labelled, readings)


def search_graph(W: Sparse, given: Supervision, seed: int, progress: Progress) -> Selection:
    """Choose smoothing and reading on a ready-made graph.

    Parameters
    ----------
    W : csr_array of shape (n, n)
    given : Supervision
        One label for each vertex, of at least two classes.
    seed : int
    progress : Progress

    Returns
    -------
    Selection
    """
    folds = deal_folds(given.Y, seed)
    plain = Candidate("ready-made", 0.0, 0, "ready-made", USUAL[2], PULLS[0], READINGS[0])
    if held_out(folds).size < LEAST_HELD_OUT:
        return _fixed(None, None, [(0, "ready-made")], given)
    candidates = [replace(plain, fidelity=fidelity) for fidelity in FIDELITIES]
    with progress.stage("selection: smoothing"):
        hits = np.zeros((len(candidates), given.rows.size))
        for train, held in _splits(given, folds):
            for k, F in enumerate(_path(W, train, FIDELITIES)):
                hits[k, held] = _hits(read(F, READINGS[0])[given.rows[held]], given.Y[held])
        out = held_out(folds)
        order: list[tuple[float, ...]] = [c.complexity for c in candidates]
        rows, best = _judge("smoothing", candidates, hits[:, out], given.weights[out], order)
        fresh = deal_folds(given.Y, seed + 1)
        more, chosen, readings = _finish(candidates[best], given, fresh, PULLS[:1], lambda train: (W, None))
    rows += more
    return Selection(
        chosen, None, 1.0, None, Table.from_rows(rows, COLUMNS), _reason(rows), given.rows[out], readings
    )


def cross_readings(
    W: Sparse, given: Supervision, chosen: Candidate, scores: Floats | None, seed: int
) -> tuple[Ints, Floats]:
    """Read every label that can be held out on one finished graph, where the search has seen only some of them.

    Parameters
    ----------
    W : csr_array of shape (n, n)
    given : Supervision
        One label for each vertex.
    chosen : Candidate
    scores : ndarray of shape (n, c), or None
    seed : int

    Returns
    -------
    rows : ndarray of shape (l,)
    readings : ndarray of shape (l, c)
    """
    folds = deal_folds(given.Y, seed)
    readings = np.zeros((given.rows.size, given.n_classes))
    for train, held in _splits(given, folds):
        F = smoothed(W, train, chosen.fidelity, chosen.pull, scores)
        readings[held] = read(F, chosen.reading)[given.rows[held]]
    out = held_out(folds)
    return given.rows[out], readings[out]


def _fixed(space: Space | None, place: Place | None, graphs: list[tuple[int, str]], given: Supervision) -> Selection:
    """The stated defaults, where the labels are too few to choose by: ten mutual neighbours, moderate smoothing."""
    K, kind = min(graphs, key=lambda graph: (abs(graph[0] - USUAL[0]), graph[1] != USUAL[1]))
    name = "ready-made" if space is None else space.name
    chosen = Candidate(name, 0.0, K, kind, USUAL[2], PULLS[0], READINGS[0])
    reason = (
        f"nothing could be chosen: fewer than {LEAST_HELD_OUT} labels can be held out (a class needs two of them); "
        "stated defaults were used"
    )
    empty, table = np.zeros((0, given.n_classes)), Table.from_rows([], COLUMNS)
    unit, kernel = (1.0, None) if place is None else (place.unit, place.kernel)
    return Selection(chosen, space, unit, kernel, table, reason, np.zeros(0, dtype=np.int64), empty)


def _subset(X: Features, given: Supervision, folds: Ints, seed: int) -> tuple[Ints, Features, Supervision, Ints]:
    """At most MOST_VERTICES of the vertices, labelled ones first; which they are, and the labels among them."""
    n = X.shape[0]
    if n <= MOST_VERTICES:
        return np.arange(n), X, given, folds
    rng = np.random.default_rng(seed)
    labels = np.sort(rng.permutation(given.rows.size)[:MOST_LABELS])
    others = rng.permutation(np.setdiff1d(np.arange(n), given.rows))[: MOST_VERTICES - labels.size]
    kept = np.sort(np.concatenate([given.rows[labels], others]))
    place = np.full(n, -1)
    place[kept] = np.arange(kept.size)
    return kept, X[kept], given.picked(labels).moved(place), folds[labels]


def _splits(given: Supervision, folds: Ints) -> Iterator[tuple[Supervision, Ints]]:
    for fold in range(N_FOLDS):
        held = np.flatnonzero(folds == fold)
        if held.size:
            yield given.picked(folds != fold), held


def _hits(readings: Floats, Y: Floats) -> Floats:
    """The mass of each label on the class that is read."""
    return np.asarray(Y[np.arange(len(Y)), np.argmax(readings, axis=1)])


def _path(W: Sparse, train: Supervision, fidelities: tuple[float, ...]) -> Iterator[Floats]:
    """Smooth from rough to fine, each from the one before."""
    F = None
    for fidelity in fidelities:
        F = smooth_labels(W, train, fidelity, PULLS[0], tol=ROUGH, start=F)
        yield F


def _probe(place: Place, given: Supervision, folds: Ints, wishes: Wishes) -> Floats:
    """Hits of a space: the mean of its kernel model's and of some graphs'."""
    n = len(place.points)
    graphs = wishes.graphs(n) if wishes.n_neighbors != "auto" else [(min(K, n - 1), kind) for K, kind in PROBES]
    near = nearest(place.joined(None, 0.0), max(K for K, _ in graphs))
    built = [graph_weights(near, K, kind, wishes.bandwidth) for K, kind in graphs]
    hits = np.zeros(given.rows.size)
    for train, held in _splits(given, folds):
        soft = [kernel_scores(place.points, train, place.kernel)[0]]
        for W in built:
            soft.extend(_path(W, train, FIDELITIES[:2]))
        met = [_hits(read(F, READINGS[0])[given.rows[held]], given.Y[held]) for F in soft]
        hits[held] = np.mean(met, axis=0)
    return hits[held_out(folds)]


def _race(
    place: Place, graphs: list[tuple[int, str]], given: Supervision, folds: Ints, wishes: Wishes, progress: Progress
) -> tuple[list[dict[str, Any]], Candidate]:
    """Try all score weights, graphs and fidelities, fold after fold; drop those that fall far behind."""
    name = place.space.name
    combined = list(product(SCORE_WEIGHTS, graphs))
    candidates = [
        Candidate(name, weight, K, kind, fidelity, PULLS[0], READINGS[0])
        for weight, (K, kind) in combined
        for fidelity in FIDELITIES
    ]
    hits = np.zeros((len(candidates), given.rows.size))
    alive, seen = np.ones(len(candidates), dtype=bool), np.zeros(given.rows.size, dtype=bool)
    most = max(K for K, _ in graphs)
    bandwidth = wishes.bandwidth
    for fold, (train, held) in enumerate(_splits(given, folds)):
        scores, _ = kernel_scores(place.points, train, place.kernel)
        for weight in SCORE_WEIGHTS:
            mine = [g for g, (w, _) in enumerate(combined) if w == weight and alive[_block(g)].any()]
            if not mine:
                continue
            near = nearest(place.joined(scores, weight), most)

            def attempt(g: int, near: Neighbors = near, train: Supervision = train, held: Ints = held) -> Floats:
                K, kind = combined[g][1]
                W = graph_weights(near, K, kind, bandwidth)
                rows = given.rows[held]
                last = int(np.flatnonzero(alive[_block(g)])[-1]) + 1
                found = [_hits(read(F, READINGS[0])[rows], given.Y[held]) for F in _path(W, train, FIDELITIES[:last])]
                return np.array(found + [np.zeros(held.size)] * (len(FIDELITIES) - last))

            for g, found in zip(mine, _in_threads(attempt, mine, len(place.points)), strict=True):
                hits[_block(g), held] = found
        seen[held] = True
        so_far = compare(hits[np.ix_(alive, seen)], given.weights[seen])
        alive[alive] = so_far.level(RACE_MARGIN)
        progress.say(2, f"fold {fold + 1}: {np.count_nonzero(alive)} of {len(candidates)} candidates left")
    left = np.flatnonzero(alive)
    out = held_out(folds)
    rows, best = _judge(
        "graph",
        [candidates[k] for k in left],
        hits[np.ix_(left, out)],
        given.weights[out],
        [candidates[k].complexity for k in left],
    )
    return rows, candidates[left[best]]


def _block(g: int) -> slice:
    return slice(g * len(FIDELITIES), (g + 1) * len(FIDELITIES))


def _in_threads(work: Callable[[int], Floats], items: list[int], n_vertices: int) -> list[Floats]:
    if n_vertices < WORTH_THREADS or len(items) == 1:
        return [work(item) for item in items]
    with ThreadPoolExecutor(os.cpu_count()) as pool:
        return list(pool.map(work, items))


def _finish(
    chosen: Candidate,
    given: Supervision,
    folds: Ints,
    pulls: tuple[float, ...],
    graph_of: Callable[[Supervision], tuple[Sparse, Floats | None]],
) -> tuple[list[dict[str, Any]], Candidate, Floats]:
    """Choose pull and reading for the winner, and keep what it says of held-out labels."""
    candidates = [replace(chosen, pull=pull, reading=reading) for pull in pulls for reading in READINGS]
    readings = np.zeros((len(candidates), given.rows.size, given.n_classes))
    for train, held in _splits(given, folds):
        W, scores = graph_of(train)
        evidence = [smoothed(W, train, chosen.fidelity, pull, scores) for pull in pulls]
        for k, (F, reading) in enumerate(product(evidence, READINGS)):
            readings[k, held] = read(F, reading)[given.rows[held]]
    out = held_out(folds)
    hits = np.array([_hits(r[out], given.Y[out]) for r in readings])
    order: list[tuple[float, ...]] = [(float(c.reading != READINGS[0]), c.pull) for c in candidates]
    rows, best = _judge("reading", candidates, hits, given.weights[out], order, STEADY)
    return rows, candidates[best], readings[best, out]


def smoothed(
    W: Sparse, given: Supervision, fidelity: float, pull: float, scores: Floats | None, tol: float = 1e-3
) -> Floats:
    """Evidence: the labels' frequencies plus the smoothed labels, with a pull towards the scores' own excess.

    Parameters
    ----------
    W : csr_array of shape (n, n)
    given : Supervision
    fidelity, pull : float
    scores : ndarray of shape (n, c), or None
    tol : float

    Returns
    -------
    ndarray of shape (n, c)
    """
    excess = None if scores is None else scores - given.prior
    return given.prior + smooth_labels(W, given, fidelity, pull, excess, tol)


def _judge(
    stage: str,
    candidates: list[Candidate],
    hits: Floats,
    weights: Floats,
    order: list[tuple[float, ...]],
    margin: float = TELL_APART,
) -> tuple[list[dict[str, Any]], int]:
    """Table rows of a stage, best first, and the index of the winner."""
    judged: Comparison = compare(hits, weights)
    best = judged.winner(order, margin)
    rows: list[dict[str, Any]] = [
        {
            "stage": stage,
            **asdict(candidates[k]),
            "accuracy": float(judged.accuracy[k]),
            "error": float(judged.error[k]),
            "behind": float(judged.behind[k]),
            "behind_error": float(judged.behind_error[k]),
            "n_held_out": hits.shape[1],
            "chosen": bool(k == best),
        }
        for k in np.argsort(-judged.accuracy, kind="stable")
    ]
    return rows, best


def _reason(rows: list[dict[str, Any]]) -> str:
    last = [row for row in rows if row["chosen"]][-1]
    race = [row for row in rows if row["stage"] in ("graph", "smoothing")]
    won = next(row for row in race if row["chosen"])
    level = sum(row["behind"] <= TELL_APART * row["behind_error"] + 1e-12 for row in race)
    return (
        f"it meets {last['accuracy']:.1%} of {last['n_held_out']} held-out given labels; {level} of {len(race)} "
        "candidates that reached the end could not be told from the best (half a standard error), and of those it is "
        f"the simplest and smoothest (behind the best by {won['behind']:.2%})"
    )
