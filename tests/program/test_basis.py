"""The basis is complete and accurate, whatever the graph and the method."""

import numpy as np
import pytest
import scipy.sparse as sp

from siis.engine import NumpyEngine
from siis.engine.linear_systems import envelope_share
from siis.errors import NumericalError
from siis.graph import Graph, gaussian_weights, join, median_bandwidth, neighbors_within
from siis.program.basis import host as host_module
from siis.program.basis import identity_basis, smooth_basis
from siis.program.basis import smooth as smooth_module
from siis.program.basis import subspace as subspace_module
from siis.program.basis.host import count_below
from siis.program.basis.spectrum import estimate_spectrum
from table_case import mixed_table

pytestmark = pytest.mark.slow


def knn(X, k=6, kind="union"):
    near = neighbors_within(X, k)
    return Graph(join(near, gaussian_weights(near, median_bandwidth(near)), kind))


def dense_values(graph, laplacian, m):
    L = graph.laplacian.toarray()
    if laplacian == "normalized":
        scale = 1 / np.sqrt(np.where(graph.degrees > 0, graph.degrees, 1))
        L = L * scale[:, None] * scale
    return np.linalg.eigvalsh(L)[:m]


def check(graph, m, laplacian, method="auto"):
    """Eigenvalues equal the dense ones, the eigenvalue equation and the normalisation hold."""
    basis = smooth_basis(graph, m, laplacian, method=method)
    np.testing.assert_allclose(basis.values, dense_values(graph, laplacian, m), atol=1e-6)
    U, L, D = basis.vectors, graph.laplacian, np.where(graph.degrees > 0, graph.degrees, 1.0)
    metric = D if laplacian == "normalized" else np.ones(graph.n_vertices)
    np.testing.assert_allclose(L @ U, metric[:, None] * U * basis.values, atol=1e-5 * max(1, D.max()))
    unit = metric / metric.mean()
    np.testing.assert_allclose(U.T @ (unit[:, None] * U), np.eye(m), atol=1e-8)
    return basis


LAPLACIANS = ["unnormalized", "normalized"]
BOTH = pytest.mark.parametrize("laplacian", LAPLACIANS)
METHODS = pytest.mark.parametrize("method", ["auto", "shift-invert", "chebyshev"])


@pytest.mark.parametrize(
    ("size", "k", "copies", "m", "laplacian", "method"),
    [(40, 6, 12, 47, laplacian, method) for laplacian in LAPLACIANS for method in ("shift-invert", "chebyshev")]
    + [(40, 6, 12, 47, "normalized", "auto")]
    + [(40, 6, 40, 75, "unnormalized", "chebyshev")]  # more copies than a block has columns
    + [(60, 5, 20, 70, "normalized", "chebyshev")],  # the block widens where its edge cuts a cluster
)
def test_disjoint_copies_of_one_graph(rng, size, k, copies, m, laplacian, method):
    """What is wanted ends within a repeated eigenvalue."""
    one = knn(rng.standard_normal((size, 3)), k).weights
    check(Graph(sp.csr_array(sp.block_diag([one] * copies))), m, laplacian, method)


