"""Which final program: candidates, and the choice between them by held-out labels."""

from __future__ import annotations

from dataclasses import replace
from itertools import groupby
from typing import Any

import numpy as np

from siis._types import Floats, Ints, Sparse
from siis.engine.threads import in_threads, one_blas_thread
from siis.errors import FAILURES
from siis.evidence import read, softmax
from siis.graph import Graph
from siis.labels import Supervision
from siis.selection.candidate import Candidate, failed_rows, held_out, hits, rank_candidates
from siis.selection.constraints import Constraints
from siis.selection.final import final_basis, final_program, final_readings
from siis.selection.folds import splits
from siis.solvers import solve_batch
from siis.spectral import SmoothBasis

LEAST_COMPONENTS, COMPONENTS_PER_CLASS = 150, 3
SMALLER = 0.4  # of the basis
WEIGHTS = {  # beta and alpha in units of the graph, the usual ones first; tried with both sizes of the basis
    "normalized": ((3.0, 1.0), (30.0, 1.0)),
    "unnormalized": ((30.0, 1.0), (300.0, 1.0)),
}
MORE_WEIGHTS = ((30.0, 0.3), (3.0, 3.0))  # tried with the larger basis of the normalised Laplacian
SINGLE_RANGE = 1e6  # of the heaviest edge, for single precision in the search
ROUGH, FEW_ITERATIONS = 3e-2, 30  # gap and iterations in the search


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
    usual = max(LEAST_COMPONENTS, COMPONENTS_PER_CLASS * n_classes)
    laplacians = tuple(WEIGHTS) if constraints.laplacian == "auto" else (constraints.laplacian,)
    sizes = (usual, int(SMALLER * usual)) if constraints.n_components == "auto" else (int(constraints.n_components),)
    wanted = [(name, m, weights) for name in laplacians for m in sizes for weights in WEIGHTS[name]]
    wanted += [(name, sizes[0], weights) for name in laplacians[:1] for weights in MORE_WEIGHTS]
    found = [
        replace(
            chosen,
            n_components=m,
            beta=beta if constraints.beta == "auto" else None,
            alpha=alpha if constraints.alpha == "auto" else None,
            laplacian=laplacian,
        )
        for laplacian, m, (beta, alpha) in wanted
    ]
    return list(dict.fromkeys(found))


def choose_program(
    candidates: list[Candidate],
    given: Supervision,
    folds: Ints,
    evidence: list[tuple[Sparse, Floats]],
    constraints: Constraints,
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
    constraints : Constraints
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
                    programs = [
                        final_program(graph, smaller, soft, candidates[k], constraints) for _, _, soft in group
                    ]
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
    rows, best = rank_candidates("program", [candidates[k] for k in kept], met, given.weights[out], complexity)
    return rows + failed_rows("program", failures), candidates[kept[best]]
