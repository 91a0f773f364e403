"""How many labels are listed, and that listed ones stay until they are decided."""

import numpy as np
import pytest
from sklearn.datasets import load_digits

import siis
from siis import SIISClassifier
from siis.quality.listings import other_classes, suspect_labels, worst_labels

N_LABELLED, N_WRONG = 300, 27


@pytest.fixture(scope="module")
def fitted():
    """All examples have a label; 9 % of the labels are wrong, each mistaken for a similar example's class."""
    X, truth = load_digits(return_X_y=True)
    X, truth = X[:N_LABELLED] + 4 * np.random.default_rng(0).standard_normal((N_LABELLED, 64)), truth[:N_LABELLED]
    wrong, y = np.random.default_rng(1).permutation(N_LABELLED)[:N_WRONG], truth.copy()
    for i in wrong:
        other = np.flatnonzero(truth != truth[i])
        y[i] = truth[other[np.argmin(np.linalg.norm(X[other] - X[i], axis=1))]]
    return X, y, truth, SIISClassifier().fit(X, y)


def test_as_many_are_listed_as_are_estimated_to_be_wrong(fitted):
    model = fitted[3]
    issues = model.label_issues()
    assert round(model.noise_rate_ * N_LABELLED) <= issues.n_rows <= 1.5 * model.noise_rate_ * N_LABELLED + 1
    assert issues.n_rows >= N_WRONG / 2
    assert (issues["suggested"] != issues["given"]).all()
    assert issues["quality"].max() <= np.delete(model.label_quality_, issues["index"]).min()


def test_as_many_are_listed_as_are_wanted(fitted):
    model = fitted[3]
    assert model.label_issues(n=7).n_rows == 7
    assert model.label_issues(n=7)["index"].tolist() == model.label_ranking()["index"][:7].tolist()
    assert model.label_issues(n=10_000).n_rows == N_LABELLED
    with pytest.raises(ValueError, match="n must be None or an integer of at least 1; found 0"):
        model.label_issues(n=0)
    with pytest.raises(ValueError, match="threshold and n exclude each other"):
        model.label_issues(0.5, n=3)


def test_what_was_listed_stays_listed_until_it_is_decided(fitted, tmp_path):
    X, y, truth, model = fitted
    siis.save(model, tmp_path / "m.siis")
    model = siis.load(tmp_path / "m.siis").set_params(warm_start=True)
    listed, now, verified = model.label_issues()["index"], y.copy(), np.zeros(N_LABELLED, dtype=bool)
    for rows in (listed[::2], listed[1::4]):
        now[rows], verified[rows] = truth[rows], True
        model.fit(X, now, verified=verified)
        assert not set(model.label_issues()["index"]) & set(np.flatnonzero(verified))
        assert set(listed) - set(np.flatnonzero(verified)) <= set(model.label_issues()["index"])


def test_class_shares_are_mean_probabilities_with_an_interval(fitted):
    X, _, truth, _ = fitted
    model = SIISClassifier().fit(X, np.where(np.arange(N_LABELLED) < 100, truth, -1))
    shares = model.class_shares_
    assert shares["share"].sum() == pytest.approx(1)
    true = np.bincount(truth) / truth.size
    assert np.mean((shares["low"] <= true) & (true <= shares["high"])) > 0.7
    np.testing.assert_allclose(shares["share"], model.label_distributions_.mean(axis=0), atol=1e-6)


def test_without_a_rate_labels_below_a_half_are_listed():
    quality = np.array([0.9, 0.2, 1.0, np.nan, 0.4])
    same = np.zeros(5, dtype=bool)
    np.testing.assert_array_equal(suspect_labels(quality, same, np.nan), [False, True, False, False, True])
    np.testing.assert_array_equal(suspect_labels(quality, same, 1.0), [True, True, False, False, True])
    np.testing.assert_array_equal(worst_labels(quality, 9), [True, True, False, False, True])
    P = np.array([[0.6, 0.1, 0.3], [0.2, 0.5, 0.3], [np.nan] * 3])
    np.testing.assert_array_equal(other_classes(P, np.array([0, 0, 1]), np.array([0, 1, 1])), [2, 1, 1])
