"""The search: space, then graph and smoothing, then reading, then the program, each by what held-out labels say."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from itertools import count, groupby, product
from typing import Any

import numpy as np

from siis._types import Features, Floats, Ints, Sparse
from siis.engine import NUMPY, Engine
from siis.engine.threads import FEW, in_threads, one_blas_thread
from siis.engine.types import Array
from siis.errors import FAILURES, NumericalError
from siis.evidence import READINGS, Space, read, smooth_labels, spaces
from siis.evidence.smoother import MOST_ELSEWHERE
from siis.graph.rough import graph_weights
from siis.labels import Supervision
from siis.progress import Progress, Report
from siis.result_table import Table
from siis.selection.candidate import TELL_APART, Candidate, failed_rows, held_out, hits, rank_candidates
from siis.selection.constraints import USUAL_GRAPH, Constraints, usual_graph
from siis.selection.folds import deal_folds, splits
from siis.selection.part import MOST_VERTICES, searched_part
from siis.selection.prepared import GraphsOf, PreparedSpace, fold_graphs, prepare_space, smooth_all
from siis.selection.programs import Held, as_large, choose_program, is_within, program_candidates
from siis.selection.race import FIDELITIES, PROBES, PULLS, SCORE_WEIGHTS, path_hits, probe, race
from siis.selection.selection import BOTH, COLUMNS, EVIDENCE, PROGRAM, Selection
from siis.selection.shares import answered_shares, population_weights, usual_reading

USUAL = (*USUAL_GRAPH, 0.1)  # graph and smoothing where nothing can be chosen
MOST_AT_ONCE = 2**26  # soft labels of folds that are smoothed as columns of one block, on all vertices
ROUGHLY = 1e-2  # tolerance of that: readings are then off by far less than labels tell
STEADY = 1.5  # standard errors that it takes to leave even features as they are, and the usual reading
LEAST_HELD_OUT = 4  # labels, below which nothing can be told apart
TOO_FEW = (
    f"nothing could be chosen: fewer than {LEAST_HELD_OUT} labels can be held out (a class needs two of them); "
    "stated defaults were used"
)
LEAST_EXAMPLES = 3  # different ones
TOO_ALIKE = (
    f"nothing could be chosen: there are fewer than {LEAST_EXAMPLES} different examples; stated defaults were used"
)
SPEAKS = {
    PROGRAM: "",
    BOTH: "; the mean of program and evidence predicts them better than either",
    EVIDENCE: "; no program: the evidence itself predicts them better",
}
TOO_MANY_CLASSES = "; no program: it has fewer columns than there are classes"
ALL_FAILED = "nothing could be chosen: every graph that was tried has failed; stated defaults were used"


@one_blas_thread()
def choose_on_points(
    X: Features, given: Supervision, constraints: Constraints, seed: int, progress: Progress, engine: Engine = NUMPY
) -> tuple[Selection, Floats | None]:
    """Choose space, graph, smoothing, reading and program by cross-validation on the given labels.

    Parameters
    ----------
    X : array or csr_array of shape (n, d)
        Distinct examples.
    given : Supervision
        One label for each labelled example, of at least two classes.
    constraints : Constraints
    seed : int
    progress : Progress
    engine : Engine

    Returns
    -------
    Selection
    points : ndarray of shape (n, k), or None
        The examples in the chosen space; None where the search has seen some of them only.
    """
    n, c = X.shape[0], given.n_classes
    found, graphs = spaces(X, constraints.family, seed), constraints.graphs(n)
    part = searched_part(X, given, seed)
    every, is_part = given, not part.is_whole
    X, given = part.X, part.given
    folds = deal_folds(given.Y, seed)
    if n > MOST_VERTICES and constraints.laplacian == "auto":
        # the other's smoothest vectors sit on stray vertices, and take long
        constraints = replace(constraints, laplacian="normalized")
    if held_out(folds).size < LEAST_HELD_OUT or n < LEAST_EXAMPLES:
        prepared = prepare_space(found[0], X, given, 0, engine)
        reason = TOO_FEW if n >= LEAST_EXAMPLES else TOO_ALIKE
        return _fixed(prepared, graphs, every, constraints, reason), None if is_part else prepared.points
    with progress.stage(f"selection: {len(found)} spaces") as report:
        rows, prepared = _choose_space(found, X, given, folds, constraints, report, engine)
    points = None if is_part else prepared.points
    weights = SCORE_WEIGHTS if is_within(c) else SCORE_WEIGHTS[:1]  # of very many classes, no scores as coordinates
    most = len(weights) * len(graphs) * len(FIDELITIES)
    with progress.stage(f"selection: at most {most} graphs and smoothings"):
        reading = _usual_reading(prepared, given, constraints, next(row["accuracy"] for row in rows if row["chosen"]))
        more, heard = race(prepared, graphs, given, folds, constraints, reading, weights, progress)
        rows += more
    if not heard:
        stated = _fixed(prepared, graphs, every, constraints, ALL_FAILED)
        return replace(stated, table=Table.from_rows(rows, COLUMNS)), points
    with progress.stage("selection: reading"):
        fresh = deal_folds(given.Y, seed + 1)  # the score that won the race is biased upwards on its own folds
        heard = heard[:1] if n > MOST_VERTICES else heard  # of so many examples one graph is enough to compute
        graphs_of = fold_graphs(prepared, heard, constraints)
        more, heard, known = _choose_reading(heard, given, fresh, PULLS, graphs_of, engine)
        rows += more
    more, chosen, answer, readings = _choose_program(heard[0], given, known, constraints, seed, progress, engine)
    rows += more
    answer = answer if is_within(c) else EVIDENCE
    table, reason = Table.from_rows(rows, COLUMNS), _reason(rows, answer, len(heard), c)
    judged, shares = part.labels[held_out(fresh)], known.shares
    if part.classes.size < c:
        chosen, readings, shares = as_large(chosen, constraints, c), part.spread(readings, c), every.prior
    space, beside = prepared.space, tuple(heard[1:])
    return Selection(
        chosen, space, prepared.unit, prepared.kernel, table, reason, judged, readings, shares, answer, beside
    ), points


def _choose_space(
    found: list[Space],
    X: Features,
    given: Supervision,
    folds: Ints,
    constraints: Constraints,
    report: Report,
    engine: Engine,
) -> tuple[list[dict[str, Any]], PreparedSpace]:
    """Compare spaces by a probe; to leave features as they are, where these are even, takes a clear lead."""
    most = max(K for K, _ in (*PROBES, *constraints.graphs(X.shape[0])))
    candidates_of = [Candidate(space.name, 0.0, *USUAL, PULLS[0], READINGS[0]) for space in found]
    done = count(1)

    def attempt(space: Space) -> tuple[PreparedSpace, Floats] | str:
        try:
            prepared = prepare_space(space, X, given, most, engine)
            return prepared, probe(prepared, given, folds, constraints)
        except FAILURES as failure:
            return str(failure)
        finally:
            report(next(done) / (len(found) + 1))

    tried = list(zip(candidates_of, in_threads(attempt, found, FEW), strict=True))
    kept = [(candidate, *told) for candidate, told in tried if not isinstance(told, str)]
    failures = {candidate: told for candidate, told in tried if isinstance(told, str)}
    if not kept:
        raise NumericalError(f"the examples cannot be compared in any space: {next(iter(failures.values()))}")
    candidates, spaces_kept, met = zip(*kept, strict=True)
    order: list[tuple[float, ...]] = [(float(i),) for i in range(len(kept))]
    weights = given.votes[held_out(folds)]
    margin = STEADY if candidates[0].space == "as given" else TELL_APART
    rows, best = rank_candidates("space", list(candidates), np.array(met), weights, order, margin)
    return rows + failed_rows("space", failures), spaces_kept[best]


def _usual_reading(prepared: PreparedSpace, given: Supervision, constraints: Constraints, met: float) -> str:
    """How evidence is read in the race: by what a usual graph says of the classes' sizes."""
    W = graph_weights(prepared.near, *USUAL[:2], constraints.bandwidth)
    return usual_reading(smooth_labels(W, given.merged(), USUAL[2], PULLS[0]), given, met)


