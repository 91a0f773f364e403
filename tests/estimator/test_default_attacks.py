"""What an attack on the default broke once."""

import numpy as np
import pytest
import scipy.sparse as sp
from sklearn.datasets import make_blobs
from sklearn.neighbors import kneighbors_graph

from plain import PlainSIIS
from siis import SIISClassifier

pytestmark = pytest.mark.slow


def blobs(n=300, c=3, d=5, n_labels=60, seed=0, noise=0.1):
    X, truth = make_blobs(n, d, centers=c, random_state=seed, cluster_std=1.5)
    rng = np.random.default_rng(seed)
    y = np.full(n, -1)
    rows = rng.permutation(n)[:n_labels]
    y[rows] = truth[rows]
    wrong = rows[: int(noise * n_labels)]
    y[wrong] = (y[wrong] + 1) % c
    return X, y, truth


def test_contradicting_labels_of_equal_examples_count_as_noise():
    rng = np.random.default_rng(0)
    truth = rng.integers(0, 2, 1000)
    X = (rng.random((1000, 4)) < np.where(truth, 0.95, 0.05)[:, None]).astype(float)
    y = np.where(np.arange(1000) < 300, truth, -1)
    y[:60] = 1 - y[:60]
    model = SIISClassifier().fit(X, y)
    assert abs(model.noise_rate_ - 0.2) < 0.08


def text(seed=1, n=300, d=300):
    rng = np.random.default_rng(seed)
    truth = rng.integers(0, 3, n)
    X = rng.poisson(0.05, (n, d)) * 1.0
    for k in range(3):
        X[truth == k, k * 20 : (k + 1) * 20] += rng.poisson(0.3, ((truth == k).sum(), 20))
    X[:, -1] = 1
    y = np.where(np.arange(n) < 90, truth, -1)
    y[:20] = (y[:20] + 1) % 3
    return sp.csr_array(X), y, truth


def test_sparse_training_examples_get_their_own_answer():
    X, y, _ = text()
    model = SIISClassifier().fit(X, y)
    np.testing.assert_array_equal(model.predict_proba(X), model.label_distributions_)
    np.testing.assert_array_equal(model.predict(X.toarray()), model.transduction_)
    assert np.isfinite(model.predict_proba(sp.csr_array((2, 300)))).all(), "an empty document gets an answer"


def test_rounded_training_examples_get_their_own_answer():
    X, y, _ = blobs()
    model = SIISClassifier().fit(X, y)
    np.testing.assert_array_equal(model.predict(X.astype(np.float32)), model.transduction_)
    np.testing.assert_array_equal(model.predict_proba(X * (1 + 1e-9)), model.label_distributions_)


def test_unreached_examples_are_described_truly():
    X, y, _ = blobs(n_labels=20)
    with pytest.warns(UserWarning, match="connected to no label.*rests on models of the features alone"):
        SIISClassifier(n_neighbors=1).fit(X, y)
    W = np.zeros((303, 303))
    W[:300, :300] = kneighbors_graph(X, 8).maximum(kneighbors_graph(X, 8).T).toarray()
    given = np.append(y, [-1, -1, -1])
    with pytest.warns(UserWarning, match=r"connected to no label.*that of the given labels\. Join them"):
        model = SIISClassifier(affinity="precomputed").fit(W, given)
    prior = np.bincount(y[y >= 0]) / 20
    np.testing.assert_allclose(model.label_distributions_[300:], np.tile(prior, (3, 1)))


def test_queries_and_issues_name_the_right_examples():
    X, y, _ = blobs(60, n_labels=30)
    weights = np.ones(60)
    absent = np.flatnonzero(y >= 0)[:5]
    weights[absent] = 0
    index = SIISClassifier().fit(X, y, sample_weight=weights).suggest_queries(60)["index"]
    assert sorted(index) == sorted(set(range(60)) - set(absent))
    model = SIISClassifier().fit(np.r_[X, X], np.r_[np.full(60, -1), y])
    queries = model.suggest_queries(60)
    checks = queries["index"][queries["action"] == "check"]
    assert (np.r_[np.full(60, -1), y][checks] >= 0).all()


