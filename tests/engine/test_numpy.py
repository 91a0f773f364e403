"""Compiled loops against plain NumPy, threads, and the batch of programs."""

import threading
from dataclasses import replace

import numpy as np
import pytest
import scipy.sparse as sp
from sklearn.datasets import make_blobs, make_moons

from programs import random_program
from siis.engine import NUMPY, blocks
from siis.engine import numpy as numpy_module
from siis.engine.blocks import PIECES, chebyshev_filter, product, tall_product, tall_transposed
from siis.engine.loops import FEW_COLUMNS
from siis.engine.threads import in_threads, pause_point
from siis.graph import Graph, build_neighbor_graph, candidates
from siis.labels import one_hot
from siis.program import Program
from siis.program.basis import smooth_basis
from siis.program.penalties import RowNorm
from siis.program.solvers import mixed_precision, solve_batch, solve_certified


@pytest.fixture
def graph(rng):
    W = sp.random_array((80, 80), density=0.15, rng=rng)
    W = sp.csr_array(sp.triu(W, 1))
    return Graph(W + W.T)


KINDS = pytest.mark.parametrize(("kind", "rtol"), [(np.float64, 1e-12), (np.float32, 1e-4)])


@KINDS
@pytest.mark.parametrize("threads", [False, True])
@pytest.mark.parametrize("n_columns", [7, 40])
def test_products(rng, graph, kind, rtol, threads, n_columns, monkeypatch):
    for name in ("WORTH_THREADS", "WORTH_SPARSE"):
        monkeypatch.setattr(blocks, name, 0 if threads else 10**12)
    S, X = sp.csr_array(graph.laplacian.astype(kind)), rng.standard_normal((80, n_columns)).astype(kind)
    np.testing.assert_allclose(product(S, X), S.toarray() @ X, rtol=rtol, atol=rtol)
    A = rng.standard_normal((n_columns, 3)).astype(kind)
    np.testing.assert_allclose(tall_product(X, A), X @ A, rtol=rtol, atol=rtol)
    np.testing.assert_allclose(tall_transposed(X, X[:, :2]), X.T @ X[:, :2], rtol=rtol, atol=rtol)


@KINDS
@pytest.mark.parametrize("n_columns", [3, 70, 300])
@pytest.mark.parametrize("threads", [False, True])
def test_chebyshev_filter_is_the_polynomial(rng, graph, kind, rtol, n_columns, threads, monkeypatch):
    for name in ("WORTH_THREADS", "WORTH_SPARSE"):
        monkeypatch.setattr(blocks, name, 0 if threads else 10**12)
    S, X = sp.csr_array(graph.laplacian.astype(kind)), rng.standard_normal((80, n_columns)).astype(kind)
    values, V = np.linalg.eigh(graph.laplacian.toarray())
    cut, high = values[10], values[-1] * 1.01
    before = X.copy()
    found = chebyshev_filter(S, X, 9, 0.0, cut, high)
    c, e = (high + cut) / 2, (high - cut) / 2
    T = np.polynomial.chebyshev.Chebyshev.basis(9)
    expected = V @ ((T((values - c) / e) / T(-c / e))[:, None] * (V.T @ X))
    np.testing.assert_allclose(found, expected, atol=20 * rtol)
    np.testing.assert_array_equal(X, before)


def test_edges_agree_with_the_incidence_matrix(graph):
    P, edges = graph.incidence, graph.edges
    heads = np.repeat(np.arange(80), np.diff(edges.first))
    assert (heads < edges.tails).all()
    rebuilt = np.zeros(P.shape)
    rebuilt[np.arange(graph.n_edges), heads] = edges.weights
    rebuilt[np.arange(graph.n_edges), edges.tails] = -edges.weights
    np.testing.assert_array_equal(rebuilt, P.toarray())
    np.testing.assert_array_equal(edges.weights[edges.entries], graph.weights.data)


