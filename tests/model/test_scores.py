import dataclasses
from itertools import pairwise

import numpy as np
import pytest
import scipy.sparse as sp

from siis.graph import Graph, build_neighbor_graph
from siis.labels import VertexLabels
from siis.model import gaussian as gaussian_module
from siis.model import smoothing as smoothing_module
from siis.model.gaussian import gaussian_scores, squared_distances
from siis.model.scores import softmax, standardize
from siis.model.smoothing import SHIFT, smooth_labels
from siis.model.spaces import spaces
from siis.program.basis import smooth_basis

KERNEL = 0.4, 0.3  # width and ridge


@pytest.fixture
def labelled():
    rng = np.random.default_rng(0)
    points = rng.standard_normal((40, 3))
    rows = np.arange(0, 24)
    Y = np.eye(3)[np.argmax(points[rows], axis=1)]
    return points, VertexLabels(rows, Y, rng.uniform(0.5, 2.0, rows.size))


def ridge_by_hand(points, given, mean, weights):
    width, ridge = KERNEL
    centers = points[given.rows]
    K = np.exp(-width * squared_distances(centers, centers))
    a = np.linalg.solve(K + ridge * np.diag(1 / weights), given.Y - mean)
    return mean + np.exp(-width * squared_distances(points, centers)) @ a


def test_scores_of_labelled_points_leave_their_own_label_out(labelled):
    points, given = labelled
    mean, weights = given.prior, given.weights / given.weights.mean()
    scores, model = gaussian_scores(points, given, *KERNEL)
    np.testing.assert_allclose(scores[24:], ridge_by_hand(points, given, mean, weights)[24:], atol=1e-10)
    np.testing.assert_allclose(model(points[24:]), scores[24:], atol=1e-12)
    for i in (0, 7, 23):
        others = np.arange(24) != i
        without = ridge_by_hand(points, given.subset(others), mean, weights[others])
        np.testing.assert_allclose(scores[i], without[i], atol=1e-10)


def test_many_points_are_scored_in_single_precision_where_its_rounding_is_bounded(labelled, monkeypatch):
    points, given = labelled
    _, model = gaussian_scores(points, given, *KERNEL)
    points = np.vstack([points, 100 * points, 1e6 + points])
    exact = model(points)
    monkeypatch.setattr(gaussian_module, "SINGLE_FROM", 0)
    error = np.abs(model(points) - exact).max()
    bound = model._rounding(np.sqrt(model.width) * (model.centers - model.centers.mean(axis=0)))
    assert 0 < error <= bound <= gaussian_module.SINGLE_ERROR
    for unit in (1e-25, 1e-20, 1e19):  # beyond the range of single precision, squared
        scaled = dataclasses.replace(model, centers=unit * model.centers, width=model.width / unit**2)
        np.testing.assert_allclose(scaled(unit * points), exact, atol=bound)
    large = dataclasses.replace(model, coefficients=1e4 * model.coefficients)  # of alternating signs
    many = large(points)
    monkeypatch.undo()
    np.testing.assert_array_equal(many, large(points))


def test_where_labels_are_many_some_of_their_points_are_centres(labelled, monkeypatch):
    """All labels still speak, and those of labelled points without their own: ridge regression on ten centres."""
    points, given = labelled
    exact, _ = gaussian_scores(points, given, *KERNEL)
    monkeypatch.setattr(gaussian_module, "MOST_EXACT", 20)
    monkeypatch.setattr(gaussian_module, "FEW_CENTERS", 24)
    np.testing.assert_allclose(gaussian_scores(points, given, *KERNEL)[0], exact, atol=1e-6)
    monkeypatch.setattr(gaussian_module, "FEW_CENTERS", 10)
    scores, model = gaussian_scores(points, given, *KERNEL)
    (width, ridge), mean, weights = KERNEL, given.prior, given.weights / given.weights.mean()
    centers = points[given.rows[np.linspace(0, 23, 10).astype(int)]]
    K = np.exp(-width * squared_distances(centers, centers))
    B = np.exp(-width * squared_distances(points, centers))

    def by_hand(kept):
        A, w = B[given.rows[kept]], weights[kept, None]
        return mean + B @ np.linalg.solve(A.T @ (w * A) + ridge * K, A.T @ (w * (given.Y[kept] - mean)))

    np.testing.assert_allclose(scores[24:], by_hand(np.arange(24))[24:], atol=1e-6)
    np.testing.assert_allclose(model(points[24:]), scores[24:], atol=1e-12)
    for i in (0, 7, 23):
        np.testing.assert_allclose(scores[i], by_hand(np.flatnonzero(np.arange(24) != i))[i], atol=1e-6)


def test_smoothing_solves_its_normal_equations():
    rng = np.random.default_rng(1)
    W = sp.csr_array(np.triu(rng.uniform(size=(30, 30)) * (rng.uniform(size=(30, 30)) < 0.3), 1))
    W = sp.csr_array(W + W.T)
    given = VertexLabels(np.array([0, 5, 9, 20]), np.eye(3)[[0, 1, 2, 1]], np.array([1.0, 2.0, 1.0, 4.0]))
    (F,) = smooth_labels(W, [given], 0.3, tol=1e-6)
    d = W.sum(axis=1)
    trust, B = np.full(30, SHIFT * d.mean()), np.zeros((30, 3))
    label = 0.3 * d.mean() * given.weights / 2.0
    trust[given.rows] += label
    B[given.rows] = label[:, None] * (given.Y - given.prior)
    np.testing.assert_allclose(F, np.linalg.solve(np.diag(d + trust) - W.toarray(), B), atol=1e-4)