def test_clean_labels_give_an_empty_list_that_can_be_used():
    X, y, truth = blobs()
    issues = SIISClassifier().fit(X, truth).label_issues(0.0)
    y[issues["index"]] = -1
    assert issues.n_rows == 0
    with pytest.raises(ValueError, match="threshold must be None or a non-negative number"):
        SIISClassifier().fit(X, truth).label_issues("a")


def test_units_and_offsets():
    X, y, truth = blobs()
    expected = SIISClassifier().fit(X, y)
    assert np.mean(expected.transduction_ == truth) > 0.95
    for changed in (X * 1e40, X * 1e-40, X + 1e9):
        assert np.mean(SIISClassifier().fit(changed, y).transduction_ == truth) > 0.95
    W = kneighbors_graph(X, 8)
    W = W.maximum(W.T)
    for scale in (1e-60, 1.0, 1e60):
        model = SIISClassifier(affinity="precomputed").fit(W * scale, y)
        assert np.mean(model.transduction_ == truth) > 0.95
    wide = SIISClassifier(bandwidth=3.0).fit(X, y)
    assert wide.bandwidth_ == 3.0
    assert wide.leading_graph_.space == "as given"


@pytest.mark.filterwarnings("ignore:every example was given", "ignore:nothing could be chosen")
@pytest.mark.filterwarnings("ignore:the labels do not follow")
def test_all_rows_equal():
    model = SIISClassifier().fit(np.ones((40, 5)), np.arange(40) % 2)
    assert model.label_distributions_.shape == (40, 2)
    model = SIISClassifier().fit(sp.csr_array((40, 500)), np.arange(40) % 2)
    assert np.isfinite(model.label_distributions_).all()


def test_empty_rows_are_named_by_their_own_index():
    X, y, _ = blobs()
    X = np.abs(X) + 1
    X[[7, 50, 90]] = 0
    with pytest.raises(ValueError, match="3 rows are, the first at index 7"):
        SIISClassifier(metric="cosine").fit(X, y)


@pytest.mark.parametrize("n_labels", [10, 60])
def test_few_good_labels_bring_no_false_alarm(n_labels):
    X, y, truth = blobs(200, c=2, n_labels=n_labels, noise=0.2)
    model = SIISClassifier().fit(X, y)
    assert np.mean(model.transduction_ == truth) > 0.95


def test_distances_that_overflow_are_refused():
    X, truth = make_blobs(60, 4, centers=2, random_state=0)
    y = np.where(np.arange(60) < 20, truth, -1)
    with pytest.raises(ValueError, match="overflow; rescale X"):
        SIISClassifier().fit(X * 1e160, y)


def test_single_precision_where_the_optimum_is_nearly_nothing():
    X, truth = make_blobs(120, 5, centers=3, random_state=0)
    y = np.where(np.arange(120) < 15, truth, -1)
    model = PlainSIIS().fit(X.astype(np.float32), y)
    assert np.mean(model.transduction_ == truth) == 1
    assert model.dual_gap_ <= 1e-4


@pytest.mark.filterwarnings("ignore::UserWarning")
@pytest.mark.parametrize("weights", ["classes", "one"])
def test_sample_weights_of_all_sizes(weights):
    rng = np.random.default_rng(0)
    c = np.arange(60) % 2
    X = rng.normal(size=(60, 5))
    X[np.arange(60), c] += 4
    large = c == 0 if weights == "classes" else np.arange(60) == 0
    model = SIISClassifier(random_state=0).fit(X, np.where(np.arange(60) < 20, c, -1), np.where(large, 1e300, 1e-300))
    assert model.label_distributions_.sum(axis=1) == pytest.approx(1)
