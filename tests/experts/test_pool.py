"""Scores of several models added up."""

import numpy as np

from siis.experts import Pool


def test_weighted_scores_are_added_up_and_have_no_mean_over_the_classes():
    rng = np.random.default_rng(0)
    a, b = rng.standard_normal((5, 3)), rng.standard_normal((5, 3)) + 4
    found = Pool(("neighbours", "linear model"), np.array([2.0, -3.0]))([a, b])
    total = 2 * a - 3 * b
    np.testing.assert_allclose(found, total - total.mean(axis=1, keepdims=True))


def test_scores_are_left_as_they_were():
    scores = np.ones((2, 3))
    Pool(("neighbours",), np.array([2.0]))([scores])
    np.testing.assert_array_equal(scores, 1.0)


def test_single_precision_stays():
    scores = np.eye(3, dtype=np.float32)
    assert Pool(("neighbours",), np.array([2.0]))([scores]).dtype == np.float32