def test_sets_of_labels_are_smoothed_at_once_as_each_alone():
    rng = np.random.default_rng(2)
    W = sp.csr_array(np.triu(rng.uniform(size=(40, 40)) * (rng.uniform(size=(40, 40)) < 0.3), 1))
    W = sp.csr_array(W + W.T)
    given = VertexLabels(rng.permutation(40)[:9], np.eye(3)[rng.integers(0, 3, 9)], rng.uniform(1.0, 4.0, 9))
    sets = [given.subset(np.arange(9) % 3 != k) for k in range(3)]
    together = smooth_labels(W, sets, 0.3, tol=1e-6)
    for k, labels in enumerate(sets):
        np.testing.assert_allclose(together[k], smooth_labels(W, [labels], 0.3, tol=1e-6)[0], atol=1e-4)


def sheets(n_sheets, rng):
    """A graph of sheets that hardly touch: as many functions that change slowly."""
    parts = [build_neighbor_graph(rng.standard_normal((60, 2)), 5).graph.weights for _ in range(n_sheets)]
    W = sp.block_diag(parts, format="lil")
    for a, b in pairwise(range(30, 60 * n_sheets, 60)):
        W[a, b] = W[b, a] = 1e-3
    return Graph(W.tocsr())


@pytest.mark.parametrize("laplacian", ["normalized", "unnormalized"])
def test_a_smooth_subspace_spares_iterations_and_changes_nothing(laplacian, monkeypatch):
    rng, n_products = np.random.default_rng(0), []
    graph = sheets(8, rng)
    given = VertexLabels(np.arange(0, 480, 16), np.eye(3)[rng.integers(0, 3, 30)], rng.uniform(1.0, 4.0, 30))
    sets = [given, given.subset(np.arange(30) % 3 > 0)]
    conjugate_gradients = smoothing_module.conjugate_gradients

    def counted(engine, apply, *rest):
        n_products.append(0)

        def count(X):
            n_products[-1] += 1
            return apply(X)

        return conjugate_gradients(engine, count, *rest)

    monkeypatch.setattr(smoothing_module, "conjugate_gradients", counted)
    expected = smooth_labels(graph.weights, sets, 0.3, 1e-5)
    basis = smooth_basis(graph, 12, laplacian)
    found = smooth_labels(graph.weights, sets, 0.3, 1e-5, subspace=basis.vectors)
    np.testing.assert_allclose(found, expected, atol=1e-3)
    assert n_products[1] < 0.7 * n_products[0]
    same_twice = np.hstack([basis.vectors, basis.vectors])  # of less than full rank
    found = smooth_labels(graph.weights, sets, 0.3, 1e-5, subspace=same_twice)
    np.testing.assert_allclose(found, expected, atol=1e-3)


def test_standardized_scores():
    F = np.array([[0.9, 0.1, 0.0], [0.8, 0.2, 0.0], [0.9, 0.05, 0.0], [0.7, 0.3, 0.0]])
    Z = standardize(F)
    np.testing.assert_allclose(Z[:, :2].mean(0), 0, atol=1e-12)
    np.testing.assert_allclose(Z[:, :2].std(0), 1)
    assert np.argmax(Z, axis=1).tolist() == [0, 1, 0, 1], "small columns count; constant ones never win"
    P = softmax(Z, 3.0)
    np.testing.assert_allclose(P.sum(1), 1)
    np.testing.assert_array_equal(np.argmax(P, 1), np.argmax(Z, 1))


def test_spaces():
    rng = np.random.default_rng(0)
    X = rng.standard_normal((200, 150)) * np.linspace(0.1, 10, 150)
    found = {space.name: space(X) for space in spaces(X, "auto", 0)}
    assert list(found) == ["as given", "unit variance", "unit length"]
    assert all(Z.shape == (200, 100) for Z in found.values())
    values = np.linalg.svd(X - X.mean(0), compute_uv=False)[:100]
    np.testing.assert_allclose(np.linalg.svd(found["as given"], compute_uv=False), values, rtol=1e-8)
    assert [space.name for space in spaces(X, "cosine", 0)] == ["unit length"]
    assert [space.name for space in spaces(X, "euclidean", 0)] == ["as given"]
    few = spaces(X[:, :5] / X[:, :5].std(0), "auto", 0)
    assert [space.name for space in few] == ["as given", "unit length"], "equal scales need no other"
    sparse = sp.random_array((90, 400), density=0.05, rng=rng, format="csr")
    latent = spaces(sparse, "auto", 0)
    assert [space.axes.shape[1] for space in latent] == [15, 50, 89]
    np.testing.assert_allclose(np.linalg.norm(latent[0](sparse), axis=1), 1)
