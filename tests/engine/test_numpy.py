"""Compiled loops against plain NumPy, threads, and the batch of programs."""

import numpy as np
import pytest
import scipy.sparse as sp

from siis.engine import NUMPY, blocks
from siis.engine import numpy as numpy_module
from siis.engine.blocks import PIECES, chebyshev_filter, product, tall_product, tall_transposed
from siis.engine.loops import FEW_COLUMNS
from siis.graph import Graph
from siis.program.penalties import RowNorm


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
