"""The search: space, then graph and smoothing, then reading, then the program, each by what held-out labels say."""

from __future__ import annotations

from dataclasses import asdict, dataclass, replace
from itertools import product
from typing import Any

import numpy as np

from siis._types import Features, Floats, Ints, Sparse
from siis.errors import FAILURES, NumericalError
from siis.evidence import READINGS, Space, read, spaces
from siis.evidence.kernel import Kernel
from siis.labels import Supervision
from siis.progress import Progress
from siis.selection.candidate import TELL_APART, Candidate, failed_rows, held_out, hits, judge
from siis.selection.final import choose_program, program_candidates
from siis.selection.folds import deal_folds, splits
from siis.selection.place import GraphOf, Place, Wishes, fold_graphs, settle, smoothed
from siis.selection.race import FIDELITIES, PULLS, SCORE_WEIGHTS, probe, race, smoothing_path
from siis.table import Table

USUAL = (10, "mutual", 0.1)  # graph and smoothing where nothing can be chosen
MOST_VERTICES = 10_000  # in the search; the answer is computed on all
MOST_LABELS = 5_000
STEADY = 1.5  # standard errors that it takes to leave the plainest space, and the usual reading
LEAST_HELD_OUT = 4  # labels, below which nothing can be told apart
TOO_FEW = (
    f"nothing could be chosen: fewer than {LEAST_HELD_OUT} labels can be held out (a class needs two of them); "
    "stated defaults were used"
)
ALL_FAILED = "nothing could be chosen: every graph that was tried has failed; stated defaults were used"
COLUMNS = (
    "stage",
    "space",
    "score_weight",
    "n_neighbors",
    "graph",
    "fidelity",
    "pull",
    "reading",
    "n_components",
    "beta",
    "alpha",
    "laplacian",
    "accuracy",
    "error",
    "behind",
    "behind_error",
    "unreached",
    "n_held_out",
    "chosen",
    "failed",
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
        far that is behind the best of its stage, and the standard error of that difference; of graphs, the share of
        vertices that no label reaches, which count as guesses in their accuracy; why a candidate failed, if it did.
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

    def without(self, failures: dict[Candidate, str], chosen: Candidate) -> Selection:
        """The selection after final programs have failed, and another one has been solved.

        Parameters
        ----------
        failures : dict of Candidate to str
            Those that failed, and why.
        chosen : Candidate
            The one that was solved.

        Returns
        -------
        Selection
        """
        table = self.table.rows()
        kept = [row for row in table if row["stage"] != "program" or not any(_is(row, c) for c in failures)]
        for row in kept:
            row["chosen"] = _is(row, chosen) if row["stage"] == "program" else row["chosen"]
        rows = kept + failed_rows("program", failures)
        reason = f"{self.reason}; of the programs, {len(failures)} failed on all examples, and the next was taken"
        return replace(self, chosen=chosen, table=Table.from_rows(rows, COLUMNS), reason=reason)


def _is(row: dict[str, Any], candidate: Candidate) -> bool:
    """Whether a row of the table describes a candidate."""
    return all(row[name] == value for name, value in asdict(candidate).items())


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
        return _fixed(found[0], settle(found[0], X, given), graphs, given, wishes, TOO_FEW)
    kept, X, given, folds = _subset(X, given, folds, seed)

    with progress.stage(f"selection: {len(found)} spaces"):
        places, usual, met = [], [], []
        failures: dict[Candidate, str] = {}
        for space in found:
            candidate = Candidate(space.name, 0.0, *USUAL, PULLS[0], READINGS[0])
            try:
                place = settle(space, X, given)
                met.append(probe(place, given, folds, wishes))
            except FAILURES as failure:
                failures[candidate] = str(failure)
                continue
            places.append(place)
            usual.append(candidate)
        if not places:
            raise NumericalError(f"the examples cannot be compared in any space: {next(iter(failures.values()))}")
        order: list[tuple[float, ...]] = [(float(i),) for i in range(len(places))]
        rows, best = judge("space", usual, np.array(met), given.weights[held_out(folds)], order, STEADY)
        rows += failed_rows("space", failures)
        place = places[best]
    with progress.stage(f"selection: {len(SCORE_WEIGHTS) * len(graphs) * len(FIDELITIES)} graphs and smoothings"):
        more, winner = race(place, graphs, given, folds, wishes, progress)
        rows += more
    if winner is None:
        return replace(
            _fixed(place.space, place, graphs, given, wishes, ALL_FAILED), table=Table.from_rows(rows, COLUMNS)
        )
    with progress.stage("selection: reading"):
        fresh = deal_folds(given.Y, seed + 1)  # the winner's luck with the folds of the race does not count
        more, chosen, readings, evidence = _finish(winner, given, fresh, PULLS, fold_graphs(place, winner, wishes))
        rows += more
    more, chosen = _program(chosen, given, fresh, evidence, wishes, seed, progress)
    rows += more
    out = held_out(fresh)
    table = Table.from_rows(rows, COLUMNS)
    labelled = kept[given.rows[out]]
    return Selection(chosen, place.space, place.unit, place.kernel, table, _reason(rows), labelled, readings)


def search_graph(W: Sparse, given: Supervision, wishes: Wishes, seed: int, progress: Progress) -> Selection:
    """Choose smoothing and reading on a ready-made graph.

    Parameters
    ----------
    W : csr_array of shape (n, n)
    given : Supervision
        One label for each vertex, of at least two classes.
    wishes : Wishes
    seed : int
    progress : Progress

    Returns
    -------
    Selection
    """
    folds = deal_folds(given.Y, seed)
    plain = Candidate("ready-made", 0.0, 0, "ready-made", USUAL[2], PULLS[0], READINGS[0])
    if held_out(folds).size < LEAST_HELD_OUT:
        return _fixed(None, None, [(0, "ready-made")], given, wishes, TOO_FEW)
    candidates = [replace(plain, fidelity=fidelity) for fidelity in FIDELITIES]
    with progress.stage("selection: smoothing"):
        met = np.zeros((len(candidates), given.rows.size))
        for train, held in splits(given, folds):
            for k, F in enumerate(smoothing_path(W, train, FIDELITIES)):
                met[k, held] = hits(read(F, READINGS[0])[given.rows[held]], given.Y[held])
        out = held_out(folds)
        order: list[tuple[float, ...]] = [c.complexity for c in candidates]
        rows, best = judge("smoothing", candidates, met[:, out], given.weights[out], order)
        fresh = deal_folds(given.Y, seed + 1)
        more, chosen, readings, evidence = _finish(candidates[best], given, fresh, PULLS[:1], lambda train: (W, None))
    rows += more
    more, chosen = _program(chosen, given, fresh, evidence, wishes, seed, progress)
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
    for train, held in splits(given, folds):
        F = smoothed(W, train, chosen.fidelity, chosen.pull, scores)
        readings[held] = read(F, chosen.reading)[given.rows[held]]
    out = held_out(folds)
    return given.rows[out], readings[out]


def _fixed(
    space: Space | None,
    place: Place | None,
    graphs: list[tuple[int, str]],
    given: Supervision,
    wishes: Wishes,
    reason: str,
) -> Selection:
    """The stated defaults, where nothing can be chosen: ten mutual neighbours, moderate smoothing."""
    K, kind = min(graphs, key=lambda graph: (abs(graph[0] - USUAL[0]), graph[1] != USUAL[1]))
    name = "ready-made" if space is None else space.name
    plain = Candidate(name, 0.0, K, kind, USUAL[2], PULLS[0], READINGS[0])
    chosen = program_candidates(plain, wishes, given.n_classes)[0]
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


def _finish(
    chosen: Candidate,
    given: Supervision,
    folds: Ints,
    pulls: tuple[float, ...],
    graph_of: GraphOf,
) -> tuple[list[dict[str, Any]], Candidate, Floats, list[tuple[Sparse, Floats]]]:
    """Choose pull and reading for the winner; keep what it says of held-out labels, and its evidence in each fold."""
    candidates = [replace(chosen, pull=pull, reading=reading) for pull in pulls for reading in READINGS]
    readings = np.zeros((len(candidates), given.rows.size, given.n_classes))
    kept = []
    for train, held in splits(given, folds):
        W, scores = graph_of(train)
        evidence = [smoothed(W, train, chosen.fidelity, pull, scores) for pull in pulls]
        kept.append((W, evidence))
        for k, (F, reading) in enumerate(product(evidence, READINGS)):
            readings[k, held] = read(F, reading)[given.rows[held]]
    out = held_out(folds)
    met = np.array([hits(r[out], given.Y[out]) for r in readings])
    order: list[tuple[float, ...]] = [(float(c.reading != READINGS[0]), c.pull) for c in candidates]
    rows, best = judge("reading", candidates, met, given.weights[out], order, STEADY)
    winner = candidates[best]
    return rows, winner, readings[best, out], [(W, evidence[pulls.index(winner.pull)]) for W, evidence in kept]


def _program(
    chosen: Candidate,
    given: Supervision,
    folds: Ints,
    evidence: list[tuple[Sparse, Floats]],
    wishes: Wishes,
    seed: int,
    progress: Progress,
) -> tuple[list[dict[str, Any]], Candidate]:
    """Choose the final program; on ready-made graphs of many vertices, the usual one."""
    candidates = program_candidates(chosen, wishes, given.n_classes)
    if len(candidates) == 1 or evidence[0][0].shape[0] > MOST_VERTICES:
        return [], candidates[0]
    with progress.stage(f"selection: {len(candidates)} programs"):
        return choose_program(candidates, given, folds, evidence, wishes, seed)


def _reason(rows: list[dict[str, Any]]) -> str:
    last = [row for row in rows if row["chosen"]][-1]
    race = [row for row in rows if row["stage"] in ("graph", "smoothing") and not row["failed"]]
    won = next(row for row in race if row["chosen"])
    level = sum(row["behind"] <= TELL_APART * row["behind_error"] + 1e-12 for row in race)
    return (
        f"it meets {last['accuracy']:.1%} of {last['n_held_out']} held-out given labels; {level} of {len(race)} "
        "candidates that reached the end could not be told from the best (half a standard error), and of those it is "
        f"the simplest and smoothest (behind the best by {won['behind']:.2%})"
    )
