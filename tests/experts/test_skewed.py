"""Classes of very different sizes, and labels that were drawn in one way or another."""

from functools import partial

import numpy as np
import pytest

from siis import SIISClassifier
from siis.labels import Supervision
from siis.selection.shares import (
    EVEN_LABELS,
    MOST,
    answered_shares,
    labelled_evenness,
    population_weights,
    usual_reading,
)

pytestmark = pytest.mark.slow

Settled = partial(
    SIISClassifier,
    n_neighbors=10,
    graph="union",
    metric="euclidean",
    n_components=20,
    alpha=1.0,
    beta=1.0,
    laplacian="normalized",
    tol=1e-3,
)


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
def test_a_small_class_does_not_swallow_a_large_one(drawn, monkeypatch):
    X, y, truth = skewed(drawn)
    unlabelled = y < 0
    model = Settled().fit(X, y)
    assert next(row for row in model.selection_.rows() if row["stage"] == "graph")["reading"] == "balanced"
    monkeypatch.setattr("siis.selection.search.usual_reading", lambda evidence, given, met: "standardized")
    monkeypatch.setattr("siis.selection.search.READINGS", ("standardized",))
    other = Settled().fit(X, y)
    assert other.chosen_.reading == "standardized"
    ours, theirs = (np.mean(m.transduction_[unlabelled] == truth[unlabelled]) for m in (model, other))
    assert ours >= theirs
    assert ours > 0.9


def test_labels_count_as_their_classes_are_in_the_population():
    given = Supervision(np.arange(60), np.eye(2)[np.repeat([0, 1], 30)], np.ones(60))
    evidence = np.zeros((1000, 2))
    evidence[:, 0], evidence[:, 1] = 1.0, np.where(np.arange(1000) < 900, 0.0, 5.0)
    shares = answered_shares([evidence], given)
    np.testing.assert_allclose(shares, np.array([910, 110]) / 1020)
    weights = population_weights(given, shares)
    np.testing.assert_allclose([weights[:30].sum(), weights[30:].sum()] / weights.sum(), shares)
    np.testing.assert_allclose(population_weights(given, np.array([0.5, 0.5])), 1.0)
    assert population_weights(given, np.array([1.0, 0.0])).min() == 1 / MOST


@pytest.mark.parametrize(("n_small", "reading"), [(500, "standardized"), (300, "standardized"), (50, "balanced")])
def test_the_usual_reading_is_a_matter_of_class_sizes(n_small, reading):
    given = Supervision(np.arange(20), np.eye(2)[np.repeat([0, 1], 10)], np.ones(20))
    is_small = np.arange(1000) < n_small
    evidence = np.column_stack([np.where(is_small, -1.0, 1.0), np.where(is_small, 1.0, -1.0)])
    assert usual_reading(evidence, given, 0.9) == reading
    assert usual_reading(evidence[:, ::-1], given, 0.9) == reading


def test_wrong_labels_hide_how_uneven_classes_are():
    """Four classes of 71, 20, 7 and 2 %, 40 % of the labels wrong: the evidence looks even, frequencies nearly so."""
    counts = np.array([110, 53, 36, 41])
    codes = np.repeat(np.arange(4), counts)
    given = Supervision(np.arange(240), np.eye(4)[codes], np.ones(240))
    assert labelled_evenness(given, 1.0) > EVEN_LABELS
    assert labelled_evenness(given, 0.5) < EVEN_LABELS
    even = np.eye(4)[np.arange(400) % 4]
    assert usual_reading(even, given, 1.0) == "standardized"
    assert usual_reading(even, given, 0.5) == "balanced"


@pytest.mark.parametrize("met", [0.3, 0.9])
def test_even_classes_seldom_look_uneven_by_the_draw_of_their_labels(met):
    rng, uneven = np.random.default_rng(0), 0
    for _ in range(200):
        given = Supervision(np.arange(100), np.eye(10)[rng.integers(0, 10, 100)], np.ones(100))
        uneven += labelled_evenness(given, met) < EVEN_LABELS
    assert uneven <= 10