def choose_on_graph(
    W: Features, given: Supervision, constraints: Constraints, seed: int, progress: Progress, engine: Engine = NUMPY
) -> tuple[Selection, None]:
    """Choose smoothing, reading and program on a ready-made graph.

    Parameters
    ----------
    W : csr_array of shape (n, n)
    given : Supervision
        One label for each labelled example, of at least two classes.
    constraints : Constraints
    seed : int
    progress : Progress
    engine : Engine

    Returns
    -------
    Selection
    points : None
        There are none.
    """
    folds = deal_folds(given.Y, seed)
    if held_out(folds).size < LEAST_HELD_OUT:
        return _fixed(None, [(0, "ready-made")], given, constraints, TOO_FEW), None
    with progress.stage("selection: smoothing"):
        parts, out = list(splits(given, folds)), held_out(folds)
        usual, _ = path_hits(W, given, parts, USUAL[2:], engine=engine)
        share = float(given.votes[out] @ usual[0, out] / given.votes[out].sum())
        reading = usual_reading(smooth_labels(W, given.merged(), USUAL[2], PULLS[0]), given, share)
        plain = Candidate("ready-made", 0.0, 0, "ready-made", USUAL[2], PULLS[0], reading)
        candidates = [replace(plain, fidelity=fidelity) for fidelity in FIDELITIES]
        met, _ = path_hits(W, given, parts, FIDELITIES, reading, engine)
        order: list[tuple[float, ...]] = [c.complexity for c in candidates]
        rows, best = rank_candidates("smoothing", candidates, met[:, out], given.votes[out], order)
        fresh = deal_folds(given.Y, seed + 1)
        more, heard, known = _choose_reading(
            [candidates[best]], given, fresh, PULLS[:1], lambda train: ([W], None), engine
        )
    rows += more
    more, chosen, answer, readings = _choose_program(heard[0], given, known, constraints, seed, progress, engine)
    rows += more
    table, reason = Table.from_rows(rows, COLUMNS), _reason(rows, answer, 1, given.n_classes)
    return Selection(chosen, None, 1.0, None, table, reason, held_out(fresh), readings, known.shares, answer), None


