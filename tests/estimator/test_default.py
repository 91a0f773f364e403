"""The untouched default: accurate, and calm where labels are few, many, unequal or all wrong."""

import warnings

import numpy as np
import pytest
from sklearn.datasets import load_digits, make_blobs
from sklearn.svm import SVC

from plain import PlainSIIS
from siis import SIISClassifier
from siis.datasets import contaminate
from siis.labels import from_annotators, one_hot

pytestmark = pytest.mark.slow


def digits(per_class, rate, n=1000, seed=0):
    X, truth = load_digits(return_X_y=True)
    X, truth = X[:n], truth[:n]
    rng = np.random.default_rng(seed)
    rows = np.concatenate([rng.choice(np.flatnonzero(truth == k), per_class, replace=False) for k in range(10)])
    y = np.full(n, -1)
    y[rows] = contaminate(truth[rows], rate, seed)
    return X, y, truth


def test_it_beats_the_plain_method_and_a_support_vector_machine():
    X, y, truth = digits(15, 0.4)
    rest = y < 0
    model = SIISClassifier().fit(X, y)
    ours = np.mean(model.transduction_[rest] == truth[rest])
    svc = np.mean(SVC().fit(X[~rest], y[~rest]).predict(X[rest]) == truth[rest])
    plain = np.mean(PlainSIIS().fit(X, y).transduction_[rest] == truth[rest])
    assert ours > 0.9
    assert ours > svc + 0.05
    assert ours > plain
    assert model.dual_gap_ <= 1e-4
    assert abs(model.noise_rate_ - 0.4) < 0.1


def test_one_hot_soft_labels_are_labels():
    X, y, _ = digits(8, 0.2, 400)
    soft = np.zeros((400, 10))
    soft[y >= 0] = one_hot(y[y >= 0], 10)
    one, two = SIISClassifier().fit(X, y), SIISClassifier().fit(X, soft)
    np.testing.assert_array_equal(one.label_distributions_, two.label_distributions_)
    for settings in ({"method": "paper"}, {"method": "paper", "solver": "certified"}):
        one, two = SIISClassifier(**settings).fit(X, y), SIISClassifier(**settings).fit(X, soft)
        np.testing.assert_array_equal(one.label_distributions_, two.label_distributions_)


def test_answers_of_annotators_fit():
    X, truth = load_digits(return_X_y=True)
    X, truth = X[:600], truth[:600]
    rng = np.random.default_rng(0)
    answers = np.full((600, 4), -1)
    for r in range(4):
        rows = rng.choice(150, 80, replace=False)
        answers[rows, r] = contaminate(truth[rows], 0.1 if r < 2 else 0.6, r)
    combined = from_annotators(answers)
    model = SIISClassifier().fit(X, combined.Y, sample_weight=combined.weights)
    assert np.mean(model.transduction_ == truth) > 0.9


def test_new_examples_and_training_examples():
    X, y, truth = digits(15, 0.3, 1400)
    model = SIISClassifier().fit(X[:1000], y[:1000])
    np.testing.assert_array_equal(model.predict_proba(X[:1000]), model.label_distributions_)
    np.testing.assert_array_equal(model.predict(X[17:18]), model.transduction_[17:18])
    assert np.mean(model.predict(X[1000:]) == truth[1000:1400]) > 0.9


def test_order_of_the_examples_does_not_matter():
    X, y, _ = digits(10, 0.3, 500)
    order = np.random.default_rng(0).permutation(500)
    one, two = SIISClassifier().fit(X, y), SIISClassifier().fit(X[order], y[order])
    np.testing.assert_allclose(one.label_distributions_[order], two.label_distributions_, atol=1e-8)
    assert one.leading_graph_ == two.leading_graph_


@pytest.mark.filterwarnings("ignore:most labels of these classes")
def test_two_labels_for_each_class():
    X, y, truth = digits(2, 0.0, 600)
    model = SIISClassifier().fit(X, y)
    assert np.mean(model.transduction_ == truth) > 0.75
    assert model.noise_rate_ < 0.3


def test_a_hundred_classes():
    X, truth = make_blobs(2000, 20, centers=100, cluster_std=2.0, random_state=0)
    rng = np.random.default_rng(0)
    y = np.full(2000, -1)
    for k in range(100):
        y[rng.choice(np.flatnonzero(truth == k), 4, replace=False)] = k
    y[y >= 0] = contaminate(y[y >= 0], 0.25, 0)
    model = SIISClassifier().fit(X, y)
    assert model.label_distributions_.shape == (2000, 100)
    assert np.mean(model.transduction_ == truth) > 0.9
    assert abs(model.noise_rate_ - 0.25) < 0.1


def test_heavy_imbalance():
    rng = np.random.default_rng(0)
    X = np.vstack([rng.standard_normal((2000, 5)), rng.standard_normal((20, 5)) * 0.5 + 5])
    truth = np.repeat([0, 1], [2000, 20])
    y = np.full(2020, -1)
    y[:400], y[2000:2006] = 0, 1
    model = SIISClassifier().fit(X, y)
    assert np.mean(model.transduction_ == truth) > 0.99
    assert np.mean(model.transduction_[2000:] == 1) > 0.8


def test_class_dependent_noise():
    X, y, truth = digits(20, 0.0)
    rng = np.random.default_rng(0)
    fours = np.flatnonzero(y == 4)
    flipped = rng.choice(fours, 8, replace=False)
    y[flipped] = 9
    model = SIISClassifier().fit(X, y)
    assert np.mean(model.transduction_ == truth) > 0.95
    assert model.noise_matrix_[9, 4] == np.max(model.noise_matrix_ - np.diag(np.diag(model.noise_matrix_)))
    assert set(flipped) <= set(model.label_issues()["index"])


def test_a_class_with_all_labels_wrong_is_named():
    X, y, truth = digits(20, 0.0)
    threes = np.flatnonzero(y == 3)
    rng = np.random.default_rng(0)
    others = rng.choice(np.flatnonzero((truth != 3) & (y < 0)), 20, replace=False)
    y[threes] = -1
    y[others] = 3
    with pytest.warns(UserWarning, match=r"most labels of these classes seem to be wrong .*: 3 \(\d+%\)"):
        SIISClassifier().fit(X, y)


def test_labels_that_follow_nothing_are_called_so():
    rng = np.random.default_rng(3)
    X, y = rng.standard_normal((300, 5)), rng.integers(0, 3, 300)
    with pytest.warns(UserWarning, match="the labels do not follow the neighbourhoods.*Use features"):
        model = SIISClassifier().fit(X, y)
    assert model.graph_score_ < 0.1


def test_good_labels_bring_no_warning():
    X, y, _ = digits(15, 0.2)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        SIISClassifier().fit(X, y)
