"""The certified solver against an interior-point method, on random programs of every kind."""

import numpy as np
import pytest

from programs import random_graph, random_program, reference
from siis.graph import Graph
from siis.program import Program
from siis.program.basis import smooth_basis
from siis.program.solvers import solve_certified

N_PROGRAMS = 240


@pytest.mark.parametrize("seed", range(N_PROGRAMS))
def test_optimum(seed):
    program = random_program(seed)
    optimum = reference(program)
    solution = solve_certified(program, tol=2e-7, max_iter=20000)
    slack = 1e-7 * max(optimum, 1e-3 * program.value_at_zero)  # the reference's own accuracy
    assert solution.status == "certified"
    assert solution.dual.value <= optimum + slack
    assert optimum <= solution.objective + slack
    assert solution.objective == pytest.approx(optimum, rel=1e-6, abs=1e-6 * program.value_at_zero)
    assert program.value(solution.coefficients) == pytest.approx(solution.objective, rel=1e-12)
    norms = np.linalg.norm(solution.dual.edges, axis=1)
    assert norms.max(initial=0) <= program.gamma * (1 + 1e-12)
    assert (np.linalg.norm(solution.dual.labels, axis=1) <= program.alpha * (1 + 1e-12)).all()


@pytest.mark.parametrize("laplacian", ["normalized", "unnormalized"])
@pytest.mark.parametrize("light", [1e-6, 1e-9])
def test_parts_that_hang_on_next_to_nothing(rng, laplacian, light):
    """Eigenvalues near 0 divide what the multipliers leave over: the bound balances these vectors too."""
    W = random_graph(rng, 60, 4).weights.tolil()
    for a in (14, 29, 44):
        W[a, a + 1] = W[a + 1, a] = light
    graph = Graph(W.tocsr())
    assert graph.n_components == 1
    Y = np.eye(3)[rng.integers(0, 3, 60)]
    basis = smooth_basis(graph, 20, laplacian)
    program = Program(graph, basis, np.arange(60), Y, np.full(60, 1.0), 3.0)
    solution = solve_certified(program, tol=1e-5, max_iter=2000)
    assert solution.status == "certified"
    assert solution.dual.value <= reference(program) * (1 + 1e-7)
