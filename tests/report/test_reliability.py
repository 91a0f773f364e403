"""Held-out labels beside the answers that have not seen them, by how sure these are."""

from types import SimpleNamespace

import numpy as np
import pytest
from scipy.stats import binomtest

from siis.app.report.data import Reliability
from siis.app.report.reliability import reliability, wilson


def model(groups, rate=0.1, c=3, n_unlabelled=4):
    """Answers of some largest probability, of which so many agree; (probability, labels, agreeing) for each group."""
    rows, codes = [], []
    for p, n, met in groups:
        P = np.full((n, c), (1 - p) / (c - 1))
        P[:, 1] = p
        rows.append(P)
        codes += [1] * met + [2] * (n - met)
    P = np.vstack([*rows, np.full((n_unlabelled, c), np.nan)])
    codes = np.array(codes + [-1] * n_unlabelled)
    mixed = np.random.default_rng(0).permutation(len(codes))  # order must not matter
    return SimpleNamespace(
        noise_rate_=rate, held_out_distributions_=P[mixed], result_=SimpleNamespace(codes=codes[mixed])
    )


def test_shares_by_bin():
    found = reliability(model([(0.45, 10, 4), (0.75, 20, 13), (0.92, 30, 27), (0.98, 20, 20)]))
    assert (found.low, found.high) == ([0.0, 0.7, 0.9], [0.5, 0.8, 1.0])
    assert found.labels == [10, 20, 50]
    assert found.probability == pytest.approx([0.45, 0.75, 0.944], abs=1e-6)
    assert found.agreement == pytest.approx([0.4, 0.65, 0.94], abs=1e-6)
    right = np.array(found.probability)
    np.testing.assert_allclose(found.expected, right * 0.9 + (1 - right) * 0.1 / 2, atol=1e-6)
    assert all(
        low < share < high
        for low, share, high in zip(found.agreement_low, found.agreement, found.agreement_high, strict=True)
    )


def test_a_probability_on_an_edge_belongs_above_it():
    found = reliability(model([(0.5, 10, 5), (0.9, 10, 9), (1.0, 10, 10)]))
    assert (found.low, found.high, found.labels) == ([0.5, 0.9], [0.6, 1.0], [10, 20])


@pytest.mark.parametrize(
    ("counts", "low", "high", "labels"),
    [
        ((4, 20, 5, 30), [0.0, 0.7, 0.9], [0.7, 0.8, 1.0], [24, 5, 30]),  # joins the next
        ((20, 20, 3, 30), [0.0, 0.6, 0.7], [0.5, 0.7, 1.0], [20, 20, 33]),
        ((20, 20, 20, 4), [0.0, 0.6, 0.7], [0.5, 0.7, 1.0], [20, 20, 24]),  # nothing is above
        ((2, 2, 2, 30), [0.0, 0.9], [0.8, 1.0], [6, 30]),  # small ones add up
        ((20, 1, 1, 1), [0.0], [1.0], [23]),
        ((0, 0, 0, 30), [0.9], [1.0], [30]),  # empty ones are left out
    ],
)
def test_small_bins_join_their_neighbours(counts, low, high, labels):
    groups = [(p, n, n // 2) for p, n in zip((0.4, 0.65, 0.75, 0.95), counts, strict=True)]
    found = reliability(model(groups))
    assert (found.low, found.high, found.labels) == (low, high, labels)


def test_what_says_nothing_is_left_out():
    assert isinstance(reliability(model([(0.9, 20, 18)])), Reliability)
    assert reliability(model([(0.9, 19, 18)])) is None
    assert reliability(model([(0.9, 60, 50)], rate=np.nan)) is None
    assert reliability(SimpleNamespace()) is None  # labels were not judged
    some = model([(0.9, 30, 20)])
    some.held_out_distributions_[np.flatnonzero(some.result_.codes >= 0)[:11]] = np.nan  # labelled, never held out
    assert reliability(some) is None


@pytest.mark.parametrize(("met", "n"), [(0, 5), (3, 7), (94, 100), (20, 20)])
def test_interval(met, n):
    reference = binomtest(met, n).proportion_ci(0.95, method="wilson")
    assert wilson(met / n, n) == pytest.approx((reference.low, reference.high), abs=1e-6)
