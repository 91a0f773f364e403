"""Linear systems against NumPy, also where rounding leaves no inverse."""

import numpy as np
import pytest

from siis.engine.linear_systems import positive_solver
from siis.errors import NumericalError


def test_a_positive_system_is_solved(rng):
    root = rng.standard_normal((30, 12))
    M, B = root.T @ root, rng.standard_normal((12, 3))
    np.testing.assert_allclose(positive_solver(M)(B), np.linalg.solve(M, B), rtol=1e-9)


@pytest.mark.parametrize("noise", [0.0, 1e-9])
def test_a_singular_system_gets_the_solution_that_its_quadratic_allows(rng, noise):
    """Minimise 1/2 x'Mx - b'x: along the null space of M any x will do, and rounding of M must not be inverted."""
    root = rng.standard_normal((8, 12))
    M = root.T @ root
    rounding = rng.standard_normal(M.shape)
    perturbed = M + noise * (rounding + rounding.T)
    B = M @ rng.standard_normal((12, 2))  # in the range, as the right-hand sides of a least-squares problem are
    X = positive_solver(perturbed)(B)
    np.testing.assert_allclose(M @ X, B, atol=1e-6 * np.abs(B).max())
    assert np.abs(X).max() < 1e3


def test_a_coefficient_on_which_nothing_depends_is_zero():
    M = np.diag([2.0, 0.0, 4.0])
    np.testing.assert_array_equal(positive_solver(M)(np.array([[2.0], [0.0], [2.0]])), [[1.0], [0.0], [0.5]])


def test_numbers_that_are_none_are_refused():
    with pytest.raises(NumericalError, match="not finite"):
        positive_solver(np.array([[np.inf, 0.0], [0.0, 1.0]]))
