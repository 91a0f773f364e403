"""Approximate neighbours: measured recall, the same answer for the same seed, the user's own index."""

import sys
from importlib.util import find_spec

import numpy as np
import pytest
import scipy.sparse as sp
from sklearn.neighbors import NearestNeighbors

from plain import PlainSIIS
from siis import SIISClassifier
from siis.graph import neighbors as module
from siis.graph import neighbors_within
from siis.graph.approximate import complete

pytestmark = pytest.mark.slow


@pytest.fixture
def cloud(rng):
    return (rng.standard_normal((3000, 8)) + 2.0 * (np.arange(3000) % 2)[:, None]).astype(np.float32)


def test_faiss(cloud):
    if find_spec("faiss") is None:
        pytest.skip("faiss is not installed")
    exact = neighbors_within(cloud, 10)
    found, again = (neighbors_within(cloud, 10, "faiss", seed=3) for _ in range(2))
    assert found.method == "faiss"
    np.testing.assert_array_equal(found.indices, again.indices)
    met = np.mean([np.isin(e, f).mean() for e, f in zip(exact.indices, found.indices, strict=True)])
    assert met > 0.9
    assert found.recall == pytest.approx(met, abs=0.03)
    assert not (found.indices == np.arange(3000)[:, None]).any()
    own = np.linalg.norm(cloud[:, None].astype(float) - cloud[found.indices].astype(float), axis=2)
    np.testing.assert_allclose(found.distances, own, rtol=1e-12)
    assert (np.diff(found.distances, axis=1) >= 0).all()


def test_own_index(cloud):
    found = neighbors_within(cloud, 5, NearestNeighbors(algorithm="kd_tree"))
    exact = neighbors_within(cloud, 5)
    assert (found.method, found.recall) == ("NearestNeighbors", 1.0)
    np.testing.assert_array_equal(np.sort(found.indices, 1), np.sort(exact.indices, 1))


class Broken:
    """An index that answers badly."""

    def __init__(self, answer):
        self.answer = answer

    def fit(self, X):
        return self

    def kneighbors(self, X, n_neighbors, return_distance):
        return self.answer(len(X), n_neighbors)


def test_a_poor_index_is_named(cloud):
    rng = np.random.default_rng(0)
    poor = Broken(lambda n, k: np.argsort(rng.random((n, 50)), axis=1)[:, :k])
    with pytest.warns(UserWarning, match=r"Broken.*found only .* Use another search"):
        assert neighbors_within(cloud, 5, poor).recall < 0.3
    with pytest.raises(ValueError, match="integer array of shape"):
        neighbors_within(cloud, 5, Broken(lambda n, k: np.zeros((n, k - 1), dtype=int)))
    with pytest.raises(ValueError, match="integer array of shape"):
        neighbors_within(cloud, 5, Broken(lambda n, k: np.zeros((n, k))))


def test_empty_places_are_filled():
    found = np.array([[0, 1, 2], [1, -1, -1], [2, 2, 7]])
    with pytest.warns(UserWarning, match="places empty at 2 of 3"):
        whole = complete(found, 4)
    np.testing.assert_array_equal(whole[0], found[0])
    for row, kept in zip(whole[1:], (1, 2), strict=True):
        assert kept in row
        assert np.unique(row).size == 3
        assert (row >= 0).all()
        assert (row < 4).all()


def test_many_examples_are_searched_approximately(cloud, monkeypatch):
    monkeypatch.setattr(module, "MOST_EXACT_POINTS", 2000)
    monkeypatch.setattr(module, "has_faiss", lambda: True)
    assert neighbors_within(cloud, 5, "auto").method == "faiss"
    assert neighbors_within(cloud[:1500], 5, "auto").method == "exact"
    assert neighbors_within(sp.csr_array(cloud), 5, "auto").method == "exact"
    monkeypatch.setattr(module, "has_faiss", lambda: False)
    with pytest.warns(UserWarning, match=r"siis\[ann\]"):
        assert neighbors_within(cloud, 5, "auto").method == "exact"
    with pytest.raises(ValueError, match="needs a dense array of X"):
        neighbors_within(sp.csr_array(cloud), 5, "faiss")


def test_the_estimator_says_how_it_searched(cloud, monkeypatch):
    monkeypatch.setattr(module, "MOST_EXACT_POINTS", 2000)
    y = np.where(np.arange(3000) % 15 == 0, np.arange(3000) % 2, -1)
    model = PlainSIIS(n_components=10).fit(cloud, y)
    assert model.neighbor_search_ == "faiss"
    assert 0.9 < model.neighbor_recall_ <= 1
    assert model.basis_.vectors.dtype == np.float32
    exact = PlainSIIS(n_components=10, neighbor_search="exact").fit(cloud, y)
    assert (exact.neighbor_search_, exact.neighbor_recall_) == ("exact", 1.0)
    assert np.mean(exact.transduction_ == model.transduction_) > 0.95
    own = PlainSIIS(n_components=10, neighbor_search=NearestNeighbors()).fit(cloud, y)
    assert own.neighbor_search_ == "NearestNeighbors"
    np.testing.assert_array_equal(own.transduction_, exact.transduction_)
    with pytest.raises(ValueError, match="neighbor_search of SIISClassifier must be one of"):
        SIISClassifier(neighbor_search="fast").fit(cloud, y)
    ready = PlainSIIS(affinity="precomputed", n_components=10).fit(exact.graph_.weights, y)
    assert ready.neighbor_search_ == "ready-made"


def test_large_graphs_are_renumbered_without_changing_the_answer(cloud, monkeypatch):
    module_of_renumbering = sys.modules["siis.graph.neighbor_graph"]
    y = np.where(np.arange(3000) % 15 == 0, np.arange(3000) % 2, -1)
    plain = PlainSIIS(n_components=10).fit(cloud, y)
    chosen = SIISClassifier(n_neighbors=10).fit(cloud.astype(float), y)
    monkeypatch.setattr(module_of_renumbering, "RENUMBER_FROM", 1000)
    other = PlainSIIS(n_components=10).fit(cloud, y)
    assert not np.array_equal(plain.vertex_, other.vertex_)
    np.testing.assert_allclose(plain.label_distributions_, other.label_distributions_, atol=2e-3)
    np.testing.assert_allclose(other.predict_proba(cloud), other.label_distributions_, atol=1e-6)
    again = SIISClassifier(n_neighbors=10).fit(cloud.astype(float), y)
    assert np.mean(chosen.transduction_ == again.transduction_) > 0.99
    np.testing.assert_allclose(chosen.label_quality_, again.label_quality_, atol=1e-6)
