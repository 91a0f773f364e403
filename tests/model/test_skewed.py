"""Classes of very different sizes, and labels that were drawn in one way or another."""

import numpy as np
import pytest

from siis import SIISClassifier

pytestmark = pytest.mark.slow


def skewed(drawn, seed=0):
    """Two classes that overlap, sizes 50 : 1; labels drawn at random, or so many of each class."""
    rng = np.random.default_rng(seed)
    truth = (np.arange(612) % 51 == 50).astype(int)
    X = rng.standard_normal((612, 2)) + 3.0 * truth[:, None]
    if drawn == "at random":
        rows = rng.permutation(612)[:150]
    else:
        rows = np.concatenate([rng.permutation(np.flatnonzero(truth == k))[:8] for k in range(2)])
    y = np.full(612, -1)
    y[rows] = truth[rows]
    return X, y, truth


@pytest.mark.filterwarnings("ignore::siis.errors.UnreachedWarning")
@pytest.mark.parametrize("drawn", ["at random", "so many of each"])
def test_a_small_class_does_not_swallow_a_large_one(drawn):
    """Of 612 examples 12 are of the small class: the accuracy is above 0.9, and half of the small class is found."""
    X, y, truth = skewed(drawn)
    unlabelled = y < 0
    model = SIISClassifier().fit(X, y)
    assert np.mean(model.transduction_[unlabelled] == truth[unlabelled]) > 0.9
    assert np.mean(model.transduction_[unlabelled & (truth == 1)] == 1) > 0.5
