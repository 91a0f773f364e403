"""Which final program: candidates, and the choice between them by held-out labels."""

from __future__ import annotations

from dataclasses import dataclass, replace
from itertools import groupby
from typing import Any

import numpy as np

from siis._types import Floats, Ints, Sparse
from siis.engine import NUMPY, Engine
from siis.engine.threads import FEW, in_threads, one_blas_thread
from siis.errors import FAILURES
from siis.evidence import softmax
from siis.graph import Graph
from siis.labels import Supervision
from siis.selection.candidate import TELL_APART, Candidate, compare, failed_rows, held_out, hits, rank_candidates
from siis.selection.constraints import Constraints
from siis.selection.final import FEW_COLUMNS, MOST_COLUMNS, final_basis, final_program, final_readings
from siis.selection.folds import splits
from siis.selection.selection import BOTH, EVIDENCE, PROGRAM
from siis.selection.shares import population_weights
from siis.solvers import solve_batch
from siis.spectral import SmoothBasis

LEAST_COMPONENTS, COMPONENTS_PER_CLASS = 150, 3
SMALLER = 0.4  # of the basis
PROGRAMS = {  # size of the basis and beta, in units of the graph; the usual one first. More were tried, for nothing
    "normalized": ((1.0, 3.0), (SMALLER, 30.0)),
    "unnormalized": ((SMALLER, 300.0),),
}
ALPHA = 1.0  # in units of the graph
SINGLE_RANGE = 1e6  # of the heaviest edge, for single precision in the search
ROUGH, FEW_ITERATIONS = 3e-2, 30  # gap and iterations in the search
ROUGHER = 1e-3  # residual of a basis there


def program_candidates(chosen: Candidate, constraints: Constraints, n_classes: int) -> list[Candidate]:
    """The final programs to try, the usual one first; what the user has set is kept.

    Parameters
    ----------
    chosen : Candidate
    constraints : Constraints
    n_classes : int

    Returns
    -------
    list of Candidate
    """
    usual = _usual_components(n_classes)
    laplacians = tuple(PROGRAMS) if constraints.laplacian == "auto" else (constraints.laplacian,)
    if chosen.reading != "standardized":
        laplacians = laplacians[:1]  # the unnormalised one lets large classes flood small ones
    found = [
        replace(
            chosen,
            n_components=int(share * usual) if constraints.n_components == "auto" else int(constraints.n_components),
            beta=beta if constraints.beta == "auto" else None,
            alpha=ALPHA if constraints.alpha == "auto" else None,
            laplacian=laplacian,
        )
        for laplacian in laplacians
        for share, beta in PROGRAMS[laplacian]
    ]
    return list(dict.fromkeys(found))


def _usual_components(n_classes: int) -> int:
    return max(COMPONENTS_PER_CLASS * (n_classes if is_within(n_classes) else FEW_COLUMNS), LEAST_COMPONENTS)


def is_within(n_classes: int) -> bool:
    """Whether a program of so many classes is tried at all; else the evidence speaks."""
    return n_classes <= MOST_COLUMNS


def as_large(chosen: Candidate, constraints: Constraints, n_classes: int) -> Candidate:
    """The program that was chosen by some of the classes, for all of them.

    Parameters
    ----------
    chosen : Candidate
    constraints : Constraints
    n_classes : int

    Returns
    -------
    Candidate
    """
    found = program_candidates(chosen, constraints, n_classes)
    return next((c for c in found if (c.beta, c.laplacian) == (chosen.beta, chosen.laplacian)), found[0])


@dataclass(frozen=True, eq=False)
class Held:
    """What is known of held-out labels before there is a program.

    Attributes
    ----------
    folds : ndarray of shape (l,)
    shares : ndarray of shape (c,)
        Of the classes in the population.
    evidence : list of (csr_array of shape (n, n), ndarray of shape (n, c))
        The graph of each fold, and the class scores that are read from the evidence.
    readings : ndarray of shape (h, c)
        What is read of those that are held out.
    """

    folds: Ints
    shares: Floats
    evidence: list[tuple[Sparse, Floats]]
    readings: Floats


