import warnings

import numpy as np
import pytest
import scipy.sparse as sp
from sklearn.base import BaseEstimator
from sklearn.datasets import load_digits, load_iris
from sklearn.metrics import pairwise_distances
from sklearn.metrics.pairwise import cosine_similarity, rbf_kernel
from sklearn.neighbors import kneighbors_graph

from plain import PlainSIIS
from siis import SIISClassifier, SIISMultilabelClassifier
from siis.baselines import GFHFClassifier
from siis.graph.precomputed import are_distances

METRICS = ("euclidean", "sqeuclidean", "cosine", "cityblock", "correlation", "chebyshev")


@pytest.fixture(scope="module")
def digits():
    X, y = load_digits(return_X_y=True)
    return X[:600], y[:600]


@pytest.mark.parametrize("metric", METRICS)
@pytest.mark.parametrize("data", [load_digits, load_iris])
def test_a_full_matrix_of_distances_is_refused(data, metric):
    X, y = data(return_X_y=True)
    D = pairwise_distances(X[:400], metric=metric)
    np.fill_diagonal(D, 0)
    with pytest.raises(ValueError, match="looks like distances"):
        PlainSIIS(affinity="precomputed").fit((D + D.T) / 2, y[:400])


@pytest.mark.parametrize("n_neighbors", [5, 30])
def test_a_sparse_graph_of_distances_is_refused(digits, n_neighbors):
    X, y = digits
    D = kneighbors_graph(X, n_neighbors, mode="distance")
    with pytest.raises(ValueError, match="looks like distances"):
        PlainSIIS(affinity="precomputed").fit(D.maximum(D.T), y)


def gaussian_rows(n, d):
    return np.random.default_rng(0).normal(size=(n, d))


@pytest.mark.parametrize("n_neighbors", [5, 10])
@pytest.mark.parametrize("X", [load_iris().data, gaussian_rows(300, 20), gaussian_rows(300, 200)])
def test_distances_of_nearest_neighbors_are_refused(X, n_neighbors):
    """Their edges are at small distances of one end; those of weights are at large ones."""
    D = kneighbors_graph(X, n_neighbors, mode="distance")
    D = sp.csr_array(D.maximum(D.T))
    y = np.arange(len(X)) % 2
    with pytest.raises(ValueError, match="looks like distances"):
        PlainSIIS(affinity="precomputed").fit(D, y)
    assert not are_distances(sp.csr_array((np.exp(-(D.data**2)), D.indices, D.indptr)))


def test_a_graph_without_an_edge_brings_no_warning():
    y = np.where(np.arange(60) < 20, np.arange(60) % 2, -1)
    with warnings.catch_warnings(action="error", category=RuntimeWarning):
        warnings.simplefilter("ignore", UserWarning)
        SIISClassifier(affinity="precomputed").fit(sp.csr_array((60, 60)), y)


def without_diagonal(W):
    W = np.array(W)
    np.fill_diagonal(W, 0)
    return (W + W.T) / 2


@pytest.mark.filterwarnings("ignore:every example was given:UserWarning")
@pytest.mark.parametrize(
    "name", ["wide kernel", "kernel", "narrow kernel", "cosine", "random", "constant", "neighbors"]
)
@pytest.mark.parametrize("data", [load_digits, load_iris])
def test_weights_are_accepted(data, name):
    X, y = data(return_X_y=True)
    X, y = X[:300], y[:300]
    width = np.median(pairwise_distances(X))
    if name == "neighbors":
        W = kneighbors_graph(X, 10)
        W = sp.csr_array((W + W.T) / 2)
    else:
        W = without_diagonal(
            {
                "wide kernel": lambda: rbf_kernel(X, gamma=0.1 / width**2),
                "kernel": lambda: rbf_kernel(X, gamma=1 / width**2),
                "narrow kernel": lambda: rbf_kernel(X, gamma=10 / width**2),
                "cosine": lambda: cosine_similarity(X),
                "random": lambda: np.random.default_rng(0).random((len(X), len(X))),
                "constant": lambda: np.ones((len(X), len(X))),
            }[name]()
        )
    assert PlainSIIS(affinity="precomputed").fit(W, y).graph_.n_vertices == len(X)


@pytest.mark.parametrize("kind", [SIISClassifier, SIISMultilabelClassifier, GFHFClassifier])
def test_precomputed_is_no_metric_and_the_message_names_affinity(kind, digits):
    X, y = digits
    W = kneighbors_graph(X, 5)
    Y = np.eye(10)[y] if kind is SIISMultilabelClassifier else y
    with pytest.raises(ValueError, match="set affinity='precomputed'"):
        kind(metric="precomputed").fit(W.maximum(W.T), Y)


@pytest.mark.parametrize("kind", [SIISClassifier, SIISMultilabelClassifier, GFHFClassifier])
def test_scikit_learn_cuts_a_precomputed_graph_both_ways(kind):
    estimator: BaseEstimator = kind(affinity="precomputed")
    assert estimator.__sklearn_tags__().input_tags.pairwise
    assert not kind().__sklearn_tags__().input_tags.pairwise
