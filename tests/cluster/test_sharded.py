"""The core on shards against the core on all rows: the same answers, wherever shards run."""

import numpy as np
import pytest
import scipy.sparse as sp

from programs import random_program
from siis.distributed import sharded_engine
from siis.distributed.communicator import Communicator, Lost, Mailbox, run_shards
from siis.distributed.sharded_engine import Halo, ShardedEngine
from siis.distributed.sharded_graph import build_shard, symmetric_weights
from siis.engine import NUMPY
from siis.graph import Graph, build_neighbor_graph
from siis.labels import VertexLabels, one_hot
from siis.model.smoothing import smooth_labels
from siis.program import Program
from siis.program.basis import SmoothBasis, smooth_basis
from siis.program.basis import subspace as subspace_module
from siis.program.penalties import RowNorm
from siis.program.solvers import solve_certified, solve_paper

pytestmark = pytest.mark.slow
BOTH = pytest.mark.parametrize("laplacian", ["unnormalized", "normalized"])


def bounds_of(n, size):
    return np.linspace(0, n, size + 1).astype(int)


def run_here(size, work):
    """Do the work of all shards in this process; results in the order of the shards."""
    box = Mailbox()
    comms = [Communicator("here", rank, size, box, lambda _, *part: box.put(*part)) for rank in range(size)]
    return run_shards(comms, work)


def on_shards(graph, size, work, low_memory=False):
    """Do the work in every shard of a graph: it is given the engine, the shard's graph and its first and last row."""
    bounds = bounds_of(graph.n_vertices, size)

    def one(comm):
        a, b = bounds[comm.rank], bounds[comm.rank + 1]
        shard = build_shard(comm, graph.weights[a:b], bounds)
        return work(ShardedEngine(comm, shard.halo, low_memory), shard, a, b)

    return run_here(size, one)


@pytest.fixture(scope="module")
def cloud():
    return build_neighbor_graph(np.random.default_rng(3).standard_normal((900, 12)), 8).graph


@pytest.fixture(scope="module")
def parts():
    rng = np.random.default_rng(0)
    return Graph(
        sp.csr_array(
            sp.block_diag([build_neighbor_graph(rng.standard_normal((k, 3)), 6).graph.weights for k in (150, 90)])
        )
    )


@pytest.mark.parametrize("size", [1, 2, 5])
def test_the_graph_of_a_shard(parts, size):
    found = on_shards(
        parts, size, lambda engine, shard, a, b: (shard, engine.reduce_halo(engine.with_halo(np.ones(b - a))))
    )
    np.testing.assert_array_equal(np.concatenate([shard.component for shard, _ in found]), parts.component)
    np.testing.assert_allclose(np.concatenate([shard.degrees for shard, _ in found]), parts.degrees)
    assert {shard.n_components for shard, _ in found} == {2}
    assert sum(shard.n_edges for shard, _ in found) == parts.n_edges
    assert max(shard.degree_sums.max() for shard, _ in found) == pytest.approx(
        (parts.degrees[parts.edges.heads] + parts.degrees[parts.edges.tails]).max()
    )
    for shard, folded in found:  # every row comes back once for each shard that has fetched it
        held = sum((np.isin(shard.first + np.arange(shard.n_vertices), other.others) for other, _ in found), 0)
        np.testing.assert_array_equal(folded, 1 + held)


@pytest.mark.parametrize("kind", ["union", "mutual"])
def test_neighbours_are_joined_across_shards(kind):
    rng = np.random.default_rng(0)
    indices = np.array([rng.permutation(np.delete(np.arange(60), i))[:5] for i in range(60)])
    weights = rng.uniform(0.1, 1, indices.shape)
    whole = sp.csr_array((weights.ravel(), indices.ravel(), np.arange(0, 301, 5)), shape=(60, 60))
    union = whole.maximum(whole.T)
    expected = union if kind == "union" else 0.01 * union + 0.99 * whole.minimum(whole.T)
    bounds = bounds_of(60, 3)

    def one(comm):
        mine = slice(bounds[comm.rank], bounds[comm.rank + 1])
        return symmetric_weights(comm, indices[mine], weights[mine], bounds, kind)

    np.testing.assert_allclose(sp.vstack(run_here(3, one)).toarray(), expected.toarray(), atol=1e-15)


