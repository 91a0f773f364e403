"""The final program: (M1) on the evidence at every vertex, its basis, Laplacian, alpha and beta."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from itertools import groupby
from typing import Any

import numpy as np

from siis._types import Floats, Ints, Sparse
from siis.engine.threads import in_threads, one_blas_thread
from siis.errors import FAILURES, NumericalError
from siis.evidence import as_distributions, read, softmax
from siis.graph import Graph
from siis.labels import Supervision, coded
from siis.program import Program
from siis.progress import Report, no_progress
from siis.selection.candidate import Candidate, failed_rows, held_out, hits, judge
from siis.selection.folds import splits
from siis.selection.place import Wishes
from siis.solvers import Solution, solve_batch
from siis.spectral import SmoothBasis, smooth_basis

LEAST_COMPONENTS, COMPONENTS_PER_CLASS = 150, 3
SMALLER = 0.4  # of the basis
WEIGHTS = {  # beta and alpha in units of the graph, the usual ones first; tried with both sizes of the basis
    "normalized": ((3.0, 1.0), (30.0, 1.0)),
    "unnormalized": ((30.0, 1.0), (300.0, 1.0)),
}
MORE_WEIGHTS = ((30.0, 0.3), (3.0, 3.0))  # tried with the larger basis of the normalised Laplacian
EASY = 0.1  # of the value at A = 0: where the evidence is all but smooth, the objective is no scale for its error
ROUGH_BASIS = 1e-4  # residual of the basis on which evidence is smoothed: any smooth basis will do
SINGLE_RANGE = 1e6  # of the heaviest edge, for single precision in the search
ROUGH, FEW_ITERATIONS = 3e-2, 30  # gap and iterations in the search


def program_candidates(chosen: Candidate, wishes: Wishes, n_classes: int) -> list[Candidate]:
    """The final programs to try, the usual one first; what the user has set is kept.

    Parameters
    ----------
    chosen : Candidate
    wishes : Wishes
    n_classes : int

    Returns
    -------
    list of Candidate
    """
    usual = max(LEAST_COMPONENTS, COMPONENTS_PER_CLASS * n_classes)
    laplacians = tuple(WEIGHTS) if wishes.laplacian == "auto" else (wishes.laplacian,)
    sizes = (usual, int(SMALLER * usual)) if wishes.n_components == "auto" else (int(wishes.n_components),)
    wanted = [(name, m, weights) for name in laplacians for m in sizes for weights in WEIGHTS[name]]
    wanted += [(name, sizes[0], weights) for name in laplacians[:1] for weights in MORE_WEIGHTS]
    found = [
        replace(
            chosen,
            n_components=m,
            beta=beta if wishes.beta == "auto" else None,
            alpha=alpha if wishes.alpha == "auto" else None,
            laplacian=laplacian,
        )
        for laplacian, m, (beta, alpha) in wanted
    ]
    return list(dict.fromkeys(found))


def final_basis(
    graph: Graph, chosen: Candidate, seed: int, dtype: Any = np.float64, report: Report = no_progress
) -> SmoothBasis:
    """The basis of a final program; at least one vector for each connected component.

    Parameters
    ----------
    graph : Graph
    chosen : Candidate
    seed : int
    dtype : type
    report : callable

    Returns
    -------
    SmoothBasis
    """
    m = min(max(chosen.n_components, graph.n_components), graph.n_vertices)
    return smooth_basis(graph, m, chosen.laplacian, seed, residual=ROUGH_BASIS, dtype=dtype, report=report)


def final_program(graph: Graph, basis: SmoothBasis, evidence: Floats, chosen: Candidate, wishes: Wishes) -> Program:
    """(M1) with the evidence as soft labels of every vertex.

    Parameters
    ----------
    graph : Graph
    basis : SmoothBasis
    evidence : ndarray of shape (n, c)
        Distributions.
    chosen : Candidate
    wishes : Wishes

    Returns
    -------
    Program
    """
    degree = float(graph.degrees.mean()) or 1.0
    alpha = float(wishes.alpha) if chosen.alpha is None else chosen.alpha * degree
    energy_unit = degree if chosen.laplacian == "normalized" else 1.0  # Sigma has the unit of the weights, or none
    beta = float(wishes.beta) if chosen.beta is None else chosen.beta * energy_unit
    n = graph.n_vertices
    return Program(graph, basis, np.arange(n), coded(evidence), np.full(n, alpha), beta, floor=EASY)


@dataclass(frozen=True, eq=False)
class Solved:
    """A final program that was solved, and those before it that could not be.

    Attributes
    ----------
    chosen : Candidate
    program : Program
    solution : Solution
    failures : dict of Candidate to str
    """

    chosen: Candidate
    program: Program
    solution: Solution
    failures: dict[Candidate, str]


def solve_final(
    graph: Graph,
    evidence: Floats,
    chosen: Candidate,
    wishes: Wishes,
    solve: Callable[[Program], Solution],
    basis_of: Callable[[Candidate], SmoothBasis],
) -> Solved:
    """Solve the chosen program on all examples; where rounding defeats it, the next one that can be solved.

    Parameters
    ----------
    graph : Graph
    evidence : ndarray of shape (n, c)
        Distributions.
    chosen : Candidate
    wishes : Wishes
    solve : callable
    basis_of : callable

    Returns
    -------
    Solved
    """
    failures: dict[Candidate, str] = {}
    for candidate in dict.fromkeys([chosen, *program_candidates(chosen, wishes, evidence.shape[1])]):
        try:
            program = final_program(graph, basis_of(candidate), evidence, candidate, wishes)
            return Solved(candidate, program, solve(program), failures)
        except FAILURES as failure:
            failures[candidate] = str(failure)
    raise NumericalError(
        f"none of the {len(failures)} programs that were tried on this graph could be solved; the first: "
        f"{failures[chosen]} Set n_neighbors to more neighbours, or n_components to fewer."
    )


def final_readings(program: Program, A: Floats, n_classes: int, reading: str) -> Floats:
    """Read the soft labels of a solved program, shape (n, c)."""
    F = program.engine.numpy(program.basis.synthesize(A))
    return read(as_distributions(F, n_classes), reading)


def choose_program(
    candidates: list[Candidate],
    given: Supervision,
    folds: Ints,
    evidence: list[tuple[Sparse, Floats]],
    wishes: Wishes,
    seed: int,
) -> tuple[list[dict[str, Any]], Candidate]:
    """Choose among final programs by held-out labels.

    In single precision, where the weights of the graph allow it. Candidates share bases, and folds that have one
    graph are solved in one batch.

    Parameters
    ----------
    candidates : list of Candidate
        They differ in the final program alone.
    given : Supervision
    folds : ndarray of shape (l,)
    evidence : list of (csr_array of shape (n, n), ndarray of shape (n, c))
        The graph of each fold, and the evidence on it.
    wishes : Wishes
    seed : int

    Returns
    -------
    rows : list of dict
        For the table of what was tried.
    chosen : Candidate
    """
    met = np.zeros((len(candidates), given.rows.size))
    failures: dict[Candidate, str] = {}
    order = sorted(range(len(candidates)), key=lambda k: (candidates[k].laplacian, -candidates[k].n_components))
    parts = [
        (held, W, softmax(read(F, candidates[0].reading)))
        for (_, held), (W, F) in zip(splits(given, folds), evidence, strict=True)
    ]
    groups = [list(group) for _, group in groupby(parts, key=lambda part: id(part[1]))]

    def on_one_graph(group: list[tuple[Ints, Sparse, Floats]]) -> None:
        graph = Graph(group[0][1])
        heaviest = float(graph.weights.data.max(initial=0.0))
        precision = np.float32 if 1 / SINGLE_RANGE < heaviest < SINGLE_RANGE else np.float64
        for _, of_laplacian in groupby(order, key=lambda k: candidates[k].laplacian):
            basis: SmoothBasis | None = None
            for k in of_laplacian:
                try:
                    basis = basis or final_basis(graph, candidates[k], seed, precision)
                    smaller = basis.first(candidates[k].n_components)
                    programs = [final_program(graph, smaller, soft, candidates[k], wishes) for _, _, soft in group]
                    solutions = solve_batch(programs, ROUGH, FEW_ITERATIONS)
                except FAILURES as failure:
                    failures[candidates[k]] = str(failure)
                    continue
                for (held, _, _), program, solution in zip(group, programs, solutions, strict=True):
                    answer = final_readings(program, solution.coefficients, given.n_classes, candidates[k].reading)
                    met[k, held] = hits(answer[given.rows[held]], given.Y[held])

    with one_blas_thread():
        in_threads(on_one_graph, groups)
    failures = {candidate: failures[candidate] for candidate in candidates if candidate in failures}
    kept = np.array([k for k, candidate in enumerate(candidates) if candidate not in failures], dtype=np.int64)
    if (
        not kept.size
    ):  # in single precision and on parts of the labels: the usual program may yet succeed on all of them
        return failed_rows("program", failures), candidates[0]
    out = held_out(folds)
    complexity = [candidates[k].program_complexity for k in kept]
    met = met[np.ix_(kept, out)]
    rows, best = judge("program", [candidates[k] for k in kept], met, given.weights[out], complexity)
    return rows + failed_rows("program", failures), candidates[kept[best]]
