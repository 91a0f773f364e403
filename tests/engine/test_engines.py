"""The core on other array libraries against the core on NumPy: one text, the same answers."""

import sys

import numpy as np
import pytest
import scipy.sparse as sp

from programs import random_program
from siis.engine import NUMPY, Engine, linear_systems
from siis.engine.edges import EdgeRows
from siis.engine.linear_systems import conjugate_gradients, positive_solver
from siis.errors import NumericalError
from siis.graph import Graph, build_neighbor_graph
from siis.labels import VertexLabels, one_hot
from siis.model.smoothing import smooth_labels
from siis.program import Program
from siis.program.basis import identity_basis, smooth_basis
from siis.program.basis import subspace as subspace_module
from siis.program.penalties import RowNorm
from siis.program.solvers import mixed_precision, solve_batch, solve_certified, solve_paper

BOTH = pytest.mark.parametrize("laplacian", ["unnormalized", "normalized"])
SEEDS = pytest.mark.parametrize("seed", range(20))  # all kinds: gamma = 0, beta = 0, either basis, soft labels


@pytest.fixture(params=["strict", "cpu", "cuda"])
def engine(request):
    if request.param == "strict":
        from strict import ENGINE  # noqa: PLC0415

        return ENGINE
    torch = pytest.importorskip("torch", reason="PyTorch is not installed: its engine is not tried")
    if request.param == "cuda" and not torch.cuda.is_available():
        pytest.skip("there is no GPU here: PyTorch's engine is not tried on one")
    from siis.engine.torch import TorchEngine  # noqa: PLC0415

    return TorchEngine(request.param)


@pytest.fixture(scope="module")
def cloud():
    rng = np.random.default_rng(3)
    return build_neighbor_graph(rng.standard_normal((900, 12)), 8).graph


def same_solution(found, expected, engine, atol=1e-5):
    assert (found.n_iter, found.status) == (expected.n_iter, expected.status)
    assert found.objective == pytest.approx(expected.objective, rel=1e-10, abs=1e-10)
    np.testing.assert_allclose(found.history.dual_objective, expected.history.dual_objective, rtol=1e-6, atol=1e-8)
    np.testing.assert_allclose(engine.numpy(found.dual.labels), expected.dual.labels, atol=atol)


@pytest.mark.parametrize("long_row", [7, 2048])
def test_products(engine, long_row, monkeypatch):
    """Also by pieces of long rows; the same product twice has the same bytes."""
    if hasattr(engine, "_pieces"):
        monkeypatch.setattr(sys.modules["siis.engine.torch"], "LONG_ROW", long_row)
    M = sp.csr_array(sp.random(40, 500, 0.3, random_state=0))
    M = sp.csr_array(sp.vstack([M, sp.csr_array((3, 500)), M[:5]]))
    X = np.random.default_rng(0).standard_normal((500, 6))
    for kind, atol in ((np.float64, 1e-12), (np.float32, 1e-4)):
        S, there = engine.operator(M, kind), engine.asarray(X, kind)
        first, again = (engine.numpy(S @ there) for _ in range(2))
        np.testing.assert_array_equal(first, again)
        np.testing.assert_allclose(first, M @ X, atol=atol)
        back = engine.numpy(S.T @ (S @ there))
        np.testing.assert_array_equal(engine.numpy(S.T @ (S @ there)), back)
        np.testing.assert_allclose(back, M.T @ (M @ X), atol=100 * atol)
        other = S.with_entries(engine.asarray(2 * M.data, kind))
        np.testing.assert_allclose(engine.numpy(other @ there), 2 * (M @ X), atol=2 * atol)