@pytest.mark.parametrize("size", [2, 3])
def test_products_sums_and_medians(cloud, size):
    rng = np.random.default_rng(0)
    X, q = rng.standard_normal((900, 7)), rng.uniform(1, 2, 900)
    D, p = np.abs(rng.standard_normal((901, 4))), rng.uniform(1, 2, cloud.n_edges)
    D[600:, 2], D[300:, 3] = 0.0, 0.0  # mostly, and hardly, zero
    heads, weights = cloud.edges.heads, cloud.edges.weights

    def work(engine, shard, a, b):
        assert engine.total_count(b - a) == 900
        P = engine.operator(shard.incidence, np.float64)
        edges = slice(*np.searchsorted(heads, [a, b]))
        np.testing.assert_allclose(shard.edges.weights, weights[edges])
        matrix, sums = engine.edge_matrix(shard, np.float64)(p[edges])
        S = engine.scaled(shard.laplacian, q[a:b], np.float64)
        last = b + (b == 900)
        return (
            engine.operator(shard.weights, np.float64) @ X[a:b],
            P.T @ (P @ X[a:b]),
            matrix @ X[a:b],
            sums,
            engine.chebyshev(S, X[a:b], 9, 0.0, 1.0, 40.0),
            engine.inner(X[a:b], X[a:b]),
            engine.xp.sum(X[a:b]),
            engine.medians(D[a:last]),
            engine.deviation(X[a:b]),
            engine.xp.linalg.qr(X[a:b])[0],
        )

    found = list(zip(*on_shards(cloud, size, work), strict=True))
    rows = [np.concatenate(part) for part in (*found[:5], found[9])]
    W = sp.csr_array((p[cloud.edges.entries], cloud.weights.indices, cloud.weights.indptr))
    L = sp.diags_array(q) @ cloud.laplacian @ sp.diags_array(q)
    expected = (
        cloud.weights @ X,
        cloud.incidence.T @ (cloud.incidence @ X),
        W @ X,
        W.sum(axis=1),
        NUMPY.chebyshev(NUMPY.operator(L, np.float64), X, 9, 0.0, 1.0, 40.0),
    )
    for one, other in zip(rows[:5], expected, strict=True):
        np.testing.assert_allclose(one, other, atol=1e-9)
    np.testing.assert_allclose(rows[5].T @ rows[5], np.eye(7), atol=1e-12)
    np.testing.assert_allclose(rows[5] @ (rows[5].T @ X), X, atol=1e-10)
    for shard in range(size):
        np.testing.assert_allclose(found[5][shard], X.T @ X)
        assert found[6][shard] == pytest.approx(X.sum())
        np.testing.assert_array_equal(found[7][shard], np.median(D, axis=0))
        np.testing.assert_allclose(found[8][shard], X.std(axis=0))


@BOTH
@pytest.mark.parametrize("size", [1, 3])
def test_the_basis(parts, laplacian, size):
    expected = smooth_basis(parts, 20, laplacian, method="chebyshev")
    found = on_shards(parts, size, lambda engine, shard, a, b: smooth_basis(shard, 20, laplacian, engine=engine))
    U = np.concatenate([basis.vectors for basis in found])
    for basis in found:
        np.testing.assert_allclose(basis.values, expected.values, atol=1e-8)
        assert (basis.method, basis.n_null) == ("chebyshev", 2)
    scale = parts.degrees / parts.degrees.mean() if laplacian == "normalized" else np.ones(240)
    np.testing.assert_allclose(U.T @ (scale[:, None] * U), np.eye(20), atol=1e-8)


def moved(program, engine, shard, a, b):
    """A program on a shard, on the rows of its basis."""
    basis = program.basis
    own = SmoothBasis(
        basis.vectors[a:b], basis.values, basis.laplacian, basis.n_null, basis.residuals, "chebyshev", "probe",
        basis.dtype, engine,
    )  # fmt: skip
    here = (program.vertices >= a) & (program.vertices < b)
    rows = program.vertices[here] - a
    return Program(shard, own, rows, program.Y[here], program.alpha[here], program.beta, program.gamma)


