"""The final program: (M1) on the evidence at every vertex, its basis, Laplacian, alpha and beta."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from siis._types import Floats
from siis.engine import NUMPY, Engine
from siis.errors import FAILURES, Message, NumericalError
from siis.evidence import as_distributions, read
from siis.graph import Graph
from siis.labels import coded
from siis.program import Program
from siis.progress import Report, no_progress
from siis.selection.candidate import Candidate
from siis.selection.constraints import Constraints
from siis.selection.part import MOST_VERTICES
from siis.solvers import Solution
from siis.spectral import SmoothBasis, smooth_basis

EASY = 0.1  # of the value at A = 0: where the evidence is all but smooth, the objective is no scale for its error
MOST_COLUMNS, FEW_COLUMNS = (
    200,
    64,
)  # classes that a program has a column for each of, and columns where they are more
ROUGH_BASIS = 1e-4  # residual of the basis on which evidence is smoothed: any smooth basis will do
ROUGHER_BASIS = 1e-3  # the same of more vertices than the search sees all of


def final_basis(
    graph: Graph,
    chosen: Candidate,
    seed: int,
    dtype: Any = np.float64,
    report: Report = no_progress,
    residual: float | None = None,
    engine: Engine = NUMPY,
) -> SmoothBasis:
    """The basis of a final program; at least one vector for each connected component.

    Parameters
    ----------
    graph : Graph
    chosen : Candidate
    seed : int
    dtype : type
    report : callable
    residual : float, optional
        Largest residual of a vector; if left out 1e-4, and 1e-3 of more than ten thousand vertices.
    engine : Engine

    Returns
    -------
    SmoothBasis
    """
    if residual is None:
        residual = ROUGHER_BASIS if engine.total_count(graph.n_vertices) > MOST_VERTICES else ROUGH_BASIS
    m = min(max(chosen.n_components, graph.n_components), graph.n_vertices)
    return smooth_basis(
        graph, m, chosen.laplacian, seed, residual=residual, dtype=dtype, report=report, engine=engine
    )


def final_program(
    graph: Graph, basis: SmoothBasis, evidence: Floats, chosen: Candidate, constraints: Constraints
) -> Program:
    """(M1) with the evidence as soft labels of every vertex.

    Parameters
    ----------
    graph : Graph
    basis : SmoothBasis
    evidence : ndarray of shape (n, c)
        Distributions.
    chosen : Candidate
    constraints : Constraints

    Returns
    -------
    Program
    """
    degree = float(basis.engine.mean(graph.degrees)) or 1.0
    alpha = float(constraints.alpha) if chosen.alpha is None else chosen.alpha * degree
    energy_unit = degree if chosen.laplacian == "normalized" else 1.0  # Sigma has the unit of the weights, or none
    beta = float(constraints.beta) if chosen.beta is None else chosen.beta * energy_unit
    n = graph.n_vertices
    return Program(graph, basis, np.arange(n), few_columns(coded(evidence)), np.full(n, alpha), beta, floor=EASY)


def few_columns(Y: Floats) -> Floats:
    """Label rows of more than 200 classes, in 64 columns: Y E, where E holds random signs over 8, (C18).

    The norms of rows and of their differences are nearly those of Y, and so is the program; beside it, the evidence
    speaks for so many classes.

    Parameters
    ----------
    Y : ndarray of shape (n, c)

    Returns
    -------
    ndarray of shape (n, c) or (n, 64)
    """
    c = Y.shape[1]
    if c <= MOST_COLUMNS:
        return Y
    signs = np.where(np.random.default_rng(c).random((c, FEW_COLUMNS)) < 0.5, -1.0, 1.0)
    return np.asarray(Y @ (signs / np.sqrt(FEW_COLUMNS)).astype(Y.dtype))


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
    candidates: Sequence[Candidate],
    constraints: Constraints,
    solve: Callable[[Program], Solution],
    basis_of: Callable[[Candidate], SmoothBasis],
) -> Solved:
    """Solve the first of the programs, on all examples; where rounding defeats it, the next one that can be solved.

    Parameters
    ----------
    graph : Graph
    evidence : ndarray of shape (n, c)
        Distributions.
    candidates : sequence of Candidate
        The chosen one first.
    constraints : Constraints
    solve : callable
    basis_of : callable

    Returns
    -------
    Solved
    """
    failures: dict[Candidate, str] = {}
    for candidate in candidates:
        try:
            program = final_program(graph, basis_of(candidate), evidence, candidate, constraints)
            return Solved(candidate, program, solve(program), failures)
        except FAILURES as failure:
            failures[candidate] = str(failure)
    raise NumericalError(
        Message(
            "none of the {n} programs that were tried on this graph could be solved; the first: {problem} Set "
            "{n_neighbors} to more neighbours, or {n_components} to fewer.",
            n=len(failures),
            problem=failures[candidates[0]],
        )
    )


def final_readings(program: Program, A: Floats, n_classes: int, chosen: Candidate) -> Floats:
    """Read the soft labels of a solved program, shape (n, c)."""
    F = program.engine.numpy(program.basis.synthesize(A))
    return read(as_distributions(F, n_classes), chosen.program_reading)