@KINDS
@pytest.mark.parametrize("pieces", [1, PIECES])
@pytest.mark.parametrize("c", [FEW_COLUMNS - 3, FEW_COLUMNS + 3])
def test_the_pass_over_the_edges(rng, graph, kind, rtol, pieces, c, monkeypatch):
    """N, f and the divergence of two groups of columns, against the formulas with P formed."""
    monkeypatch.setattr(numpy_module, "WORTH_PIECES", 0 if pieces > 1 else 10**12)
    P = graph.incidence.toarray()
    rows = NUMPY.edge_rows(graph, 2, c, kind)
    assert len(rows.pieces) == pieces
    p, gamma, relaxation = rng.uniform(0.5, 2, graph.n_edges), 0.7, 1.7
    rows.N = rng.standard_normal(rows.N.shape).astype(kind)
    rows.N[:, 0] *= 0.1
    penalty = RowNorm(gamma, np)
    rows.set_penalties(p, penalty)
    N, F = rows.N.reshape(-1, 2 * c).astype(float), rng.standard_normal((80, 2 * c)).astype(kind)

    def shrink(N):
        norms = np.linalg.norm(N.reshape(-1, 2, c), axis=2)
        return np.maximum(1 - gamma / (p[:, None] * norms), 0)

    def spread(f):
        return np.repeat(f, c, axis=1)

    f = shrink(N)
    np.testing.assert_allclose(rows.f[:, :, 0], f, atol=rtol)
    np.testing.assert_allclose(rows.divergence(-1.0, 1.0), P.T @ (p[:, None] * spread(1 - f) * N), atol=50 * rtol)
    N = relaxation * (P @ F) + spread(1 - relaxation * f) * N
    gathered = rows.step(F, penalty, relaxation)
    f = shrink(N)
    np.testing.assert_allclose(rows.N.reshape(N.shape), N, atol=50 * rtol)
    np.testing.assert_allclose(rows.f[:, :, 0], f, atol=50 * rtol)
    np.testing.assert_allclose(gathered, P.T @ (p[:, None] * spread(2 * f - 1) * N), atol=200 * rtol)
    np.testing.assert_allclose(
        rows.norms(F), np.linalg.norm((P @ F).reshape(-1, 2, c), axis=2), rtol=1e-4 if kind == np.float32 else 1e-12
    )


def test_denormal_rows_are_shrunk_to_nothing():
    """Rows so short that their squares leave single precision must not become infinite."""
    graph = Graph(np.array([[0.0, 0.005], [0.005, 0.0]]))
    rows = NUMPY.edge_rows(graph, 1, 4, np.float32)
    rows.N[:] = 2e-21
    rows.p[:] = 1e4
    out = rows.step(np.zeros((2, 4), np.float32), RowNorm(1.0, np), 1.7)
    assert rows.f[0, 0, 0] == 0
    assert np.isfinite(out).all()


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


def test_candidates_are_the_nearest(rng):
    points = rng.standard_normal((300, 5)).astype(np.float32)
    indices, scores = candidates(points[:40], points, 9)
    squares = ((points[:40, None].astype(float) - points) ** 2).sum(axis=2)
    np.testing.assert_array_equal(np.sort(indices, 1), np.sort(np.argsort(squares, axis=1)[:, :9], 1))
    assert (np.diff(scores, axis=1) >= 0).all()


def test_threads_keep_the_order_and_pass_failures_on():
    assert in_threads(lambda i: i * i, range(20)) == [i * i for i in range(20)]
    with pytest.raises(ZeroDivisionError):
        in_threads(lambda i: 1 // i, [3, 2, 1, 0])
    nested = in_threads(lambda i: sum(in_threads(lambda j: i * j, range(4))), range(4))
    assert nested == [0, 6, 12, 18]


def test_running_pieces_end_when_another_fails(monkeypatch):
    monkeypatch.setattr("siis.engine.threads.n_threads", lambda: 2)  # whatever the machine and OMP_NUM_THREADS allow
    ended, begun = threading.Event(), threading.Event()

    def piece(i):
        if i == 0:
            begun.wait(10)
            raise KeyboardInterrupt
        begun.set()
        try:
            while True:
                pause_point()
        finally:
            ended.set()

    with pytest.raises(KeyboardInterrupt):
        in_threads(piece, [0, 1])
    assert ended.wait(10)