@pytest.mark.parametrize("seed", [seed for seed in range(20) if seed % 4])
@pytest.mark.parametrize("size", [1, 3])
def test_programs_of_every_kind(seed, size):
    """gamma = 0, beta = 0, soft labels, shards without a label or an edge; both algorithms."""
    program = random_program(seed)
    size = min(size, program.graph.n_vertices)
    for solve in (lambda p: solve_certified(p, 1e-6, 300), solve_paper):
        expected = solve(program)

        def work(engine, shard, a, b, solve=solve):
            return (a, b), solve(moved(program, engine, shard, a, b))

        bounds, found = zip(*on_shards(program.graph, size, work), strict=True)
        for solution in found:
            assert solution.objective == pytest.approx(expected.objective, rel=1e-6, abs=1e-8)
            assert (solution.n_iter, solution.status) == (expected.n_iter, expected.status)
            assert solution.dual.value == pytest.approx(expected.dual.value, rel=1e-6, abs=1e-8)
        edges = np.concatenate([solution.dual.edges for solution in found])
        if solve is solve_paper:  # rounding may choose among points of one value: it must be one of these
            labels, vertices = np.zeros(program.Y.shape), program.vertices
            for (a, b), solution in zip(bounds, found, strict=True):
                labels[(vertices >= a) & (vertices < b)] = solution.dual.labels
            value = program.dual_point(edges, labels).value
            assert value == pytest.approx(expected.dual.value, rel=1e-6, abs=1e-8)
        else:
            np.testing.assert_allclose(edges, expected.dual.edges, atol=1e-4)


@pytest.fixture(scope="module")
def soft(cloud):
    """Soft labels of every vertex."""
    return np.random.default_rng(0).dirichlet(np.ones(3), cloud.n_vertices)


def single_program(engine, shard, Y):
    basis = smooth_basis(shard, 15, "normalized", dtype=np.float32, engine=engine, residual=1e-4)
    return Program(shard, basis, np.arange(len(Y)), Y, 1.0, 3.0)


@pytest.mark.parametrize("low_memory", [False, True])
def test_single_precision_where_memory_is_short(cloud, soft, low_memory, monkeypatch):
    """Rows at the edges in a file, all in small blocks, single precision throughout: the same answers, nearly."""
    basis = smooth_basis(cloud, 15, "normalized", method="chebyshev")
    expected = solve_certified(Program(cloud, basis, np.arange(900), soft, 1.0, 3.0), 1e-4)
    for name, value in (("MOST_BYTES_IN_MEMORY", 0), ("BYTES_AT_ONCE", 2**13), ("NUMBERS_AT_ONCE", 2**10)):
        monkeypatch.setattr(sharded_engine, name, value)

    def work(engine, shard, a, b):
        program = single_program(engine, shard, soft[a:b])
        rows = engine.edge_rows(shard, 1, 3, np.float32)
        assert len(rows.pieces) > 1
        assert isinstance(rows.N, np.memmap)
        solution = solve_certified(program, 1e-4)
        return program.basis, solution, engine.numpy(program.basis.synthesize(solution.coefficients))

    found = on_shards(cloud, 2, work, low_memory)
    for own, solution, _ in found:
        np.testing.assert_allclose(own.values, basis.values, atol=1e-3)
        assert solution.status == "certified"
        assert solution.objective == pytest.approx(expected.objective, rel=1e-3)
    F = np.concatenate([part for _, _, part in found])
    assert np.mean(F.argmax(axis=1) == basis.synthesize(expected.coefficients).argmax(axis=1)) > 0.99
    edges = np.concatenate([solution.dual.edges for _, solution, _ in found])
    assert np.abs(edges - expected.dual.edges).mean() < 0.02


