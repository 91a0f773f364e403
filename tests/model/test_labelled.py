"""Answers where labels were given."""

import numpy as np
import pytest
from sklearn.datasets import load_digits

from siis import SIISClassifier

pytestmark = pytest.mark.slow


@pytest.mark.parametrize("rate", [0.0, 0.2, 0.4])
def test_answers_at_labels_are_not_worse_than_the_labels(rate):
    X, truth = load_digits(return_X_y=True)
    X, truth = X[:300], truth[:300]
    rng = np.random.default_rng(3)
    rows = rng.permutation(300)[:150]
    y = np.full(300, -1)
    y[rows] = truth[rows]
    wrong = rows[: int(rate * 150)]
    y[wrong] = (y[wrong] + rng.integers(1, 10, wrong.size)) % 10
    model = SIISClassifier(
        n_neighbors=10,
        metric="euclidean",
        connectivity="mutual",
        n_components=20,
        alpha=1.0,
        beta=1.0,
        laplacian="normalized",
    ).fit(X, y)
    assert np.mean(model.transduction_[rows] == truth[rows]) >= 1 - rate - 0.02
    if rate:
        assert np.mean(model.transduction_[rows] == truth[rows]) > 1 - rate + 0.1