def choose_program(
    candidates: list[Candidate],
    given: Supervision,
    held: Held,
    constraints: Constraints,
    seed: int,
    engine: Engine = NUMPY,
) -> tuple[list[dict[str, Any]], Candidate, str, Floats]:
    """Choose among final programs by held-out labels; then whether it, the evidence or their mean is the answer.

    In single precision, where the weights of the graph allow it. Candidates share bases, and folds that have one
    graph are solved in one batch.

    Parameters
    ----------
    candidates : list of Candidate
        They differ in the final program alone.
    given : Supervision
    held : Held
    constraints : Constraints
    seed : int
    engine : Engine

    Returns
    -------
    rows : list of dict
        For the table of what was tried.
    chosen : Candidate
    answer : {"program", "both", "evidence"}
    readings : ndarray of shape (h, c)
        What the answer says of held-out labels.
    """
    answers = np.zeros((len(candidates), given.rows.size, given.n_classes))
    failures: dict[Candidate, str] = {}
    order = sorted(range(len(candidates)), key=lambda k: (candidates[k].laplacian, -candidates[k].n_components))
    parts = [
        (part, W, softmax(said))
        for (_, part), (W, said) in zip(splits(given, held.folds), held.evidence, strict=True)
    ]
    groups = [list(group) for _, group in groupby(parts, key=lambda part: id(part[1]))]

    def on_one_graph(group: list[tuple[Ints, Sparse, Floats]]) -> None:
        graph = Graph.symmetric(group[0][1])
        heaviest = float(graph.weights.data.max(initial=0.0))
        precision = np.float32 if 1 / SINGLE_RANGE < heaviest < SINGLE_RANGE else np.float64
        for _, of_laplacian in groupby(order, key=lambda k: candidates[k].laplacian):
            same, basis = list(of_laplacian), None  # the first has the largest basis
            while same and basis is None:
                try:
                    basis = final_basis(graph, candidates[same[0]], seed, precision, residual=ROUGHER, engine=engine)
                except FAILURES as failure:
                    failures[candidates[same.pop(0)]] = str(failure)

            def answer_with(k: int, basis: SmoothBasis | None = basis) -> None:
                assert basis is not None
                smaller = basis.first(candidates[k].n_components)
                try:
                    programs = [
                        final_program(graph, smaller, soft, candidates[k], constraints) for _, _, soft in group
                    ]
                    solutions = solve_batch(programs, ROUGH, FEW_ITERATIONS)
                except FAILURES as failure:
                    failures[candidates[k]] = str(failure)
                    return
                for (part, _, _), program, solution in zip(group, programs, solutions, strict=True):
                    answer = final_readings(program, solution.coefficients, given.n_classes, candidates[k])
                    answers[k, part] = answer[given.rows[part]]

            in_threads(answer_with, same, FEW)

    with one_blas_thread():
        in_threads(on_one_graph, groups, FEW)
    failures = {candidate: failures[candidate] for candidate in candidates if candidate in failures}
    kept = np.array([k for k, candidate in enumerate(candidates) if candidate not in failures], dtype=np.int64)
    if (
        not kept.size
    ):  # in single precision and on parts of the labels: the usual program may yet succeed on all of them
        return failed_rows("program", failures), candidates[0], PROGRAM, held.readings
    out = held_out(held.folds)
    is_even = candidates[0].reading == "standardized"
    plainness: list[tuple[float, ...]] = [candidates[k].program_complexity if is_even else (float(k),) for k in kept]
    Y, weights = given.Y[out], population_weights(given, held.shares)[out]
    met = np.array([hits(answers[k, out], Y) for k in kept])
    margin = TELL_APART if is_even else 0.0
    rows, best = rank_candidates("program", [candidates[k] for k in kept], met, weights, plainness, margin)
    rows += failed_rows("program", failures)
    chosen, readings = candidates[kept[best]], answers[kept[best], out]
    spoken = {PROGRAM: readings, BOTH: (readings + held.readings) / 2, EVIDENCE: held.readings}
    is_level = compare(np.array([hits(said, Y) for said in spoken.values()]), weights).level()
    answer = list(spoken)[int(np.argmax(is_level))]  # the first that cannot be told from the best
    return rows, chosen, answer, spoken[answer]
