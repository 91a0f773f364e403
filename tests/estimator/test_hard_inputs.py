"""Inputs that once gave a wrong answer, a false proof or a crash."""

import numpy as np
import pytest
import scipy.sparse as sp
from sklearn.datasets import load_digits, make_blobs, make_moons

from plain import PlainSIIS
from siis.graph import Graph, build_neighbor_graph, neighbors_within
from siis.program.basis import smooth_basis


def weakly_linked(k, s, w):
    """k complete graphs of s vertices in a row, joined by edges of weight w."""
    A = sp.block_diag([np.ones((s, s)) - np.eye(s)] * k).tolil()
    for a in range(1, k):
        A[a * s - 1, a * s] = A[a * s, a * s - 1] = w
    return sp.csr_array(A)


@pytest.mark.filterwarnings("ignore:the labels lie in", "ignore:after max_iter")
@pytest.mark.parametrize(
    ("k", "s", "w", "laplacian"), [(40, 20, 2e-12, "unnormalized"), (30, 20, 1e-11, "normalized")]
)
def test_no_false_proof_on_weak_bridges(k, s, w, laplacian):
    rng = np.random.default_rng(0)
    y = np.full(k * s, -1)
    rows = rng.choice(k * s, 3 * k, replace=False)
    y[rows] = (rows // s) % 2
    model = PlainSIIS(affinity="precomputed", laplacian=laplacian, n_components=50).fit(weakly_linked(k, s, w), y)
    assert (model.basis_.values >= 0).all()
    assert (model.basis_.values[model.basis_.n_null :] > 0).all()
    assert model.solution_.dual.value <= model.objective_ * (1 + 1e-9)
    U = model.basis_.vectors
    if laplacian == "unnormalized":
        np.testing.assert_allclose(U.T @ U, np.eye(U.shape[1]), atol=1e-8)


def test_a_bound_above_the_value_is_an_error_not_a_gap_of_zero():
    from programs import random_program  # noqa: PLC0415

    program = random_program(3)
    with pytest.raises(RuntimeError, match=r"lower bound .* exceeds the value"):
        program.relative_gap(1.0, 1.0 + program.value_at_zero)


@pytest.mark.filterwarnings("ignore:after max_iter", "ignore:every example was given")
@pytest.mark.parametrize("scale", [1e-12, 1e-6, 1e6, 1e12])
def test_units_of_the_weights_do_not_break_it(scale, rng):
    n = 300
    path = sp.diags_array(np.ones(n - 1), offsets=1, shape=(n, n))
    y = np.full(n, -1)
    y[rng.choice(n, 20, replace=False)] = rng.integers(0, 2, 20)
    model = PlainSIIS(affinity="precomputed").fit(sp.csr_array(scale * (path + path.T)), y)
    assert np.isfinite(model.objective_)


def test_weights_beyond_double_precision_are_refused():
    W = np.array([[0, 1e200], [1e200, 0]])
    with pytest.raises(ValueError, match="largest weight must lie"):
        Graph(sp.csr_array(W))
    with pytest.raises(ValueError, match="must be positive and lie between"):
        PlainSIIS(n_neighbors=2).fit(np.arange(4.0)[:, None], [0, 1, 0, 1], sample_weight=np.full(4, 1e-320))


def test_weights_over_many_orders_end_in_time():
    rng = np.random.default_rng(0)
    W = sp.diags_array(10 ** rng.uniform(-8.9, 3, 1999), offsets=1, shape=(2000, 2000))
    basis = smooth_basis(Graph(sp.csr_array(W + W.T)), 30)
    assert basis.residuals.max() < 1e-4


def test_neighbours_stay_exact_beside_an_outlier():
    rng = np.random.default_rng(0)
    for shift in ((0, 1e12), (slice(0, 200), 1e8)):
        X = rng.normal(size=(400, 20))
        X[shift[0], 0] += shift[1]
        D = np.sqrt(((X[:, None] - X[None]) ** 2).sum(-1))
        np.fill_diagonal(D, np.inf)
        np.testing.assert_allclose(neighbors_within(X, 5).distances, np.sort(D, 1)[:, :5], rtol=1e-9)
    with pytest.raises(ValueError, match="drown in rounding"):
        neighbors_within(sp.csr_array(rng.normal(size=(400, 20)) + 1e8), 5)


def test_parallel_rows_are_one_vertex_under_cosine():
    rng = np.random.default_rng(0)
    directions = rng.random((40, 6))
    X = directions[rng.integers(0, 40, 800)] * rng.uniform(0.1, 10, (800, 1))
    for convert in (np.asarray, sp.csr_array):
        placed = build_neighbor_graph(convert(X), metric="cosine")
        assert placed.graph.n_vertices == 40
        assert placed.bandwidth > 1e-3


def test_an_empty_row_is_named_by_its_own_index():
    X = np.ones((5, 2)) + np.arange(10.0).reshape(5, 2)
    X[3] = 0
    with pytest.raises(ValueError, match="the first at index 3"):
        PlainSIIS(metric="cosine").fit(X, [0, 1, 0, 1, 0])


@pytest.mark.parametrize("seed", range(3))
def test_two_moons_are_certified_with_the_defaults(seed):
    X, truth = make_moons(500, noise=0.08, random_state=seed)
    y = np.full(500, -1)
    for k in (0, 1):
        y[np.flatnonzero(truth == k)[:3]] = k
    model = PlainSIIS().fit(X, y)
    assert model.dual_gap_ <= 1e-4
    assert np.mean(model.transduction_ == truth) > 0.95


def test_units_of_x_with_ties():
    X, truth = load_digits(return_X_y=True)
    y = np.where(np.arange(truth.size) < 150, truth, -1)
    one = PlainSIIS().fit(X, y)
    for factor in (0.1, 3.7):
        other = PlainSIIS().fit(factor * X, y)
        difference = (
            one.graph_.weights[one.vertex_][:, one.vertex_] - other.graph_.weights[other.vertex_][:, other.vertex_]
        )
        assert abs(difference).max() < 1e-9
    with pytest.raises(ValueError, match="underflow to 0; rescale"):
        PlainSIIS().fit(1e-170 * X, y)


def test_an_absent_copy_of_a_lost_example_is_lost():
    rng = np.random.default_rng(0)
    X = np.r_[rng.normal(size=(30, 2)), rng.normal(size=(30, 2)) + 1000]
    X = np.r_[X, X[40:41]]
    y, weights = np.full(61, -1), np.ones(61)
    y[:4], y[60], weights[60] = [0, 1, 0, 1], 1, 0
    with pytest.warns(UserWarning, match="31 of 61"):
        model = PlainSIIS().fit(X, y, weights)
    assert not model.is_reached_[[40, 60]].any()


def test_the_training_graph_is_recognised_with_rounding():
    X, truth = make_blobs(60, centers=2, random_state=0)
    W = build_neighbor_graph(X).graph.weights.toarray()
    W[0, 50] = W[50, 0] = 1e-14
    y = np.where(np.arange(60) % 5 == 0, truth, -1)
    model = PlainSIIS(affinity="precomputed").fit(W, y)
    np.testing.assert_array_equal(model.predict_proba(W), model.label_distributions_)


def test_certified_at_a_large_alpha_agrees_with_a_tight_solve():
    X, truth = make_blobs(100, centers=3, random_state=0, cluster_std=1.2)
    y = np.full(100, -1)
    for k in range(3):
        y[np.flatnonzero(truth == k)[:6]] = k
    model = PlainSIIS(alpha=1e4, beta=0.1).fit(X, y)
    bound = model.solution_.dual.value
    assert model.objective_ - bound <= 1.0001e-4 * max(model.objective_, 1e-6 * 18 * 1e4)
