"""Penalties: proximal map, dual ball, and another one in the place of the graph trend filtering term."""

from dataclasses import replace

import numpy as np
import pytest

from programs import random_program, reference
from siis.engine.rows import row_norms
from siis.program.penalties import Penalty, RowNorm
from siis.program.solvers import solve_certified, solve_paper


def test_shrinkage_satisfies_its_optimality_condition(rng):
    """Q = argmin t ||Q||_{2,1} + ||Q - N||^2 / 2  <=>  N - Q = t Q/||Q|| on rows Q != 0, ||N|| <= t on others."""
    N, t = rng.standard_normal((50, 3)), rng.uniform(0, 3, 50)
    N[0] = 0
    Q = RowNorm(1.0, np).prox(N, t)
    zero = row_norms(Q) == 0
    assert zero[0]
    assert 5 < zero.sum() < 45
    assert (row_norms(N[zero]) <= t[zero] + 1e-15).all()
    direction = Q[~zero] / row_norms(Q[~zero])[:, None]
    np.testing.assert_allclose(N[~zero] - Q[~zero], t[~zero, None] * direction, atol=1e-12)


def test_projection_is_the_nearest_point_of_the_ball(rng):
    V = rng.standard_normal((50, 4))
    p = RowNorm(1.5, np).project(V)
    outside = row_norms(V) > 1.5
    assert 0 < outside.sum() < 50
    np.testing.assert_array_equal(p[~outside], V[~outside])
    np.testing.assert_allclose(p[outside], 1.5 * V[outside] / row_norms(V[outside])[:, None])


class AbsoluteValues(Penalty):
    """The sum of absolute values: columns are filtered apart."""

    def norms(self, N):
        return abs(N).sum(-1)

    def prox_factors(self, N, threshold):
        return np.clip(1 - np.asarray(threshold)[..., None] / np.maximum(abs(N), 1e-300), 0, None)

    def dual_norms(self, V):
        return abs(V).max(-1, initial=0)

    def project(self, V):
        return np.clip(V, -self.weight, self.weight)


@pytest.mark.parametrize("solve", [solve_certified, solve_paper])
@pytest.mark.parametrize("seed", [3, 5, 7, 12, 17, 24, 28, 29])
def test_another_penalty_is_one_class_and_one_argument(solve, seed):
    """Both bases, several components and beta = 0, against an interior-point method."""
    program = replace(random_program(seed), edge_penalty=AbsoluteValues)
    optimum = reference(program, edge_norm=1)
    solution = solve(program, 1e-6, 20000)
    scale = max(optimum, 1e-3 * program.value_at_zero)
    assert solution.dual.value - 1e-6 * scale <= optimum <= solution.objective + 1e-6 * scale
    assert solution.objective - optimum <= (solution.relative_gap + 1e-6) * scale
    if solve is solve_certified:
        assert solution.status == "certified"
    assert abs(solution.dual.edges).max(initial=0) <= program.gamma * (1 + 1e-12)
