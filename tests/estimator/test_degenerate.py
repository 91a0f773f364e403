"""Each degenerate case has a defined answer or a ValueError with the remedy."""

import warnings

import numpy as np
import pytest
import scipy.sparse as sp
from sklearn.datasets import make_blobs
from sklearn.exceptions import ConvergenceWarning

from plain import PlainSIIS


def far_blobs(n=90, centers=3):
    X, truth = make_blobs(n, centers=100.0 * np.eye(centers), random_state=0)
    return X, truth


def test_a_component_without_label_is_reported_not_classified():
    X, truth = far_blobs()
    y = np.full(90, -1)
    for k, count in ((0, 6), (1, 3)):
        y[np.flatnonzero(truth == k)[:count]] = k
    with pytest.warns(UserWarning, match="30 of 90 examples are connected to no label") as caught:
        model = PlainSIIS(n_neighbors=5).fit(X, y)
    assert len(caught) == 1
    np.testing.assert_array_equal(model.is_reached_, truth != 2)
    np.testing.assert_allclose(model.label_distributions_[truth == 2], np.tile([2 / 3, 1 / 3], (30, 1)))
    np.testing.assert_array_equal(model.transduction_[truth != 2], truth[truth != 2])
    np.testing.assert_allclose(model.predict_proba(X), model.label_distributions_)
    stranger = model.predict_proba(X[truth == 2][:3] + 1e-3)
    np.testing.assert_allclose(stranger, np.tile([2 / 3, 1 / 3], (3, 1)))


@pytest.mark.filterwarnings("ignore:every example was given")
def test_new_examples_listen_only_to_neighbours_that_know(rng):
    known, lost = -1 + 0.01 * rng.standard_normal((20, 1)), 1 + 0.01 * rng.standard_normal((20, 1))
    y = np.full(40, -1)
    y[:5] = [0, 1, 0, 0, 0]
    with pytest.warns(UserWarning, match="20 of 40"):
        model = PlainSIIS(n_neighbors=8).fit(np.concatenate([known, lost]), y)
    nearest_lost = lost.min()
    between = np.array([[(known.max() + nearest_lost) / 2 + 1e-6]])  # a lost one is nearest, known ones come next
    at_the_known = model.predict_proba(known[[known.argmax()]])
    np.testing.assert_allclose(model.predict_proba(between), at_the_known, atol=0.01)
    assert np.abs(at_the_known - [[0.8, 0.2]]).max() > 0.05  # not the frequencies, which the lost ones have


def test_more_labelled_components_than_eigenvectors():
    X, truth = far_blobs(100, 10)
    y = np.where(np.arange(100) % 5 == 0, truth, -1)
    y[[np.flatnonzero(truth == k)[0] for k in range(10)]] = np.arange(10)
    with pytest.warns(UserWarning, match="10 connected components.*n_components=4"):
        model = PlainSIIS(n_neighbors=3, n_components=4).fit(X, y)
    np.testing.assert_array_equal(model.transduction_, truth)


@pytest.mark.parametrize("copies", [2, 15])
def test_repeated_examples_share_one_answer(copies, rng):
    X, truth = make_blobs(40, centers=2, random_state=1)
    y = np.where(np.arange(40) % 4 == 0, truth, -1)
    many, labels = np.repeat(X, copies, axis=0), np.repeat(y, copies)
    model = PlainSIIS(n_neighbors=5).fit(many, labels)
    assert model.graph_.n_vertices == 40
    np.testing.assert_array_equal(
        model.label_distributions_, np.repeat(model.label_distributions_[::copies], copies, 0)
    )
    single = PlainSIIS(n_neighbors=5, alpha=100.0 * copies).fit(X, y)
    np.testing.assert_allclose(model.label_distributions_[::copies], single.label_distributions_, atol=1e-9)


@pytest.mark.filterwarnings("ignore:every example was given")
def test_all_examples_equal():
    with pytest.warns(UserWarning, match="only 1 distinct"):
        model = PlainSIIS().fit(np.zeros((8, 2)), [0, 0, 1, -1, 0, 2, -1, -1])
    assert (model.transduction_ == 0).all()
    assert (model.predict(np.ones((2, 2))) == 0).all()


def test_isolated_vertices_of_a_ready_made_graph():
    W = sp.csr_array(np.array([[0, 1.0, 0, 0], [1, 0, 0, 0], [0, 0, 0, 0], [0, 0, 0, 0]]))
    with pytest.warns(UserWarning, match="1 of 4"):
        model = PlainSIIS(affinity="precomputed").fit(W, ["a", None, "b", None])
    assert model.transduction_[:3].tolist() == ["a", "a", "b"]
    assert model.is_reached_.tolist() == [True, True, True, False]


