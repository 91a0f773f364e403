"""The baselines against closed forms, dense solves and CVXPY, and scikit-learn's checks."""

import cvxpy as cp
import numpy as np
import pytest
import scipy.sparse as sp
from sklearn.datasets import load_digits, make_blobs
from sklearn.utils.estimator_checks import estimator_checks_generator

from programs import random_graph
from siis.baselines import GFHFClassifier, GTFClassifier, LSSCClassifier, RobustLaplacianClassifier, SPMRClassifier
from siis.baselines.ablation import harmonic
from siis.baselines.lssc import sparse_coding
from siis.baselines.spmr import manifold_machine, reconstruction_weights
from siis.graph import build_neighbor_graph
from siis.labels import VertexLabels
from siis.program.basis import smooth_basis

ALL = [GFHFClassifier, RobustLaplacianClassifier, GTFClassifier, LSSCClassifier, SPMRClassifier]


@pytest.mark.filterwarnings("ignore:n_neighbors=:UserWarning", "ignore:every example:UserWarning")
@pytest.mark.filterwarnings("ignore:y holds only -1:UserWarning", "ignore:.*connected to no label:UserWarning")
@pytest.mark.filterwarnings("ignore:Can't check dok sparse matrix:UserWarning")
@pytest.mark.parametrize(
    ("estimator", "check"),
    [pair for kind in ALL for pair in estimator_checks_generator(kind())],
    ids=lambda value: getattr(getattr(value, "func", value), "__name__", type(value).__name__),
)
def test_check_estimator(estimator, check):
    check(estimator)


@pytest.fixture
def small(rng):
    graph = random_graph(rng, 18)
    given = VertexLabels(np.array([0, 4, 9, 15]), np.eye(3)[[0, 1, 2, 1]], np.array([1.0, 2.0, 1.0, 1.0]))
    return graph, given


def test_harmonic_functions_solve_the_constrained_problem(small):
    graph, given = small
    F = harmonic(graph, given)
    G, Y = cp.Variable((18, 3)), given.coded
    root = np.linalg.cholesky(graph.laplacian.toarray() + 1e-12 * np.eye(18)).T
    cp.Problem(cp.Minimize(cp.sum_squares(root @ G)), [G[given.rows] == Y]).solve(solver=cp.CLARABEL)
    np.testing.assert_allclose(F, G.value, atol=1e-5)
    np.testing.assert_array_equal(F[given.rows], Y)
    free = np.setdiff1d(np.arange(18), given.rows)  # there a value is the mean of the neighbours'
    np.testing.assert_allclose(F[free], (graph.weights @ F)[free] / graph.degrees[free, None])


@pytest.mark.parametrize(
    ("kind", "beta", "gamma"), [(RobustLaplacianClassifier, 1.0, 0.0), (GTFClassifier, 0.0, 1.0)]
)
@pytest.mark.filterwarnings("ignore:every example was given")
def test_ablation_against_cvxpy(small, kind, beta, gamma):
    graph, given = small
    y = np.full(18, -1)
    y[given.rows] = given.codes
    weights = np.ones(18)
    weights[given.rows] = given.weights
    model = kind(alpha=3.0, affinity="precomputed", tol=1e-7, max_iter=20000).fit(graph.weights, y, weights)
    F, Y = cp.Variable((18, 3)), given.coded
    lam, V = np.linalg.eigh(graph.laplacian.toarray())
    terms = [3.0 * given.weights @ cp.norm(F[given.rows] - Y, 2, axis=1)]
    terms.append(beta * cp.sum_squares((np.sqrt(np.maximum(lam, 0))[:, None] * V.T) @ F))
    terms.append(gamma * cp.sum(cp.norm(graph.incidence @ F, 2, axis=1)))
    optimum = cp.Problem(cp.Minimize(sum(terms))).solve(solver=cp.CLARABEL)
    assert model.objective_ == pytest.approx(optimum, rel=1e-6)
    assert model.dual_gap_ <= 1e-7


