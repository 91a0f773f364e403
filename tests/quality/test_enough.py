"""What further labels would gain: nothing where labels suffice, much where there are few, an interval, a reason."""

import numpy as np
import pytest
from sklearn.datasets import load_digits, make_blobs

from siis import SIISClassifier
from siis.quality.learning_curve import LEAST_LABELS, label_gain

NUMBERS = ("accuracy", "accuracy_low", "accuracy_high", "after", "gain", "low", "high")


def values(found):
    return [getattr(found, name) for name in NUMBERS]


def is_ordered(found):
    return (
        found.low <= found.gain <= found.high
        and 0 <= found.accuracy_low <= found.accuracy <= found.accuracy_high <= 1
        and found.after == pytest.approx(found.accuracy + found.gain)
    )


@pytest.fixture(scope="module")
def digits():
    """600 digits, 60 labels, a tenth of them wrong."""
    X, truth = load_digits(return_X_y=True)
    X, truth = X[:600], truth[:600]
    y = np.where(np.arange(600) < 60, truth, -1)
    y[:60:10] = (y[:60:10] + 1) % 10
    return SIISClassifier(n_neighbors=10, metric="euclidean").fit(X, y)


@pytest.fixture(scope="module")
def blobs():
    """240 examples of four clear classes, 120 labels."""
    X, truth = make_blobs(240, centers=[[0, 0], [9, 0], [0, 9], [9, 9]], random_state=0)
    return SIISClassifier(n_neighbors=10).fit(X, np.where(np.arange(240) < 120, truth, -1)), X, truth


def test_few_labels_gain_clearly(digits):
    found = digits.label_gain(100)
    assert found.reason == ""
    assert found.n_labels == 100
    assert found.gain > 0.02
    assert found.high > 0.05
    assert is_ordered(found)
    assert found.gain > digits.label_gain(10).gain > 0


def test_enough_labels_gain_nothing(blobs):
    found = blobs[0].label_gain()
    assert found.accuracy > 0.97
    assert abs(found.gain) < 0.005
    assert -0.05 < found.low < 0 < found.high < 0.05, "small, and not nothing: 120 labels show no more"
    assert found.accuracy_low < 0.99
    assert is_ordered(found)


@pytest.mark.parametrize("n", [0, -1, 2.5, "many", True])
def test_a_bad_number_is_refused(digits, n):
    with pytest.raises(ValueError, match="n_labels must be an integer of at least 1; found"):
        digits.label_gain(n)


def test_too_few_labels_are_said_to_be(blobs):
    _, X, truth = blobs
    model = SIISClassifier(n_neighbors=10).fit(X, np.where(np.arange(240) < LEAST_LABELS - 5, truth, -1))
    found = model.label_gain(100)
    assert np.isnan(values(found)).all()
    assert f"fewer than {LEAST_LABELS} labels can be held out ({LEAST_LABELS - 5} can" in found.reason


def test_on_a_ready_made_graph(blobs):
    model, _, truth = blobs
    y = np.full(240, -1)
    y[::2] = truth[np.argsort(model.vertex_)][::2]
    found = SIISClassifier(affinity="precomputed").fit(model.graph_.weights, y).label_gain(100)
    assert found.accuracy > 0.97
    assert abs(found.gain) < 0.005


def hit_rates(rates, h=4000, seed=0):
    """Held-out labels of which so many are correct by each number of others, two draws."""
    u = np.random.default_rng(seed).random((h, 1, 2))
    return (u < np.asarray(rates)[None, :, None]).astype(float)


def test_wrong_labels_are_allowed_for():
    sizes, right = np.array([400.0, 240.0, 144.0]), np.array([0.9, 0.85, 0.8])
    verified = np.zeros(4000, dtype=bool)

    def found(noise, rates, is_verified=verified):
        correct = hit_rates(rates)
        return label_gain(correct, sizes, correct[:, 0, 0], is_verified, (noise, noise, noise), 5, 500, 100, 0)

    clean = found(0.0, right)
    noisy = found(0.2, right * 0.8 + (1 - right) * 0.05)
    assert noisy.gain == pytest.approx(clean.gain, abs=0.006)
    assert noisy.accuracy == pytest.approx(clean.accuracy, abs=0.02)
    slope = (right[0] - right[-1]) / np.log(sizes[0] / sizes[-1])
    assert 0 < clean.gain < slope * np.log(600 / 500) + 0.002, "errors end at nothing, a line does not"
    assert clean.accuracy > 0.9, "all labels, not those that stay while others are held out"
    checked = found(np.nan, right, ~verified)
    assert checked.gain == pytest.approx(clean.gain, abs=1e-9), "a checked label is right"
    falling = found(0.0, right[::-1])
    assert falling.low <= falling.gain < 0
    assert "too many labels are wrong" in found(0.7, right * 0.3).reason
    thin = label_gain(hit_rates(right), np.array([10.0, 9.0, 9.0]), np.ones(4000), verified, (0, 0, 0), 5, 12, 100, 0)
    assert "too few labels each" in thin.reason