@pytest.mark.parametrize("name", ["numpy", "own"])
def test_fast_paths_follow_the_text(name, engine, cloud):
    """An engine's own methods give what those of the base class give."""
    e, rng, n = NUMPY if name == "numpy" else engine, np.random.default_rng(0), cloud.n_vertices
    S = e.operator(cloud.laplacian, np.float64)
    X, Z, D, MD = (rng.standard_normal((n, 6)) for _ in range(4))
    diagonal, step, C = rng.random((n, 2)), rng.standard_normal(6), rng.standard_normal((6, 2))
    calls = {
        "chebyshev": (S, X, 9, 0.0, 1.0, float(2 * cloud.degrees.max())),
        "times": (X, C),
        "inner": (X, Z),
        "diag_minus_matmul": (diagonal, S, X),
        "cg_update": (X, Z, D, MD, step),
        "cg_direction": (D, Z, step),
        "medians": (X,),
    }

    def result(owner, method, args):
        there = [e.asarray(a.copy(), np.float64) if isinstance(a, np.ndarray) and a is not C else a for a in args]
        found = getattr(owner, method)(e, *there)
        return [a if isinstance(a, np.ndarray) else e.numpy(a) for a in (found if type(found) is tuple else [found])]

    for method, args in calls.items():
        pairs = zip(result(type(e), method, args), result(Engine, method, args), strict=True)
        for found, expected in pairs:
            np.testing.assert_allclose(found, expected, atol=1e-10, err_msg=method)
    penalty, p = RowNorm(0.7, e.xp), e.asarray(rng.uniform(0.5, 2, cloud.n_edges), np.float64)
    fused, plain = e.edge_rows(cloud, 2, 3, np.float64), EdgeRows(e, cloud, 2, 3, np.float64)
    N, F = (rng.standard_normal((k, 6)) for k in (cloud.n_edges, n))
    for rows in (fused, plain):
        rows.set_rows(e.asarray(N.copy(), np.float64))
        rows.set_penalties(p, penalty)
    F = e.asarray(F, np.float64)
    for _ in range(2):
        for found, expected in (
            (fused.step(F, penalty, 1.7), plain.step(F, penalty, 1.7)),
            (fused.divergence(-1.0, 1.0), plain.divergence(-1.0, 1.0)),
            (fused.N, plain.N),
            (fused.norms(F), plain.norms(F)),
        ):
            np.testing.assert_allclose(e.numpy(found), e.numpy(expected), atol=1e-10)


@BOTH
@pytest.mark.parametrize("method", ["chebyshev", "shift-invert", "dense"])
def test_the_basis(engine, laplacian, method):
    rng = np.random.default_rng(0)
    parts = [build_neighbor_graph(rng.standard_normal((size, 3)), 6).graph.weights for size in (150, 150, 90)]
    graph = Graph(sp.csr_array(sp.block_diag(parts)))
    expected = smooth_basis(graph, 20, laplacian, method=method)
    found = smooth_basis(graph, 20, laplacian, method=method, engine=engine)
    np.testing.assert_allclose(found.values, expected.values, atol=1e-8)
    assert (found.method, found.n_null) == (method, graph.n_components)
    fewer = found.first(11)
    np.testing.assert_array_equal(engine.numpy(fewer.vectors), engine.numpy(found.vectors)[:, :11])


def test_single_precision(engine, cloud, monkeypatch):
    expected = smooth_basis(cloud, 20, method="chebyshev")
    found = smooth_basis(cloud, 20, method="chebyshev", dtype=np.float32, engine=engine)
    assert str(found.vectors.dtype).endswith("float32")
    np.testing.assert_allclose(found.values, expected.values, atol=2e-5 * cloud.degrees.max())
    vertices = np.arange(0, cloud.n_vertices, 5)
    Y = one_hot(vertices % 3, 3)
    exact = solve_certified(Program(cloud, expected, vertices, Y, 10.0, 1.0), 1e-4)
    single = solve_certified(Program(cloud, found, vertices, Y, 10.0, 1.0), 1e-4)
    assert single.status == "certified"
    assert single.objective == pytest.approx(exact.objective, rel=2e-4)
    monkeypatch.setattr(mixed_precision, "STALLED_ITERATIONS", 0)  # double precision takes over at once
    single = solve_certified(Program(cloud, found, vertices, Y, 10.0, 1.0), 1e-6)
    assert single.status == "certified"
    assert str(single.dual.edges.dtype).endswith("float64")


def test_columns_too_close_to_dependence(engine):
    """Cholesky gives way to Householder."""
    rng = np.random.default_rng(0)
    X = rng.standard_normal((60, 3))
    X = np.column_stack([X, X[:, 0] + 1e-13 * X[:, 1]])
    Q = engine.numpy(subspace_module.orthonormalize(engine.asarray(X, np.float64), lambda Z: Z, engine, np.float64))
    np.testing.assert_allclose(Q.T @ Q, np.eye(4), atol=1e-12)
    np.testing.assert_allclose(Q @ (Q.T @ X), X, atol=1e-10)


def test_warm_starts(engine, cloud):
    small = smooth_basis(cloud, 10, method="chebyshev", engine=engine)
    expected = smooth_basis(cloud, 16, method="chebyshev", start=engine.numpy(small.vectors))
    found = smooth_basis(cloud, 16, method="chebyshev", start=small.vectors, engine=engine)
    assert type(found.vectors) is type(engine.zeros((1, 1), np.float64))
    assert (found.method, found.completeness) == (expected.method, expected.completeness)
    np.testing.assert_allclose(found.values, expected.values, atol=1e-8)
    np.testing.assert_allclose(engine.numpy(found.vectors), expected.vectors, atol=1e-6)
    thin = build_neighbor_graph(np.sort(np.random.default_rng(0).random(400))[:, None], 4).graph
    begun = smooth_basis(thin, 6, method="shift-invert", engine=engine)
    again = smooth_basis(thin, 6, method="shift-invert", start=begun.vectors, engine=engine)
    np.testing.assert_allclose(again.values, begun.values, atol=1e-10)


