"""The default's program: (M1) with the average as soft labels of every vertex."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from siis._types import Floats
from siis.engine import NUMPY, Engine
from siis.errors import FAILURES, Message, NumericalError
from siis.graph import Graph
from siis.labels import coded
from siis.model.constraints import Constraints
from siis.program import Program
from siis.program.basis import SmoothBasis, smooth_basis
from siis.program.solvers import Solution
from siis.progress import Report, no_progress

EASY = 0.1  # of the value at A = 0: where the average is all but smooth, the objective is no scale for its error
MOST_COLUMNS, FEW_COLUMNS = 200, 64  # classes with a column each, and columns of a program of more classes
MOST_VERTICES = 10_000  # from which on a rougher basis is enough
ROUGH_BASIS, ROUGHER_BASIS = 1e-4, 1e-3  # residual of the basis: any smooth basis will do
LEAST_COMPONENTS, COMPONENTS_PER_CLASS = 150, 3
SMALLER = 0.4  # of the basis
PROGRAMS = {  # size of the basis and beta, in units of the graph; the usual one first
    "normalized": ((SMALLER, 30.0), (1.0, 3.0)),
    "unnormalized": ((SMALLER, 300.0),),
}
ALPHA = 1.0  # in units of the graph


@dataclass(frozen=True)
class ProgramConfig:
    """Size of the basis, Laplacian and weights of a program."""

    n_components: int
    beta: float | None  # over the mean degree (unnormalised Laplacian: as it is); None where the user has set it
    alpha: float | None  # over the mean degree; None where the user has set it
    laplacian: str  # "normalized" or "unnormalized"


def program_configs(constraints: Constraints, n_classes: int) -> list[ProgramConfig]:
    """The programs to try, the usual one first; what the user has set is kept."""
    usual = max(COMPONENTS_PER_CLASS * (n_classes if n_classes <= MOST_COLUMNS else FEW_COLUMNS), LEAST_COMPONENTS)
    laplacians = tuple(PROGRAMS) if constraints.laplacian == "auto" else (constraints.laplacian,)
    found = [
        ProgramConfig(
            int(share * usual) if constraints.n_components == "auto" else int(constraints.n_components),
            beta if constraints.beta == "auto" else None,
            ALPHA if constraints.alpha == "auto" else None,
            laplacian,
        )
        for laplacian in laplacians
        for share, beta in PROGRAMS[laplacian]
    ]
    return list(dict.fromkeys(found))


def program_basis(
    graph: Graph,
    config: ProgramConfig,
    seed: int,
    dtype: Any = np.float64,
    report: Report = no_progress,
    engine: Engine = NUMPY,
) -> SmoothBasis:
    """The basis of a program; at least one vector for each connected component."""
    residual = ROUGHER_BASIS if engine.total_count(graph.n_vertices) > MOST_VERTICES else ROUGH_BASIS
    m = min(max(config.n_components, graph.n_components), graph.n_vertices)
    return smooth_basis(
        graph, m, config.laplacian, seed, residual=residual, dtype=dtype, report=report, engine=engine
    )


def build_program(
    graph: Graph, basis: SmoothBasis, distributions: Floats, config: ProgramConfig, constraints: Constraints
) -> Program:
    """(M1) with distributions, shape (n, c), as soft labels of every vertex."""
    degree = float(basis.engine.mean(graph.degrees)) or 1.0
    alpha = float(constraints.alpha) if config.alpha is None else config.alpha * degree
    energy_unit = degree if config.laplacian == "normalized" else 1.0  # Sigma has the unit of the weights, or none
    beta = float(constraints.beta) if config.beta is None else config.beta * energy_unit
    n = graph.n_vertices
    Y = few_columns(coded(distributions))
    return Program(graph, basis, np.arange(n), Y, np.full(n, alpha), beta, floor=EASY)


def few_columns(Y: Floats) -> Floats:
    """Label rows of more than 200 classes, in 64 columns: Y E, where E holds random signs over 8, (C18).

    The norms of rows and of their differences are nearly those of Y, and so is the program. It has no part in the
    scores then.
    """
    c = Y.shape[1]
    if c <= MOST_COLUMNS:
        return Y
    signs = np.where(np.random.default_rng(c).random((c, FEW_COLUMNS)) < 0.5, -1.0, 1.0)
    return np.asarray(Y @ (signs / np.sqrt(FEW_COLUMNS)).astype(Y.dtype))


@dataclass(frozen=True, eq=False)
class Solved:
    """A program that was solved, and how many before it could not be."""

    config: ProgramConfig
    program: Program
    solution: Solution
    n_failed: int


def solve_first(
    graph: Graph,
    distributions: Floats,
    configs: Sequence[ProgramConfig],
    constraints: Constraints,
    solve: Callable[[Program], Solution],
    basis_of: Callable[[ProgramConfig], SmoothBasis],
) -> Solved:
    """Solve the first of the programs; where rounding defeats it, the next one that can be solved."""
    failures: list[str] = []
    for config in configs:
        try:
            program = build_program(graph, basis_of(config), distributions, config, constraints)
            return Solved(config, program, solve(program), len(failures))
        except FAILURES as failure:
            failures.append(str(failure))
    raise NumericalError(
        Message(
            "none of the {n} programs that were tried on this graph could be solved; the first: {problem} Set "
            "{n_neighbors} to more neighbours, or {n_components} to fewer.",
            n=len(failures),
            problem=failures[0],
        )
    )
