"""What further labels would gain: nothing where labels suffice, much where there are few, an interval, a reason."""

import numpy as np
import pytest
from sklearn.datasets import load_digits, make_blobs

from plain import PlainSIIS
from siis import SIISClassifier
from siis.quality.learning_curve import LEAST_LABELS, label_gain

NUMBERS = ("accuracy", "accuracy_low", "accuracy_high", "after", "gain", "low", "high")


def values(told):
    return [getattr(told, name) for name in NUMBERS]


def is_ordered(told):
    return (
        told.low <= told.gain <= told.high
        and 0 <= told.accuracy_low <= told.accuracy <= told.accuracy_high <= 1
        and told.after == pytest.approx(told.accuracy + told.gain)
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
    told = digits.label_gain(100)
    assert told.reason == ""
    assert told.n_labels == 100
    assert told.gain > 0.02
    assert told.high > 0.05
    assert is_ordered(told)
    assert told.gain > digits.label_gain(10).gain > 0


def test_enough_labels_gain_nothing(blobs):
    told = blobs[0].label_gain()
    assert told.accuracy > 0.97
    assert abs(told.gain) < 0.005
    assert -0.05 < told.low < 0 < told.high < 0.05, "small, and not nothing: 120 labels do not tell so much"
    assert told.accuracy_low < 0.99
    assert is_ordered(told)


def test_the_same_again(digits):
    assert digits.label_gain(50) == digits.label_gain(50)


@pytest.mark.parametrize("n", [0, -1, 2.5, "many", True])
def test_a_bad_number_is_refused(digits, n):
    with pytest.raises(ValueError, match="n_labels must be an integer of at least 1; found"):
        digits.label_gain(n)


def test_too_few_labels_are_said_to_be(blobs):
    _, X, truth = blobs
    model = SIISClassifier(n_neighbors=10).fit(X, np.where(np.arange(240) < LEAST_LABELS - 5, truth, -1))
    told = model.label_gain(100)
    assert np.isnan(values(told)).all()
    assert f"fewer than {LEAST_LABELS} labels can be held out ({LEAST_LABELS - 5} can" in told.reason


def test_without_selection_it_is_refused(blobs):
    _, X, truth = blobs
    plain = PlainSIIS().fit(X, truth)
    with pytest.raises(ValueError, match="label_gain needs held-out scores"):
        plain.label_gain()


def test_on_a_ready_made_graph(blobs):
    model, _, truth = blobs
    y = np.full(240, -1)
    y[::2] = truth[np.argsort(model.vertex_)][::2]
    told = SIISClassifier(affinity="precomputed").fit(model.graph_.weights, y).label_gain(100)
    assert told.accuracy > 0.97
    assert abs(told.gain) < 0.005


def hit_rates(rates, h=4000, seed=0):
    """Held-out labels of which so many are met by each number of others, two draws."""
    u = np.random.default_rng(seed).random((h, 1, 2))
    return (u < np.asarray(rates)[None, :, None]).astype(float)


def test_wrong_labels_are_allowed_for():
    sizes, right = np.array([400.0, 240.0, 144.0]), np.array([0.9, 0.85, 0.8])
    verified = np.zeros(4000, dtype=bool)

    def told(noise, rates, is_verified=verified):
        met = hit_rates(rates)
        return label_gain(met, sizes, met[:, 0, 0], is_verified, (noise, noise, noise), 5, 500, 100, 0)

    clean = told(0.0, right)
    noisy = told(0.2, right * 0.8 + (1 - right) * 0.05)
    assert noisy.gain == pytest.approx(clean.gain, abs=0.006)
    assert noisy.accuracy == pytest.approx(clean.accuracy, abs=0.02)
    slope = (right[0] - right[-1]) / np.log(sizes[0] / sizes[-1])
    assert 0 < clean.gain < slope * np.log(600 / 500) + 0.002, "errors end at nothing, a line does not"
    assert clean.accuracy > 0.9, "all labels, not those that stay while others are held out"
    checked = told(np.nan, right, ~verified)
    assert checked.gain == pytest.approx(clean.gain, abs=1e-9), "a checked label is right"
    falling = told(0.0, right[::-1])
    assert falling.low <= falling.gain < 0
    assert "too many labels are wrong" in told(0.7, right * 0.3).reason
    thin = label_gain(hit_rates(right), np.array([10.0, 9.0, 9.0]), np.ones(4000), verified, (0, 0, 0), 5, 12, 100, 0)
    assert "too few labels each" in thin.reason
