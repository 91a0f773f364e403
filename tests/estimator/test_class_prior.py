"""Known shares of the classes among all examples."""

import numpy as np
import pytest
from sklearn.datasets import load_digits

from plain import PlainSIIS
from siis import SIISClassifier


@pytest.fixture(scope="module")
def digits():
    """Two labels of each digit, a fifth of them wrong; five of the digits are rare."""
    X, truth = load_digits(return_X_y=True)
    rng = np.random.default_rng(3)
    kept = np.concatenate([np.flatnonzero(truth == k)[: 150 if k < 5 else 25] for k in range(10)])
    X, truth = X[kept], truth[kept]
    rows = np.concatenate([rng.choice(np.flatnonzero(truth == k), 2, replace=False) for k in range(10)])
    y = np.full(truth.size, -1)
    y[rows] = truth[rows]
    y[rows[::5]] = (y[rows[::5]] + 1) % 10
    return X, y, truth


@pytest.mark.filterwarnings("ignore::siis.errors.UnreachedWarning")
def test_answers_have_the_known_shares(digits):
    X, y, truth = digits
    shares = np.bincount(truth) / truth.size
    free, known = SIISClassifier().fit(X, y), SIISClassifier(class_prior=shares).fit(X, y)
    unlabelled = y < 0
    off = [abs(m.label_distributions_[unlabelled].mean(axis=0) - shares).max() for m in (free, known)]
    assert off[1] < 0.02 < 0.04 < off[0]
    right = [np.mean((m.transduction_ == truth)[unlabelled]) for m in (free, known)]
    assert right[1] > right[0]
    again = SIISClassifier(class_prior=dict(enumerate(shares))).fit(X, y)
    np.testing.assert_array_equal(again.label_distributions_, known.label_distributions_)


@pytest.mark.parametrize(
    ("given", "message"),
    [
        (np.ones(10), "sum 1"),
        ([0.5, 0.5], "a number for each of the 10 classes"),
        ({0: 1.0}, "10 classes of y as keys"),
        ([float("nan")] * 10, "not negative and with sum 1"),
        (["a"] * 10, "a number for each of the 10 classes"),
    ],
)
def test_other_shares_are_refused(digits, given, message):
    X, y, _ = digits
    with pytest.raises(ValueError, match=message):
        SIISClassifier(class_prior=given).fit(X, y)


def test_the_plain_method_refuses_them(digits):
    X, y, _ = digits
    with pytest.raises(ValueError, match="need method='auto'"):
        PlainSIIS(class_prior=np.full(10, 0.1)).fit(X, y)
    with pytest.raises(ValueError, match=r"members needs method='auto'.*Leave members out"):
        PlainSIIS(members=["forest"]).fit(X, y)