def test_what_an_engine_makes_of_a_graph_is_what_the_host_makes(engine, cloud):
    rng = np.random.default_rng(0)
    F, p = rng.standard_normal((cloud.n_vertices, 3)), rng.random(cloud.n_edges)
    scale = rng.uniform(0.5, 2, cloud.n_vertices)
    X = engine.asarray(F, np.float64)
    for found, expected in (
        (engine.laplacian(cloud, scale, np.float64), NUMPY.laplacian(cloud, scale, np.float64)),
        (engine.scaled(cloud.weights, scale, np.float64), NUMPY.scaled(cloud.weights, scale, np.float64)),
    ):
        np.testing.assert_allclose(engine.numpy(found @ X), expected @ F, rtol=1e-12, atol=1e-12)
    assert engine.largest_degree_sum(cloud) == NUMPY.largest_degree_sum(cloud)
    found, expected = (e.edge_matrix(cloud, np.float64) for e in (engine, NUMPY))
    np.testing.assert_array_equal(engine.numpy(found.squares), expected.squares)
    (W, sums), (M, totals) = found(engine.asarray(p, np.float64)), expected(p)
    np.testing.assert_allclose(engine.numpy(sums), totals, rtol=1e-12)
    np.testing.assert_allclose(engine.numpy(W @ X), M @ F, rtol=1e-12, atol=1e-12)
    rows, fused = (e.edge_rows(cloud, 1, 3, np.float64) for e in (engine, NUMPY))
    np.testing.assert_allclose(engine.numpy(rows.differences(X)), cloud.incidence @ F, rtol=1e-12, atol=1e-12)
    for one, N in ((rows, engine.asarray(cloud.incidence @ F, np.float64)), (fused, cloud.incidence @ F)):
        one.set_rows(N)
        one.set_penalties(engine.asarray(p, np.float64) if one is rows else p, RowNorm(0.01, one.engine.xp))
    np.testing.assert_allclose(engine.numpy(rows.divergence(2.0, -1.0)), fused.divergence(2.0, -1.0), atol=1e-12)


def test_many_random_numbers_are_drawn_on_the_device(monkeypatch):
    torch = pytest.importorskip("torch", reason="PyTorch is not installed: its engine is not tried")
    from siis.engine.torch import TorchEngine  # noqa: PLC0415

    engine = TorchEngine("cuda" if torch.cuda.is_available() else "cpu")
    few = engine.normal(np.random.default_rng(3), 50, 4, np.float64)
    np.testing.assert_array_equal(engine.numpy(few), np.random.default_rng(3).standard_normal((50, 4)))
    monkeypatch.setattr(sys.modules["siis.engine.torch"], "MANY_DRAWS", 100)
    rng = np.random.default_rng(3)
    one, other = (engine.numpy(engine.normal(rng, 5000, 4, np.float32)) for _ in range(2))
    again = engine.numpy(engine.normal(np.random.default_rng(3), 5000, 4, np.float32))
    np.testing.assert_array_equal(one, again)
    assert abs(np.corrcoef(one.ravel(), other.ravel())[0, 1]) < 0.05
    assert abs(one.std() - 1) < 0.05


@SEEDS
def test_values_bounds_and_solvers(engine, seed):
    one, other, rng = random_program(seed), random_program(seed, engine), np.random.default_rng(seed)
    A = rng.standard_normal((one.basis.shape[1], one.Y.shape[1]))
    assert other.value(A) == pytest.approx(one.value(A), rel=1e-12)
    V = rng.standard_normal((one.P.shape[0], A.shape[1])), one.alpha[:, None] * (rng.random(one.Y.shape) - one.Y)
    expected, found = one.dual_point(*V), other.dual_point(*(engine.asarray(part, np.float64) for part in V))
    assert found.value == pytest.approx(expected.value, rel=1e-10, abs=1e-10)
    np.testing.assert_allclose(engine.numpy(found.edges), expected.edges, atol=1e-10)
    cold = [solve_certified(program, 1e-5, 300) for program in (one, other)]
    same_solution(cold[1], cold[0], engine)
    warm = [solve_certified(p, 1e-7, 50, start=s) for p, s in zip((one, other), cold, strict=True)]
    same_solution(warm[1], warm[0], engine)
    expected, found = solve_paper(one), solve_paper(other)
    same_solution(found, expected, engine, 1e300)
    # rounding may choose among points of one value: it must be one of these
    value = one.dual_point(engine.numpy(found.dual.edges), engine.numpy(found.dual.labels)).value
    assert value == pytest.approx(expected.dual.value, rel=1e-6, abs=1e-8)