def cross_readings(
    graphs: Sequence[Sparse],
    given: Supervision,
    heard: Sequence[Candidate],
    scores: Floats | None,
    seed: int,
    engine: Engine = NUMPY,
    subspace: Array | None = None,
) -> tuple[Ints, Floats]:
    """Read every label that can be held out on finished graphs, where the search has seen only some of them.

    Parameters
    ----------
    graphs : sequence of csr_array of shape (n, n)
    given : Supervision
        One label for each labelled example.
    heard : sequence of Candidate
        One for each graph.
    scores : ndarray of shape (n, c), or None
    seed : int
    engine : Engine
    subspace : Array of shape (n, m), optional
        Smooth functions, which spare iterations.

    Returns
    -------
    which : ndarray of shape (h,)
        Indices of the labels that were held out.
    readings : ndarray of shape (h, c)
        The mean of what is read on the graphs.
    """
    folds = deal_folds(given.Y, seed)
    readings = np.zeros(given.Y.shape, given.Y.dtype)
    parts = list(splits(given, folds))
    most = MOST_AT_ONCE if engine.is_host else MOST_ELSEWHERE
    together = max(1, most // (graphs[0].shape[0] * given.n_classes))
    for W, chosen in zip(graphs, heard, strict=True):
        for a in range(0, len(parts), together):
            some = parts[a : a + together]
            trains, k = [train for train, _ in some], len(some)
            smooth = smooth_all(
                W, trains, chosen.fidelity, [chosen.pull] * k, [scores] * k, ROUGHLY, engine, subspace
            )
            for F, (_, held) in zip(smooth, some, strict=True):
                readings[held] += read(F, chosen.reading, given.rows[held]) / len(heard)
    out = held_out(folds)
    return out, readings[out]


def _fixed(
    prepared: PreparedSpace | None,
    graphs: list[tuple[int, str]],
    given: Supervision,
    constraints: Constraints,
    reason: str,
) -> Selection:
    """The stated defaults, where nothing can be chosen: ten mutual neighbours, moderate smoothing."""
    name = "ready-made" if prepared is None else prepared.space.name
    plain = Candidate(name, 0.0, *usual_graph(graphs), USUAL[2], PULLS[0], READINGS[0])
    chosen = program_candidates(plain, constraints, given.n_classes)[0]
    empty, table = np.zeros((0, given.n_classes)), Table.from_rows([], COLUMNS)
    space, unit, kernel = (None, 1.0, None) if prepared is None else (prepared.space, prepared.unit, prepared.kernel)
    answer, none = PROGRAM if is_within(given.n_classes) else EVIDENCE, np.zeros(0, dtype=np.int64)
    return Selection(chosen, space, unit, kernel, table, reason, none, empty, given.prior, answer)


def _choose_reading(
    heard: list[Candidate],
    given: Supervision,
    folds: Ints,
    pulls: tuple[float, ...],
    graphs_of: GraphsOf,
    engine: Engine,
) -> tuple[list[dict[str, Any]], list[Candidate], Held]:
    """Choose pull and reading for those that are heard; keep what they say in the mean, and of held-out labels."""
    first = heard[0]
    candidates = [replace(first, pull=pull, reading=reading) for pull in pulls for reading in READINGS]
    readings = np.zeros((len(candidates), given.rows.size, given.n_classes))
    parts = list(splits(given, folds))
    graphs, evidence = _evidence_of_folds(heard, [train for train, _ in parts], pulls, graphs_of, engine)
    for (_, held), of_graphs in zip(parts, evidence, strict=True):
        for found in of_graphs:
            for k, (F, reading) in enumerate(product(found, READINGS)):
                readings[k, held] += read(F, reading, given.rows[held]) / len(heard)
    out = held_out(folds)
    met = np.array([hits(r[out], given.Y[out]) for r in readings])
    order: list[tuple[float, ...]] = [(float(c.reading != first.reading), c.pull) for c in candidates]
    shares = answered_shares([of_graphs[0][0] for of_graphs in evidence], given)
    rows, best = rank_candidates("reading", candidates, met, population_weights(given, shares)[out], order, STEADY)
    pull, reading = candidates[best].pull, candidates[best].reading
    said = [
        np.mean([read(found[pulls.index(pull)], reading) for found in of_graphs], axis=0) for of_graphs in evidence
    ]
    chosen = [replace(candidate, pull=pull, reading=reading) for candidate in heard]
    return rows, chosen, Held(folds, shares, list(zip(graphs, said, strict=True)), readings[best, out])


def _evidence_of_folds(
    heard: list[Candidate], trains: list[Supervision], pulls: tuple[float, ...], graphs_of: GraphsOf, engine: Engine
) -> tuple[list[Sparse], list[list[list[Floats]]]]:
    """The first graph of each fold; and, of each fold, graph and pull, the evidence.

    Folds that share a graph are smoothed together, in two blocks where there is one graph: each core has its own.
    """
    built = in_threads(graphs_of, trains, FEW)
    shared = [
        (m, list(folds))
        for m in range(len(heard))
        for _, folds in groupby(range(len(trains)), key=lambda i: id(built[i][0][m]))
    ]
    if len(shared) == 1 and len(trains) > 1 and engine.is_host:
        shared = [(0, folds) for folds in (list(range(0, len(trains), 2)), list(range(1, len(trains), 2)))]

    def on_one_graph(one: tuple[int, list[int]]) -> list[Floats]:
        m, folds = one
        every = [(trains[i], pull, built[i][1]) for i in folds for pull in pulls]
        labels, weights, scores = zip(*every, strict=True)
        return smooth_all(built[folds[0]][0][m], labels, heard[m].fidelity, weights, scores, engine=engine)

    evidence: list[list[list[Floats]]] = [[] for _ in trains]
    for (_, folds), found in zip(shared, in_threads(on_one_graph, shared, FEW), strict=True):
        for k, i in enumerate(folds):
            evidence[i].append(found[k * len(pulls) : (k + 1) * len(pulls)])
    return [graphs[0] for graphs, _ in built], evidence


def _choose_program(
    chosen: Candidate,
    given: Supervision,
    held: Held,
    constraints: Constraints,
    seed: int,
    progress: Progress,
    engine: Engine,
) -> tuple[list[dict[str, Any]], Candidate, str, Floats]:
    """Choose the final program, or the evidence itself; and what the winner says of held-out labels.

    On ready-made graphs of many vertices, the usual program; of very many classes, the evidence.
    """
    candidates = program_candidates(chosen, constraints, given.n_classes)
    if not is_within(given.n_classes) or held.evidence[0][0].shape[0] > MOST_VERTICES:
        return [], candidates[0], PROGRAM if is_within(given.n_classes) else EVIDENCE, held.readings
    with progress.stage(f"selection: {len(candidates)} programs"):
        return choose_program(candidates, given, held, constraints, seed, engine)


def _reason(rows: list[dict[str, Any]], answer: str, n_heard: int, n_classes: int) -> str:
    last = [row for row in rows if row["chosen"]][-1]
    race = [row for row in rows if row["stage"] in ("graph", "smoothing") and not row["failed"]]
    won = next(row for row in race if row["chosen"])
    level = sum(row["behind"] <= TELL_APART * row["behind_error"] + 1e-12 for row in race)
    return (
        f"it predicts {last['accuracy']:.1%} of {last['n_held_out']} held-out given labels; {level} of {len(race)} "
        "candidates that reached the last round are within half a standard error of the best, and it is the simplest "
        f"and smoothest of those ({won['behind']:.2%} below the best)"
        + (f"; the evidence is the mean over {n_heard} graphs" if n_heard > 1 else "")
        + (SPEAKS[answer] if is_within(n_classes) else TOO_MANY_CLASSES)
    )
