import numpy as np
import pytest
import scipy.sparse as sp
from scipy.sparse.csgraph import connected_components

from siis.graph import (
    Graph,
    candidates,
    distinct_rows,
    gaussian_weights,
    join,
    median_bandwidth,
    neighbors_between,
    neighbors_within,
    prepare,
)
from siis.graph.neighbor_graph import local_order


def brute(X, k):
    """Neighbours by the full distance matrix, the point itself removed by index."""
    D = np.sqrt(((X[:, None] - X[None]) ** 2).sum(-1))
    np.fill_diagonal(D, np.inf)
    order = np.argsort(D, axis=1, kind="stable")[:, :k]
    return order, np.take_along_axis(D, order, axis=1)


@pytest.mark.parametrize("offset", [0.0, 1e6])
@pytest.mark.parametrize("sparse", [False, True])
def test_neighbors_are_the_nearest_others(rng, sparse, offset):
    if sparse and offset:
        X = np.where(rng.random((60, 8)) < 0.5, rng.standard_normal((60, 8)), 0)
    else:
        X = rng.standard_normal((60, 8)) + offset
    found = neighbors_within(sp.csr_array(X) if sparse else X, 7)
    indices, distances = brute(X, 7)
    assert np.array_equal(np.sort(found.indices, 1), np.sort(indices, 1))
    np.testing.assert_allclose(np.sort(found.distances, 1), distances, rtol=1e-12)


def test_repeated_points_never_name_themselves():
    X = np.repeat(np.arange(3.0)[:, None], 12, axis=0)  # twelve copies of each of three points
    found = neighbors_within(X, 5)
    assert not (found.indices == np.arange(36)[:, None]).any()
    assert (found.distances == 0).all()
    assert all(np.unique(row).size == 5 for row in found.indices)


def test_distinct_rows_merge_copies_and_ignore_order(rng):
    base = rng.integers(0, 3, (20, 2)).astype(float)
    base[0] = [0.0, 1.0]
    base[1] = [-0.0, 1.0]
    order = rng.permutation(20)
    for convert in (np.asarray, sp.csr_array):
        one, other = distinct_rows(convert(base)), distinct_rows(convert(base[order]))
        dense = [d.X.toarray() if sp.issparse(d.X) else d.X for d in (one, other)]
        assert one.vertex[0] == one.vertex[1]
        assert dense[0].shape[0] == np.unique(base + 0.0, axis=0).shape[0]
        np.testing.assert_array_equal(dense[0][one.vertex], base)
        np.testing.assert_array_equal(dense[0], dense[1])
        np.testing.assert_array_equal(one.vertex[order], other.vertex)


def test_cosine_orders_as_the_cosine_does(rng):
    X = rng.standard_normal((40, 5))
    cosine = (X @ X.T) / np.outer(np.linalg.norm(X, axis=1), np.linalg.norm(X, axis=1))
    np.fill_diagonal(cosine, -2)
    found = neighbors_within(prepare(X, "cosine"), 4)
    best = np.argsort(-cosine, axis=1)[:, :4]
    assert np.array_equal(np.sort(found.indices, 1), np.sort(best, 1))
    np.testing.assert_allclose(found.distances**2 / 2, 1 - np.take_along_axis(cosine, found.indices, 1), atol=1e-12)


def test_cosine_refuses_empty_rows():
    with pytest.raises(ValueError, match=r"2 rows are, the first at index 1.*Drop"):
        prepare(np.array([[1.0, 0], [0, 0], [0, 0]]), "cosine")


def test_queries_and_points_may_differ(rng):
    points, queries = rng.standard_normal((30, 3)), rng.standard_normal((7, 3))
    found = neighbors_between(queries, points, 1)
    D = np.linalg.norm(queries[:, None] - points, axis=2)
    assert np.array_equal(found.indices[:, 0], D.argmin(1))


def test_union_and_mutual_by_hand():
    X = np.array([[0.0], [1.0], [3.0]])  # 0 and 1 name each other; 2 names 1 alone
    near = neighbors_within(X, 1)
    w = gaussian_weights(near, 1.0)
    union = Graph(join(near, w, "union")).weights.toarray()
    mutual = Graph(join(near, w, "mutual")).weights.toarray()
    a, b = np.exp(-0.5), np.exp(-2.0)
    np.testing.assert_allclose(union, [[0, a, 0], [a, 0, b], [0, b, 0]])
    np.testing.assert_allclose(mutual, [[0, a, 0], [a, 0, 0.01 * b], [0, 0.01 * b, 0]])