def test_batches(engine, cloud):
    """Programs with other labels and weights, one of them without energy, cold and warm."""
    vertices = np.arange(0, cloud.n_vertices, 9)
    Y = one_hot(np.arange(vertices.size) % 4, 4)

    def solutions(e):
        basis = smooth_basis(cloud, 15, method="chebyshev", engine=e)
        programs = [
            Program(cloud, basis, vertices, Y, 5.0, 1.0),
            Program(cloud, basis, vertices, Y[::-1], 10.0, 2.0),
            Program(cloud, basis, vertices, np.roll(Y, 1, axis=0), 5.0, 0.0),
        ]
        cold = solve_batch(programs, 1e-4, 200)
        return cold + solve_batch(programs, 1e-6, 30, start=cold)

    for found, expected in zip(solutions(engine), solutions(NUMPY), strict=True):
        same_solution(found, expected, engine)


def test_every_vertex_labelled_and_parts_that_hang_on_next_to_nothing(engine):
    """The default's final program; eigenvalues near 0 are balanced in the bound."""
    rng = np.random.default_rng(1)
    parts = [build_neighbor_graph(rng.standard_normal((40, 2)), 5).graph.weights for _ in range(3)]
    W = sp.block_diag(parts, format="lil")
    W[10, 50] = W[50, 10] = W[60, 100] = W[100, 60] = 1e-7
    graph = Graph(W.tocsr())
    Y = rng.dirichlet(np.ones(3), 120)

    def solve(e):
        basis = smooth_basis(graph, 12, "normalized", engine=e)
        assert basis.near_null_vectors.shape[1] > graph.n_components
        return solve_certified(Program(graph, basis, np.arange(120), Y, 1.0, 3.0), 1e-5)

    same_solution(solve(engine), solve(NUMPY), engine)


def test_smoothing(engine, cloud):
    rng = np.random.default_rng(0)
    vertices = np.arange(0, cloud.n_vertices, 10)
    given = VertexLabels(vertices, one_hot(vertices % 3, 3), rng.uniform(0.5, 2, vertices.size))
    sets = [given, given.subset(np.arange(vertices.size) % 2 == 0)]
    expected = smooth_labels(cloud.weights, sets, 0.3, 1e-5)
    np.testing.assert_allclose(smooth_labels(cloud.weights, sets, 0.3, 1e-5, engine), expected, atol=1e-4)
    smooth = smooth_basis(cloud, 9, "normalized", engine=engine).vectors
    found = smooth_labels(cloud.weights, sets, 0.3, 1e-5, engine, smooth)
    np.testing.assert_allclose(found, expected, atol=1e-4)


def test_systems_whose_factor_would_be_thick(engine, cloud, monkeypatch):
    """Conjugate gradients on the engine, behind the face of a solver on the host."""
    monkeypatch.setattr(linear_systems, "THIN_ENVELOPE", 0.0)
    monkeypatch.setattr(linear_systems, "SMALL_ENVELOPE", 0.0)
    M = sp.csr_array(cloud.laplacian + sp.eye_array(cloud.n_vertices))
    B = np.random.default_rng(0).standard_normal((cloud.n_vertices, 3))
    solve = positive_solver(M, engine=engine)
    X = solve(B)
    np.testing.assert_allclose(X, linear_systems.factorize(M).solve(B), atol=1e-8)
    np.testing.assert_array_equal(solve(B, X), X)  # a good guess stays
    monkeypatch.setattr(linear_systems, "CG_MAX_ITER", 3)
    with pytest.raises(NumericalError, match="did not converge in 3 iterations: relative residual"):
        solve(B)
    program = Program(
        cloud, identity_basis(cloud, engine), np.arange(0, 900, 9), one_hot(np.arange(100) % 2, 2), 1.0, 1.0
    )
    monkeypatch.setattr(linear_systems, "CG_MAX_ITER", 20_000)
    assert solve_certified(program, 1e-3).status == "certified"


def test_conjugate_gradients_leave_their_arguments_alone(engine):
    M = np.diag([1.0, 2.0, 5.0])
    B, start = (engine.asarray(a, np.float64) for a in (np.ones((3, 1)), np.full((3, 1), 0.5)))
    X, residual = conjugate_gradients(engine, lambda X: engine.asarray(M, np.float64) @ X, B, start, 1e-12, 10)
    np.testing.assert_allclose(engine.numpy(X)[:, 0], [1, 0.5, 0.2])
    assert residual <= 1e-12
    np.testing.assert_array_equal(engine.numpy(B), np.ones((3, 1)))
    np.testing.assert_array_equal(engine.numpy(start), np.full((3, 1), 0.5))