def test_sparse_coding_satisfies_its_optimality_condition(small):
    """A = soft(V'Y0, t) minimises ||V A - Y0||^2 / 2 + sum t_k |A_k|, checked by the subgradient."""
    graph, given = small
    basis = smooth_basis(graph, 8, "normalized")
    lam = 0.05
    F = sparse_coding(graph, basis, given, lam)
    V = basis.vectors * np.sqrt(graph.degrees / graph.degrees.mean())[:, None]
    np.testing.assert_allclose(V.T @ V, np.eye(8), atol=1e-8)
    Y0 = np.zeros((18, 3))
    np.add.at(Y0, given.rows, given.weights[:, None] * given.coded)
    A = V.T @ F
    A = A * (np.linalg.norm((V.T @ Y0)[0]) / np.linalg.norm(A[0]))  # the first eigenvalue is 0: no shrinkage there
    slope, t = V.T @ (Y0 - V @ A), lam * np.sqrt(basis.values)[:, None] * np.ones((1, 3))
    active = np.abs(A) > 1e-10
    np.testing.assert_allclose(slope[active], (np.sign(A) * t)[active], atol=1e-8)
    assert (np.abs(slope[~active]) <= t[~active] + 1e-8).all()
    assert (~active).any()
    with pytest.raises(ValueError, match="normalized"):
        sparse_coding(graph, smooth_basis(graph, 4), given, lam)


def test_reconstruction_weights_rebuild_points_of_a_plane(rng):
    X = np.column_stack([rng.random((80, 2)), np.zeros(80)])
    placed = build_neighbor_graph(X, 8)
    before = placed.graph.weights.toarray()
    for points in (placed.points, sp.csr_array(placed.points), None):
        R = reconstruction_weights(placed.graph, points)
        np.testing.assert_allclose(np.asarray(R.sum(axis=1)).ravel(), 1)
        np.testing.assert_array_equal(placed.graph.weights.toarray(), before)  # the graph is not touched
        if points is not None:
            assert np.median(np.linalg.norm(R @ placed.points - placed.points, axis=1)) < 0.01


def test_manifold_machine_is_the_stationary_point(rng):
    placed = build_neighbor_graph(rng.standard_normal((50, 3)), 6)
    rows, Y, v = np.array([1, 7, 30]), np.eye(3), np.array([1.0, 2.0, 0.0])
    machine = manifold_machine(placed.graph, placed.points, rows, 0.5, 0.2, 50, 0)
    F = machine.fit(rows, Y, v)
    K = machine.kernel[:, np.argsort(machine.centers)]  # all points are centres: square and symmetric
    np.testing.assert_allclose(K, K.T, atol=1e-12)
    S = np.eye(50) - machine.reconstruction.toarray()
    J = np.eye(50)[rows]
    M = J.T @ np.diag(v) @ J + 0.5 * np.linalg.inv(K + 1e-9 * np.eye(50)) + 0.2 * S.T @ S
    np.testing.assert_allclose(F, np.linalg.solve(M, J.T @ (v[:, None] * Y)), atol=1e-3)


@pytest.mark.parametrize("kind", ALL)
def test_far_from_the_origin(kind):
    X, truth = make_blobs(300, 3, centers=3, random_state=0, cluster_std=0.6)
    y = np.full(300, -1)
    for k in range(3):
        y[np.flatnonzero(truth == k)[:20]] = k
    here, there = kind().fit(X, y), kind().fit(X + 1e6, y)
    assert np.mean(here.transduction_ == there.transduction_) > 0.99


@pytest.mark.parametrize("kind", ALL)
def test_dense_sparse_and_precomputed_input(kind):
    X, truth = load_digits(return_X_y=True)
    X, truth = X[:500], truth[:500]
    y = np.where(np.arange(500) < 100, truth, -1)
    model = kind().fit(X, y)
    assert np.mean(model.transduction_[100:] == truth[100:]) > 0.7
    np.testing.assert_allclose(model.label_distributions_.sum(1), 1)
    np.testing.assert_array_equal(model.predict(X), model.transduction_)
    sparse = kind().fit(sp.csr_matrix(X), y)
    assert np.mean(sparse.transduction_ == model.transduction_) > 0.97
    placed = build_neighbor_graph(X)
    ready = kind(affinity="precomputed").fit(placed.graph.weights, y[np.argsort(placed.vertex)])
    assert ready.is_reached_.all()
