"""All given labels in order of trust, and what to ask next."""

import numpy as np
import pytest
from sklearn.datasets import load_digits

from plain import PlainSIIS
from siis import SIISClassifier
from siis.graph import Graph
from siis.quality import ranking_table
from siis.quality.listings import ranked_vertices


@pytest.fixture(scope="module")
def fitted():
    """500 digits, 100 labelled, 20 of these wrong, 15 checked; two examples are equal and have equal labels."""
    X, truth = load_digits(return_X_y=True)
    X, truth = X[:500].copy(), truth[:500].copy()
    rows = np.random.default_rng(1).choice(500, 100, replace=False)
    y = np.full(500, -1)
    y[rows] = truth[rows]
    y[rows[:20]] = (y[rows[:20]] + 3) % 10
    first, second = sorted(rows[40:42])
    X[second], y[second], truth[second] = X[first], y[first], truth[first]
    verified = np.zeros(500, dtype=bool)
    verified[rows[10:25]] = True
    return y, truth, verified, (first, second), SIISClassifier().fit(X, y, verified=verified)


def test_all_labels_are_ranked(fitted):
    y, truth, verified, (first, second), model = fitted
    ranking = model.label_ranking()
    assert list(ranking) == ["index", "given", "suggested", "quality"]
    assert sorted(ranking["index"]) == np.flatnonzero(y >= 0).tolist()
    np.testing.assert_array_equal(ranking["given"], y[ranking["index"]])
    np.testing.assert_array_equal(ranking["quality"], model.label_quality_[ranking["index"]])
    assert (np.diff(ranking["quality"]) >= 0).all()
    assert verified[ranking["index"][-15:]].all(), "verified ones last"
    np.testing.assert_array_equal(ranking["suggested"][-15:], ranking["given"][-15:])
    assert np.mean((y != truth)[ranking["index"][:8]]) > 0.7
    place = ranking["index"].tolist()
    assert np.ptp(model.label_quality_[[first, second]]) < 0.1, "equal ones are judged alike, each without its own"
    issues = model.label_issues()
    assert set(issues["index"]) <= set(place[: issues.n_rows + 5])
    by_index = dict(zip(ranking["index"], ranking["suggested"], strict=True))
    assert [by_index[i] for i in issues["index"]] == issues["suggested"].tolist()


def test_only_a_certain_label_is_verified(fitted):
    _, _, verified, _, model = fitted
    np.testing.assert_array_equal(model.label_quality_ == 1.0, verified)
    labels = np.repeat(np.arange(50), 4)  # as clear as can be: 50 heaps far from each other
    X = np.eye(50)[labels] + np.random.default_rng(0).normal(0, 1e-3, (200, 50))
    sure = np.arange(200) % 50 == 0
    clear = SIISClassifier(n_neighbors=3, metric="euclidean", connectivity="union", laplacian="normalized")
    clear.fit(X, labels, verified=sure)
    assert clear.label_quality_.min() > 1 - 1e-5
    np.testing.assert_array_equal(clear.label_quality_ == 1.0, sure)
    np.testing.assert_array_equal(clear.label_ranking()["index"][-4:], [0, 50, 100, 150])


def test_unknown_quality_comes_before_verified_labels():
    quality = np.array([1.0, np.nan, 0.2, 0.2])
    table = ranking_table(np.array([5, 9, 8, 2]), np.array(list("abcd")), np.array(list("abcd")), quality)
    assert table["index"].tolist() == [2, 8, 9, 5]
    assert table["given"].tolist() == ["d", "c", "b", "a"]


def test_ranking_needs_judged_labels(fitted):
    X, truth = load_digits(return_X_y=True)
    plain = PlainSIIS().fit(X[:100], truth[:100])
    with pytest.raises(ValueError, match=r"label_ranking needs .*method='auto'"):
        plain.label_ranking()


def test_nothing_is_asked_where_there_is_no_doubt(fitted):
    y, _, verified, _, model = fitted
    queries = model.suggest_queries(500)
    assert not verified[queries["index"]].any()
    assert ((queries["action"] == "check") == (y[queries["index"]] >= 0)).all()
    chain = np.diag(np.ones(3), 1) + np.diag(np.ones(3), -1)
    picked, gains = ranked_vertices(Graph(chain), np.array([0.0, 0.8, 0.7, 0.0]), 4)
    assert picked == [1, 2], "the second has nothing left to gain, and is asked before those without doubt"
    assert gains[1] == 0.0