@BOTH
@pytest.mark.parametrize("n_components", [1, 2, 23, 50])
def test_one_to_fifty_components_and_isolated_vertices(rng, n_components, laplacian):
    parts = [knn(rng.standard_normal((int(rng.integers(8, 30)), 2))).weights for _ in range(n_components)]
    graph = Graph(sp.csr_array(sp.block_diag([*parts, sp.csr_array((3, 3))])))
    assert graph.n_components >= n_components + 3
    assert check(graph, graph.n_components + 15, laplacian).n_null == graph.n_components
    check(graph, max(1, graph.n_components // 2), laplacian)
    if n_components == 1:
        check(graph, graph.n_vertices, laplacian)
        assert smooth_basis(graph, 100, laplacian).shape == (graph.n_vertices,) * 2  # no more than there are


@BOTH
@METHODS
def test_nearly_disconnected_coil(coil, laplacian, method):
    """Nine components and more than fifteen eigenvalues below 1e-3, where Lanczos alone misses some."""
    graph = knn(coil[0], 5, "mutual")
    basis = check(graph, 128, laplacian, method)
    assert graph.n_components == 9
    assert np.count_nonzero(basis.values < 1e-3) > 15


@METHODS
def test_analytic_spectra(method):
    def values(W, m):
        return smooth_basis(Graph(sp.csr_array(W)), m, method=method).values

    n = 301
    path = sp.diags_array([1.0, 1.0], offsets=[-1, 1], shape=(n, n)).tolil()
    np.testing.assert_allclose(values(path, 20), 4 * np.sin(np.pi * np.arange(20) / (2 * n)) ** 2, atol=1e-9)
    path[0, n - 1] = path[n - 1, 0] = 1.0
    ring = np.sort(2 - 2 * np.cos(2 * np.pi * np.arange(n) / n))
    np.testing.assert_allclose(values(path, 21), ring[:21], atol=1e-9)
    a, b = 6, 90  # complete bipartite: 0, then a repeated b - 1 times, b repeated a - 1 times, a + b
    bipartite = np.zeros((a + b, a + b))
    bipartite[:a, a:] = bipartite[a:, :a] = 1.0
    np.testing.assert_allclose(values(bipartite, 30), [0] + [a] * 29, atol=1e-6)


def test_method_follows_the_graph(rng):
    chain = knn(np.sort(rng.random(800))[:, None], 4)
    cloud = knn(rng.standard_normal((800, 30)), 10)
    assert envelope_share(chain.laplacian) < 0.02 < 0.1 < envelope_share(cloud.laplacian)
    thin, thick = smooth_basis(chain, 20), smooth_basis(cloud, 20)
    assert (thin.method, thin.completeness) == ("shift-invert", "inertia")
    assert (thick.method, thick.completeness) == ("chebyshev", "probe")


@pytest.mark.parametrize("looks", [False, True])
def test_a_missing_vector_is_found_by_fresh_ones(rng, monkeypatch, looks):
    """Hide one eigenvector from the start: filters cannot bring it back, fresh vectors must."""
    graph = knn(rng.standard_normal((900, 20)), 10)
    values, vectors = np.linalg.eigh(graph.laplacian.toarray())
    hidden = vectors[:, 5:6]
    honest, look, looked = subspace_module.orthonormalize, subspace_module.missing_below, []

    def forgetful(X, *rest):
        return honest(X, *rest) if looked else honest(X - hidden @ (hidden.T @ X), *rest)

    def look_again(*args):
        looked.append(True)
        return look(*args) if looks else None

    monkeypatch.setattr(subspace_module, "orthonormalize", forgetful)
    monkeypatch.setattr(subspace_module, "missing_below", look_again)
    found = smooth_basis(graph, 12, method="chebyshev").values
    expected = values if looks else np.delete(values, 5)
    np.testing.assert_allclose(found, expected[:12], atol=1e-6)


@BOTH
def test_single_precision(rng, laplacian):
    graph = knn(rng.standard_normal((1500, 15)), 10)
    basis = smooth_basis(graph, 20, laplacian, method="chebyshev", dtype=np.float32)
    assert basis.vectors.dtype == np.float32
    np.testing.assert_allclose(basis.values, dense_values(graph, laplacian, 20), atol=2e-5 * graph.degrees.max())
    constants = basis.vectors[:, : basis.n_null]
    assert not np.ptp(constants[graph.component == 0], axis=0).any()  # the bound rests on P U = 0 there


def test_warm_start_from_a_smaller_basis_and_from_a_similar_graph(rng, monkeypatch):
    X = rng.standard_normal((2000, 20))
    graph = knn(X, 10)
    small, counts = smooth_basis(graph, 20, method="chebyshev"), []
    honest = NumpyEngine.chebyshev

    def counted(engine, S, Z, degree, *rest):
        counts.append(Z.shape[1] * degree)
        return honest(engine, S, Z, degree, *rest)

    monkeypatch.setattr(NumpyEngine, "chebyshev", counted)

    def columns(*args, **options):
        counts.clear()
        return smooth_basis(*args, method="chebyshev", **options), sum(counts)

    cold, n_cold = columns(graph, 40)
    warm, n_warm = columns(graph, 40, start=small.vectors)
    again, n_again = columns(graph, 20, start=small.vectors)
    assert n_again < n_warm < n_cold
    np.testing.assert_allclose(warm.values, cold.values, atol=1e-8)
    np.testing.assert_allclose(again.values, small.values, atol=1e-8)
    moved = knn(X + 1e-3 * rng.standard_normal(X.shape), 10)
    np.testing.assert_allclose(
        smooth_basis(moved, 20, method="chebyshev", start=small.vectors).values,
        dense_values(moved, "unnormalized", 20),
        atol=1e-6,
    )
    with pytest.raises(ValueError, match="a row for each of 2000 vertices"):
        smooth_basis(graph, 20, start=small.vectors[1:])


def test_what_lanczos_forgets_is_found_again(rng, monkeypatch):
    """Hide eigenvectors from the first round of Lanczos: the inertia must ask for them."""
    graph = knn(np.sort(rng.random(800))[:, None], 4)
    honest, rounds = host_module._lanczos, []

    def forgetful(*args):
        vectors = honest(*args)
        rounds.append(vectors.shape[1])
        return np.delete(vectors, [-1, -4], axis=1) if len(rounds) == 1 else vectors  # the smoothest come last

    monkeypatch.setattr(host_module, "_lanczos", forgetful)
    basis = check(graph, 20, "unnormalized", "shift-invert")
    assert basis.completeness == "inertia"
    assert len(rounds) > 1


def test_identity_basis_conjugate_is_the_pseudo_inverse(rng):
    parts = [knn(rng.standard_normal((12, 2)), 3).weights for _ in range(3)]
    graph = Graph(sp.csr_array(sp.block_diag(parts)))
    basis = identity_basis(graph)
    R = graph.laplacian @ rng.standard_normal((36, 2))
    expected = np.trace(R.T @ np.linalg.pinv(graph.laplacian.toarray()) @ R) / 4
    assert basis.energy_conjugate(R) == pytest.approx(expected)


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_pairs_near_the_null_space_are_not_taken_for_it(dtype):
    """Two halves of a path joined by an edge that is next to nothing: its eigenvalue is small, not 0."""
    W = np.diag(np.ones(19), 1)
    W[9, 10] = 1e-9
    graph = Graph(W + W.T)
    basis = smooth_basis(graph, 6, method="dense", dtype=dtype)
    assert basis.n_null == 1
    halves = np.sign(basis.vectors[:, 1])
    assert set(halves[:10]) == {-halves[10]}
    expected = 2 - 2 * np.cos(np.pi * np.array([1, 1, 2, 2]) / 10)
    np.testing.assert_allclose(basis.values[2:], expected, rtol=1e-5)


@BOTH
@pytest.mark.parametrize("n_parts", [1, 3])
def test_a_start_from_a_coarsened_graph_leads_to_the_same_pairs(rng, laplacian, n_parts, monkeypatch):
    n = 1800 // n_parts
    parts = [knn(rng.standard_normal((n, 3)) + 3 * rng.integers(0, 3, (n, 1))).weights for _ in range(n_parts)]
    graph = Graph(sp.block_diag(parts, format="csr"))
    monkeypatch.setattr(smooth_module, "COARSE_FROM", 0)
    seen = []
    real = smooth_module.coarse_eigenvectors
    monkeypatch.setattr(smooth_module, "coarse_eigenvectors", lambda *args: seen.append(real(*args)) or seen[-1])
    basis = smooth_basis(graph, 12, laplacian, method="chebyshev")
    assert seen[0] is not None
    expected = dense_values(graph, laplacian, 12)
    np.testing.assert_allclose(basis.values, expected, atol=1e-7 * expected.max() + 1e-9)
    (V, values), n_rest = seen[0], 12 - graph.n_components
    np.testing.assert_allclose(V.T @ V, np.eye(values.size), atol=1e-8)
    assert (values[:n_rest] >= expected[graph.n_components :] - 1e-9).all()  # minimax
    assert values[0] < 20 * max(expected[graph.n_components], 1e-3)


@pytest.mark.parametrize("kind", ["mutual", "union"])
def test_tables_of_near_equal_rows_have_a_basis(kind):
    """Rounded to single precision, the Laplacian has other null vectors than the components', and other inertia."""
    graph = knn(np.unique(mixed_table(9, 4000), axis=0), 10, kind)
    basis = smooth_basis(graph, 90, "normalized", residual=1e-4, dtype=np.float32)
    np.testing.assert_allclose(basis.values, dense_values(graph, "normalized", 90), atol=1e-4)
    assert basis.method == "shift-invert"


def test_a_cluster_that_does_not_fit_the_subspace_gets_a_wider_one(monkeypatch):
    """Hundreds of vertices hang on the others by weak edges: as many eigenvalues are close to these weights."""
    rng, n, hanging = np.random.default_rng(0), 1200, 800
    ring = np.arange(n)
    ends = [np.concatenate([ring, ring]), np.concatenate([(ring + 1) % n, rng.permutation(n)])]
    head, tail = (
        np.concatenate([ends[0], n + np.arange(hanging)]),
        np.concatenate([ends[1], rng.permutation(n)[:hanging]]),
    )
    weights = np.concatenate([np.full(2 * n, 3.0), rng.uniform(0.045, 0.055, hanging)])
    off = head != tail
    W = sp.coo_array((weights[off], (head[off], tail[off])), shape=(n + hanging,) * 2).tocsr()
    graph = Graph(W + W.T)
    exact = np.linalg.eigvalsh(graph.laplacian.toarray())[:60]
    steps = []
    filtered = subspace_module.filter_block
    monkeypatch.setattr(subspace_module, "filter_block", lambda *a: steps.append(1) or filtered(*a))
    basis = smooth_basis(graph, 60, method="chebyshev", residual=1e-5, dtype=np.float32)
    np.testing.assert_allclose(basis.values, exact, atol=2e-3)
    widened, steps[:] = len(steps), []
    monkeypatch.setattr(NumpyEngine, "block_widths", (16, 64, 0))
    smooth_basis(graph, 60, method="chebyshev", residual=1e-5, dtype=np.float32)
    assert widened < 0.7 * len(steps)


def odd_graph(name, n=600):
    """Graphs whose largest eigenvalue belongs to few vertices, or to hardly any gap."""
    rng = np.random.default_rng(0)
    heads = np.repeat(np.arange(n), 3)
    tails = (heads + rng.integers(1, 9, heads.size)) % n
    ring = sp.coo_array((rng.random(heads.size), (heads, tails)), shape=(n, n))
    spread = sp.coo_array((np.exp(3 * rng.standard_normal(heads.size)), (heads, tails)), shape=(n, n))
    spokes = sp.coo_array((np.ones(n - 1), (np.zeros(n - 1, dtype=int), np.arange(1, n))), shape=(n, n))
    heavy = sp.coo_array((np.array([1e3]), (np.array([5]), np.array([6]))), shape=(n, n))
    path = sp.coo_array((np.ones(n - 1), (np.arange(n - 1), np.arange(1, n))), shape=(n, n))
    graphs = {"ring": ring, "spread": spread, "star": spokes, "hub": ring + spokes, "heavy": ring + heavy}
    W = sp.csr_array({**graphs, "path": path}[name])
    return Graph(sp.csr_array(W.maximum(W.T)))


@BOTH
@pytest.mark.parametrize("name", ["ring", "spread", "star", "hub", "heavy", "path"])
def test_the_estimated_bound_of_the_spectrum_holds(name, laplacian):
    """Filters grow without limit above it; the bound by degrees is kept out, which would hide a wrong one."""
    graph, engine = odd_graph(name), NumpyEngine()
    scale = smooth_module._vertex_scale(graph, laplacian)
    S = engine.laplacian(graph, scale, np.float64)
    null = engine.narrow_operator(smooth_module._null_vectors(graph, scale, engine), np.float64)
    largest = np.linalg.eigvalsh(S.matrix.toarray())[-1]
    for seed in range(10):
        assert largest <= estimate_spectrum(S, null, np.inf, seed).high <= 1.1 * largest


def test_same_seed_same_bytes_and_signs_are_fixed(rng):
    graph = knn(rng.standard_normal((500, 20)), 8)
    one, two, other = (smooth_basis(graph, 10, random_state=seed, residual=1e-9) for seed in (3, 3, 4))
    assert one.vectors.tobytes() == two.vectors.tobytes()
    np.testing.assert_allclose(one.vectors, other.vectors, atol=1e-5)


def test_where_one_method_fails_others_go_on(monkeypatch):
    def failing(*args):
        raise NumericalError("lost on purpose")

    graph = knn(np.arange(600.0)[:, None], 4)
    expected = dense_values(graph, "normalized", 12)
    for method in ("shift_invert", "chebyshev", "dense"):
        basis = smooth_basis(graph, 12, "normalized")
        assert basis.method == method.replace("_", "-")
        np.testing.assert_allclose(basis.values, expected, atol=1e-8)
        monkeypatch.setattr(smooth_module._Problem, method, failing)
    with pytest.raises(NumericalError, match="lost on purpose"):
        smooth_basis(graph, 12, "normalized", method="shift-invert")
    with pytest.raises(NumericalError, match=r"cannot be found \(shift-invert: lost .*; chebyshev: .*; dense: "):
        smooth_basis(graph, 12, "normalized")


def test_inertia_counts_and_leaves_the_filters_of_warnings_alone(monkeypatch):
    """They belong to the whole process: what one thread sets, another restores at the wrong time."""
    path, changes = sp.diags_array([-np.ones(5), np.full(6, 2.0), -np.ones(5)], offsets=[-1, 0, 1]).tocsr(), []
    with monkeypatch.context() as patch:
        patch.setattr("warnings.simplefilter", lambda *args, **kwargs: changes.append(args))
        patch.setattr("warnings.filterwarnings", lambda *args, **kwargs: changes.append(args))
        found = [count_below(path, shift) for shift in (0.1, 0.9, 1.9, 5.0)]
    assert (found, changes) == ([0, 2, 3, 6], [])


@pytest.mark.parametrize(
    ("m", "laplacian", "method"), [(0, "normalized", "auto"), (3, "x", "auto"), (3, "normalized", "x")]
)
def test_bad_arguments(rng, m, laplacian, method):
    with pytest.raises(ValueError, match="must be"):
        smooth_basis(knn(rng.standard_normal((20, 2))), m, laplacian, method=method)
