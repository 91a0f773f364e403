"""Answers where labels were given."""

import numpy as np
import pytest

from digits_case import labelled_digits
from siis import SIISClassifier

pytestmark = pytest.mark.slow


@pytest.mark.parametrize("rate", [0.0, 0.2, 0.4])
def test_answers_at_labels_are_not_worse_than_the_labels(rate):
    X, y, truth, rows = labelled_digits(300, 150, int(rate * 150), 3)
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
