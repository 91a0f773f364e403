"""Single precision in the estimators: what stays single, what is double, and the same answers."""

import numpy as np
import pytest
from sklearn.datasets import make_blobs

from memory import peak
from siis import SIISClassifier
from siis.model.spaces import Space

X, TRUTH = make_blobs(120, 6, centers=3, cluster_std=3.0, random_state=0)
X = X.astype(np.float32)
Y = np.where(np.arange(120) % 4 == 0, TRUTH, -1)


@pytest.mark.parametrize("method", ["auto", "paper"])
@pytest.mark.parametrize("unit", [1e30, 1e-30])
def test_units_that_single_precision_cannot_square(method, unit):
    """The features are single, but not their squares."""
    scaled = (X * unit).astype(np.float32)
    single = SIISClassifier(method=method, solver="certified").fit(scaled, Y)
    double = SIISClassifier(method=method, solver="certified").fit(scaled.astype(np.float64), Y)
    np.testing.assert_array_equal(single.transduction_, double.transduction_)
    np.testing.assert_array_equal(single.predict(scaled), single.transduction_)
    assert np.mean(single.transduction_ == TRUTH) > 0.8


@pytest.mark.parametrize("method", ["auto", "paper"])
def test_what_is_single_and_what_is_double(method):
    model = SIISClassifier(method=method, solver="certified").fit(X, Y)
    assert model.basis_.vectors.dtype == np.float32
    assert model.solution_.coefficients.dtype == np.float64
    assert model.label_distributions_.dtype == np.float64
    assert model.predict_proba(X).dtype == np.float64
    if method == "paper":
        assert model.result_.placed.points.dtype == np.float32


def test_a_space_makes_no_double_copy_of_single_features():
    rng = np.random.default_rng(0)
    wide = rng.standard_normal((500, 2000)).astype(np.float32)
    center, scale = wide.mean(axis=0, dtype=np.float64), wide.std(axis=0, dtype=np.float64)
    space = Space("reduced", False, center, scale, rng.standard_normal((2000, 5)))
    points, used = peak(lambda: space(wide))
    assert points.dtype == np.float64
    assert used < 2.5 * wide.nbytes  # one array of double numbers alone is twice that, and a copy stands beside it
    expected = space(wide.astype(np.float64))
    np.testing.assert_allclose(points, expected, atol=1e-5 * np.abs(expected).max())