def test_median_bandwidth_ignores_copies():
    near = neighbors_within(np.array([[0.0], [0], [0], [1], [2]]), 2)
    positive = near.distances[near.distances > 0]
    assert median_bandwidth(near) == np.median(positive) > 0
    assert median_bandwidth(neighbors_within(np.zeros((5, 1)), 2)) == 1.0


def test_underflow_names_a_bandwidth_that_works(rng):
    near = neighbors_within(255 * rng.random((50, 30)), 5)
    with pytest.raises(ValueError, match="too small for these data") as caught:
        gaussian_weights(near, 1.0)
    suggested = float(str(caught.value).split("neighbours is ")[1].split(";")[0])
    assert np.median(gaussian_weights(near, suggested)) > 0.1


@pytest.mark.parametrize(
    ("W", "message"),
    [
        (np.ones((2, 3)), "square"),
        (np.array([[0, np.nan], [np.nan, 0]]), "finite"),
        (np.array([[0, -1.0], [-1.0, 0]]), "non-negative.*similarities"),
        (np.array([[1.0, 1], [1, 0]]), r"diagonal.*setdiag"),
        (np.array([[0, 1.0], [0, 0]]), r"symmetric; max \|W - W'\| = 1.0e\+00.*maximum"),
    ],
)
def test_invalid_graphs_cannot_be_built(W, message):
    with pytest.raises(ValueError, match=message):
        Graph(sp.csr_array(W))


def test_overflow_is_refused():
    with pytest.raises(ValueError, match="overflow; rescale"):
        neighbors_within(np.array([[1e200], [-1e200], [0.0]]), 1)


@pytest.mark.parametrize("n_entries", [0, 30, 300, 900])
def test_edges_components_and_incidence_are_those_of_the_weights(n_entries):
    """Against SciPy's components, and entry by entry."""
    n = 200
    A = sp.csr_array(sp.random(n, n, n_entries / n**2, random_state=1))
    A = sp.csr_array(A.maximum(A.T))
    A.setdiag(0)
    graph = Graph(A)
    np.testing.assert_array_equal(graph.component, connected_components(graph.weights, directed=False)[1])
    edges, W = graph.edges, graph.weights
    rows = np.repeat(np.arange(n), np.diff(W.indptr))
    np.testing.assert_array_equal(edges.heads[edges.entries], np.minimum(rows, W.indices))
    np.testing.assert_array_equal(edges.tails[edges.entries], np.maximum(rows, W.indices))
    np.testing.assert_array_equal(edges.weights[edges.entries], W.data)
    P = np.zeros((graph.n_edges, n))
    P[np.arange(graph.n_edges), edges.heads], P[np.arange(graph.n_edges), edges.tails] = edges.weights, -edges.weights
    np.testing.assert_array_equal(graph.incidence.toarray(), P)
    squared = Graph(sp.csr_array(graph.weights.multiply(graph.weights)))
    np.testing.assert_allclose(P.T @ P, squared.laplacian.toarray(), atol=1e-12)


def test_a_graph_that_we_built_is_the_checked_one():
    near = neighbors_within(np.random.default_rng(0).standard_normal((80, 2)), 4)
    W = join(near, np.exp(-(near.distances**2) * 40), "mutual")
    expected, found = Graph(W), Graph.symmetric(W.copy())
    np.testing.assert_array_equal(found.weights.indices, expected.weights.indices)
    np.testing.assert_allclose(found.weights.data, expected.weights.data, rtol=1e-15)
    assert not found.weights.data.flags.writeable


def test_candidates_are_the_nearest(rng):
    points = rng.standard_normal((300, 5)).astype(np.float32)
    indices, scores = candidates(points[:40], points, 9)
    squares = ((points[:40, None].astype(float) - points) ** 2).sum(axis=2)
    np.testing.assert_array_equal(np.sort(indices, 1), np.sort(np.argsort(squares, axis=1)[:, :9], 1))
    assert (np.diff(scores, axis=1) >= 0).all()


def test_an_order_keeps_neighbours_together():
    """Points on a line in random order: neighbours come back within a group."""
    n = 30_000
    at = np.argsort(np.random.default_rng(0).permutation(n))
    W = sp.csr_array((np.ones(n - 1), (at[:-1], at[1:])), shape=(n, n))
    order = local_order(sp.csr_array(W + W.T))
    assert np.array_equal(np.sort(order), np.arange(n))
    number = np.argsort(order)
    assert np.mean(np.abs(number[at[:-1]] - number[at[1:]]) <= 2) > 0.99