def test_more_neighbors_than_examples(rng):
    X = np.concatenate([rng.standard_normal((4, 2)), 6 + rng.standard_normal((4, 2))])
    y = np.array([0, -1, -1, 0, 1, -1, 1, -1])
    with pytest.warns(UserWarning, match="n_neighbors=50 but there are only 8 distinct examples"):
        model = PlainSIIS(n_neighbors=50).fit(X, y)
    assert model.transduction_.tolist() == [0] * 4 + [1] * 4
    assert model.graph_.n_edges <= 28


def test_one_class_one_example_and_all_labelled(rng):
    X = rng.standard_normal((30, 3))
    assert set(PlainSIIS().fit(X, np.where(np.arange(30) < 5, 7, -1)).transduction_) == {7}
    with pytest.warns(UserWarning, match="only 1 distinct"):
        assert PlainSIIS().fit(X[:1], ["only"]).transduction_.tolist() == ["only"]
    truth = (X[:, 0] > 0).astype(int)
    model = PlainSIIS(alpha=1000.0).fit(X, truth)
    assert np.mean(model.transduction_ == truth) > 0.9


def test_weight_zero_takes_a_class_away(rng):
    X, truth = make_blobs(60, centers=3, random_state=0)
    y = truth.copy()
    model = PlainSIIS().fit(X, y, sample_weight=(truth != 1).astype(float))
    assert model.classes_.tolist() == [0, 2]
    assert (model.vertex_[truth == 1] == -1).all()
    np.testing.assert_allclose(model.predict_proba(X), model.label_distributions_)
    with pytest.raises(ValueError, match="weights are zero"):
        PlainSIIS().fit(X, y, sample_weight=np.zeros(60))
    with pytest.raises(ValueError, match="non-negative"):
        PlainSIIS().fit(X, y, sample_weight=-np.ones(60))


def test_a_tiny_alpha_collapses_and_says_so():
    X, truth = make_blobs(200, centers=2, random_state=5, cluster_std=4.0)
    y = np.where(np.arange(200) % 10 == 0, truth, -1)
    y[:30:10] = 0
    with pytest.warns(UserWarning, match=r"every example was given the class .*raise alpha"):
        model = PlainSIIS(alpha=1e-4).fit(X, y)
    assert model.largest_class_share_ == 1.0
    assert model.largest_given_share_ < 0.8


def test_raw_pixels_with_a_small_bandwidth(rng):
    X = np.round(255 * rng.random((60, 400)))
    y = np.where(np.arange(60) < 20, np.arange(60) % 2, -1)
    with pytest.raises(ValueError, match=r"bandwidth=100 is too small.*bandwidth='median'"):
        PlainSIIS(bandwidth=100.0).fit(X, y)


def test_distant_outliers_do_not_break_the_answer(rng):
    X, truth = make_blobs(150, centers=3, random_state=0)
    y = np.where(np.arange(150) % 5 == 0, truth, -1)
    X[1:4] += np.array([[1e4, 0], [0, 1e5], [1e6, 1e6]])
    with pytest.warns(UserWarning, match="3 of 150 examples are connected to no label"):
        model = PlainSIIS().fit(X, y)
    rest = np.arange(150) > 3
    assert np.mean(model.transduction_[rest] == truth[rest]) > 0.85
    assert np.isfinite(model.label_distributions_).all()


def test_too_few_iterations_are_reported(rng):
    X, truth = make_blobs(100, centers=3, random_state=0, cluster_std=4)
    with pytest.warns(ConvergenceWarning, match=r"max_iter=2 iterations the relative duality gap is"):
        model = PlainSIIS(max_iter=2, tol=1e-9).fit(X, truth)
    assert model.n_iter_ == 2
    assert model.dual_gap_ > 1e-9


def test_a_failed_fit_leaves_the_fitted_model_alone(rng):
    X, truth = make_blobs(50, centers=2, random_state=0)
    model = PlainSIIS().fit(X, truth)
    before = model.label_distributions_.copy()
    for bad in ([None] * 50, truth[:-1]):
        with pytest.raises(ValueError, match=r"at least one label|inconsistent"):
            model.fit(X, bad)
    np.testing.assert_array_equal(model.label_distributions_, before)


def test_string_marks_are_refused():
    with pytest.raises(ValueError, match="'-1'"), warnings.catch_warnings():
        PlainSIIS().fit(np.eye(3), np.array(["a", "b", -1]))


def test_precomputed_predict_checks_its_weights():
    W = np.array([[0, 1.0, 0], [1, 0, 1], [0, 1, 0]])
    model = PlainSIIS(affinity="precomputed").fit(W, [0, -1, 1])
    with pytest.raises(ValueError, match="non-negative"):
        model.predict(-W)
    with pytest.raises(ValueError, match="symmetric"):
        PlainSIIS(affinity="precomputed").fit(np.triu(W), [0, -1, 1])
