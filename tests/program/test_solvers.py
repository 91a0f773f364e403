"""The certified solver against an interior-point method, on random programs of every kind."""

from dataclasses import replace

import numpy as np
import pytest
from sklearn.datasets import make_blobs, make_moons

from coil_case import coil_program
from programs import random_graph, random_program, reference
from siis.graph import Graph, build_neighbor_graph
from siis.labels import one_hot
from siis.program import Program
from siis.program.basis import smooth_basis
from siis.program.solvers import mixed_precision, solve_batch, solve_certified

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


def test_a_gap_of_one_in_a_million(coil):
    program = coil_program(*coil)
    solution = solve_certified(program, tol=1e-6)
    assert solution.status == "certified"
    assert solution.relative_gap <= 1e-6
    assert solution.n_iter <= 400
    assert solution.dual.value <= solution.objective == program.value(solution.coefficients)


@pytest.mark.parametrize("seed", range(6))
def test_a_batch_solves_each_program(seed):
    one = random_program(seed)
    rng = np.random.default_rng(seed)
    others = [
        Program(one.graph, one.basis, one.vertices, np.roll(one.Y, k, axis=0), one.alpha, one.beta, one.gamma)
        for k in range(3)
    ]
    changed = Program(one.graph, one.basis, one.vertices, one.Y, 2 * one.alpha, one.beta + rng.random(), one.gamma)
    programs = [*others, changed]
    for program, solution in zip(programs, solve_batch(programs, 1e-5, 20_000), strict=True):
        alone = solve_certified(program, 1e-5, 20_000)
        assert solution.status == "certified"
        assert solution.objective == pytest.approx(program.value(solution.coefficients))
        scale = max(alone.objective, program.floor * program.value_at_zero)
        assert abs(solution.objective - alone.objective) <= 2.1e-5 * scale
        proof = program.dual_point(solution.dual.edges, solution.dual.labels)
        assert proof.value == pytest.approx(solution.dual.value, rel=1e-6, abs=1e-9 * program.value_at_zero)


def test_single_precision_keeps_its_promise(rng):
    """To 1e-4, which is far above rounding; the proof holds in double precision too."""
    X = rng.standard_normal((600, 4))
    place = build_neighbor_graph(X, 8)
    rows = np.arange(0, 600, 6)
    Y = one_hot((X[rows, 0] > 0).astype(int) + (X[rows, 1] > 0), 3)
    programs = [
        Program(place.graph, smooth_basis(place.graph, 40, dtype=kind), place.vertex[rows], Y, 10.0, 1.0)
        for kind in (np.float64, np.float32)
    ]
    exact, single = (solve_certified(program, 1e-4) for program in programs)
    assert single.status == "certified"
    assert single.objective == pytest.approx(exact.objective, rel=2e-4)
    proof = programs[1].dual_point(single.dual.edges, single.dual.labels)
    assert proof.value == pytest.approx(single.dual.value, rel=1e-5)
    assert proof.value <= exact.objective * (1 + 1e-5)


@pytest.mark.parametrize(("alpha", "beta"), [(1e4, 1.0), (100.0, 1e-3)])
@pytest.mark.parametrize("laplacian", ["unnormalized", "normalized"])
def test_single_precision_ends_in_double_where_rounding_holds_the_gap_up(laplacian, alpha, beta):
    """In single precision alone the gap of these stays above 1e-4 however long it goes on."""
    X, _ = make_moons(300, noise=0.08, random_state=0)
    place = build_neighbor_graph(X.astype(np.float32), 8)
    rows = np.arange(0, 300, 8)
    basis = smooth_basis(place.graph, 60, laplacian, dtype=np.float32)
    program = Program(place.graph, basis, place.vertex[rows], one_hot(rows // 8 % 2, 2), alpha, beta)
    single = solve_certified(program, 1e-4)
    exact = solve_certified(replace(program, basis=smooth_basis(place.graph, 60, laplacian)), 1e-4)
    assert (single.status, exact.status) == ("certified", "certified")
    assert single.n_iter <= exact.n_iter + 150
    assert single.objective == pytest.approx(exact.objective, rel=3e-4)
    double = replace(program, basis=basis.in_double())
    assert double.value(single.coefficients) == pytest.approx(single.objective, rel=1e-6)
    assert double.dual_point(single.dual.edges, single.dual.labels).value == pytest.approx(
        single.dual.value, rel=1e-5
    )


def test_labels_that_are_met_closely_are_met_in_double_precision(monkeypatch):
    """Soft labels that are all but smooth: rows are shorter than single precision resolves, and a start knows it."""
    X, classes = make_blobs(1500, 5, centers=6, cluster_std=1.0, center_box=(-8, 8), random_state=0)
    place = build_neighbor_graph(X.astype(np.float32), 8)
    basis = smooth_basis(place.graph, 40, "normalized", dtype=np.float32)
    soft = 0.999 * one_hot(classes, 6) + 0.001 * np.random.default_rng(0).dirichlet(np.ones(6), 1500)
    vertices = np.arange(place.graph.n_vertices)
    degree = float(place.graph.degrees.mean())
    program = Program(place.graph, basis, vertices, soft[np.argsort(place.vertex)], degree, 3 * degree, floor=0.1)
    exact = solve_certified(replace(program, basis=basis.in_double()), 1e-5)
    single = solve_certified(program, 1e-5)
    assert (single.status, exact.status) == ("certified", "certified")
    assert single.n_iter <= exact.n_iter + 10
    taken = []
    limit = mixed_precision._SinglePrecision
    is_below_resolution = limit.is_below_resolution
    monkeypatch.setattr(
        limit, "is_below_resolution", lambda *a: (taken.append(is_below_resolution(*a)), taken[-1])[1]
    )
    again = solve_certified(program, 1e-5, start=single)
    assert taken == [True]  # before the first iteration
    assert again.n_iter <= 10
    taken.clear()
    solve_certified(program, 1e-2)
    assert taken
    assert not any(taken)  # a rough answer does not need it