def test_rows_at_edges_in_a_file(cloud, monkeypatch):
    """What is done to them piece by piece is what is done to all."""
    rng = np.random.default_rng(0)
    F, N = (rng.uniform(0.5, 2, (k, 4)) for k in (900, cloud.n_edges))
    p, q = rng.uniform(0.5, 2, (2, cloud.n_edges))
    penalty = RowNorm(1.5, np)
    monkeypatch.setattr(sharded_engine, "MOST_BYTES_IN_MEMORY", 0)
    monkeypatch.setattr(sharded_engine, "BYTES_AT_ONCE", 2**12)

    def steps(rows):
        rows.set_rows(N.copy())
        rows.set_penalties(p, penalty)
        found = [rows.step(F, penalty, 1.7), rows.divergence(-1.0, 1.0), rows.norms(F)]
        rows.rescale(p / q)
        rows.set_penalties(q, penalty)
        return [*found, rows.divergence(1.0, 0.0), rows.f, rows.final_multipliers(0, 0.5)]

    expected = steps(NUMPY.edge_rows(cloud, 2, 2, np.float64))
    found = on_shards(cloud, 1, lambda engine, shard, a, b: steps(engine.edge_rows(shard, 2, 2, np.float64)))[0]
    for one, other in zip(found, expected, strict=True):
        np.testing.assert_allclose(one, other, rtol=1e-9)


def test_a_gap_that_single_precision_holds_up(cloud, soft):
    def work(engine, shard, a, b):
        return solve_certified(single_program(engine, shard, soft[a:b]), 1e-12)

    for solution in on_shards(cloud, 2, work, low_memory=True):
        assert (solution.status, solution.n_iter < 900) == ("max_iter", True)
        assert solution.relative_gap < 1e-3


def test_blocks_in_the_memory_of_others():
    X, Y = np.random.default_rng(0).standard_normal((2, 700, 5)).astype(np.float32)

    def work(comm):
        engine = ShardedEngine(comm, Halo(700, {}, {}), low_memory=True)
        once = engine.hstack(engine.hstack(np.zeros((700, 0), np.float32), X), Y)
        np.testing.assert_array_equal(once, np.hstack([X, Y]))
        less = engine.matmul_inplace(once, np.eye(10)[:, [7, 0, 3]])
        np.testing.assert_array_equal(less, np.column_stack([Y[:, 2], X[:, 0], X[:, 3]]))
        more = engine.hstack(less, Y[:, :4])
        assert np.shares_memory(more, once)
        np.testing.assert_array_equal(more, np.column_stack([Y[:, 2], X[:, 0], X[:, 3], Y[:, :4]]))

    run_here(1, work)


def test_smoothing(cloud):
    """Also on a subspace of smooth functions, which spares products."""
    rows = np.arange(0, 900, 10)
    given = VertexLabels(rows, one_hot(rows % 3, 3), np.ones(rows.size))
    (expected,) = smooth_labels(cloud.weights, [given], 0.3, 1e-5)
    smooth = smooth_basis(cloud, 9, "normalized").vectors

    def work(engine, shard, a, b):
        own = given.subset((rows >= a) & (rows < b))
        own = VertexLabels(own.rows - a, own.Y, own.weights).in_shards(engine)
        plain, n_plain = smooth_labels(shard.weights, [own], 0.3, 1e-5, engine)[0], engine.columns
        spared = smooth_labels(shard.weights, [own], 0.3, 1e-5, engine, smooth[a:b])[0]
        assert engine.columns - n_plain < n_plain
        return plain, spared

    for parts in zip(*on_shards(cloud, 3, work), strict=True):
        np.testing.assert_allclose(np.concatenate(parts), expected, atol=1e-4)


def test_columns_too_close_to_dependence(cloud):
    rng = np.random.default_rng(0)
    X = rng.standard_normal((900, 3))
    X = np.column_stack([X, X[:, 0] + 1e-13 * X[:, 1]])

    def work(engine, shard, a, b):
        return subspace_module.orthonormalize(X[a:b], lambda Z: Z, engine, np.float64)

    Q = np.concatenate(on_shards(cloud, 3, work))
    np.testing.assert_allclose(Q.T @ Q, np.eye(4), atol=1e-12)


def test_where_one_shard_fails_the_others_end():
    def work(comm):
        if comm.rank == 1:
            raise ValueError("nothing goes on")
        comm.allgather(1)

    with pytest.raises(ValueError, match="nothing goes on"):
        run_here(3, work)

    def ended(comm):
        comm.box.end(comm.run, "a worker has gone")
        comm.allgather(1)

    with pytest.raises(Lost, match="a worker has gone"):
        run_here(2, ended)
