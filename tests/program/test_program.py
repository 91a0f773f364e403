import numpy as np
import pytest
import scipy.sparse as sp

from programs import random_program
from siis.graph import Graph
from siis.program import Program
from siis.program.basis import identity_basis, smooth_basis
from siis.program.solvers import solve_certified


@pytest.mark.parametrize("seed", range(40))
def test_weak_duality_and_feasibility_for_arbitrary_points(seed):
    """Whatever multipliers come in, the bound lies below every value, and the dual constraints hold."""
    program = random_program(seed)
    rng = np.random.default_rng(seed)
    m, c = program.basis.shape[1], program.Y.shape[1]
    scale = 10.0 ** rng.uniform(-2, 1)
    V1 = scale * rng.standard_normal((program.P.shape[0], c))
    V2 = scale * program.alpha.mean() * rng.standard_normal(program.Y.shape)
    dual = program.dual_point(V1, V2 - program.Y * program.alpha[:, None])
    best = solve_certified(program, tol=1e-6, max_iter=20000)
    for A in (np.zeros((m, c)), best.coefficients, rng.standard_normal((m, c))):
        assert dual.value <= program.value(A) * (1 + 1e-9) + 1e-12
    R = program.basis.analyze(program.P.T @ dual.edges + program.J.T @ dual.labels)
    if program.beta == 0:
        free = R
    elif hasattr(program.basis, "values"):
        free = R[: program.basis.n_null]
    else:
        free = np.stack([R[program.graph.component == k].sum(0) for k in range(program.graph.n_components)])
    assert np.abs(free).max() <= 1e-8 * max(1.0, np.abs(dual.labels).max())


def test_value_by_hand():
    """Path of three vertices, weights 2 and 3, F = (1, 0, 2), labels 0 at the first and 2 at the last."""
    W = np.array([[0, 2.0, 0], [2, 0, 3], [0, 3, 0]])
    graph = Graph(sp.csr_array(W))
    program = Program(graph, identity_basis(graph), np.array([0, 2]), np.array([[0.0], [2.0]]), 5.0, 7.0, 11.0)
    F = np.array([[1.0], [0.0], [2.0]])
    edges = 11 * (2 * 1 + 3 * 2)
    labels = 5 * (1 + 0)
    energy = 7 * (2 * 1 + 3 * 4)
    assert program.value(F) == pytest.approx(edges + labels + energy)


def test_single_label_pair_in_closed_form():
    """Two vertices, labels -1 and +1: f = (-t, t) minimises 2 g w t + 2 a (1 - t) + 4 b w t^2 over t."""
    w, a, b, g = 0.7, 3.0, 2.0, 1.0
    graph = Graph(sp.csr_array(np.array([[0, w], [w, 0]])))
    program = Program(graph, smooth_basis(graph, 2), np.array([0, 1]), np.array([[-1.0], [1.0]]), a, b, g)
    t = np.clip((2 * a - 2 * g * w) / (8 * b * w), 0, 1)
    optimum = 2 * g * w * t + 2 * a * (1 - t) + 4 * b * w * t**2
    solution = solve_certified(program, tol=1e-9, max_iter=5000)
    assert 0 < t < 1
    assert solution.objective == pytest.approx(optimum, rel=1e-8)
    np.testing.assert_allclose(program.basis.synthesize(solution.coefficients)[:, 0], [-t, t], atol=1e-4)


def test_warm_start_needs_fewer_iterations_and_checks_shapes():
    program = random_program(8)
    cold = solve_certified(program, tol=1e-8, check_every=1, max_iter=20000)
    warm = solve_certified(program, tol=1e-8, check_every=1, start=cold)
    assert cold.n_iter > 10
    assert warm.n_iter <= 3
    assert warm.objective == pytest.approx(cold.objective, rel=1e-7)
    with pytest.raises(ValueError, match="same shapes"):
        solve_certified(random_program(10), start=cold)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"vertices": np.array([], dtype=int), "Y": np.zeros((0, 1))}, "at least one vertex"),
        ({"vertices": np.array([9])}, "between 0 and 3"),
        ({"Y": np.zeros((2, 1))}, "one row for each of 1 labels"),
        ({"Y": np.array([[np.nan]])}, "finite"),
        ({"alpha": 0.0}, "must be positive and lie between"),
        ({"beta": -1.0}, "beta must be non-negative"),
        ({"gamma": np.inf}, "gamma must be non-negative"),
        ({"beta": 0.0, "gamma": 0.0}, "must not both be 0"),
    ],
)
def test_invalid_programs_cannot_be_built(change, message):
    graph = Graph(
        sp.csr_array(
            sp.diags_array([1.0] * 3, offsets=1, shape=(4, 4)) + sp.diags_array([1.0] * 3, offsets=-1, shape=(4, 4))
        )
    )
    valid = {"vertices": np.array([0]), "Y": np.ones((1, 1)), "alpha": 1.0, "beta": 1.0, "gamma": 1.0}
    with pytest.raises(ValueError, match=message):
        Program(graph, smooth_basis(graph, 2), **(valid | change))


def test_components_must_be_labelled_and_in_the_basis():
    graph = Graph(sp.csr_array(np.kron(np.eye(2), [[0, 1.0], [1, 0]])))
    with pytest.raises(ValueError, match="1 hold none"):
        Program(graph, smooth_basis(graph, 2), np.array([0]), np.ones((1, 1)), 1.0, 1.0)
    with pytest.raises(ValueError, match="at least 2 components"):
        Program(graph, smooth_basis(graph, 1), np.array([0, 2]), np.ones((2, 1)), 1.0, 1.0)
