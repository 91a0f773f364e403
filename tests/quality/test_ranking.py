"""All given labels in order of quality, those that are listed until they are decided, and what to label next."""

import numpy as np
import pytest
from sklearn.datasets import load_digits

import siis
from siis import SIISClassifier
from siis.graph import Graph
from siis.quality import ranking_table
from siis.quality.listings import other_classes, ranked_vertices, suspect_labels, worst_labels

N_LABELLED, N_WRONG = 300, 27


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


def test_nothing_is_suggested_where_there_is_no_doubt(fitted):
    y, _, verified, _, model = fitted
    queries = model.suggest_queries(500)
    assert not verified[queries["index"]].any()
    assert ((queries["action"] == "check") == (y[queries["index"]] >= 0)).all()
    chain = np.diag(np.ones(3), 1) + np.diag(np.ones(3), -1)
    picked, gains = ranked_vertices(Graph(chain), np.array([0.0, 0.8, 0.7, 0.0]), 4)
    assert picked == [1, 2], "the second has nothing left to gain, and is suggested before those without doubt"
    assert gains[1] == 0.0


@pytest.fixture(scope="module")
def plain():
    X, truth = load_digits(return_X_y=True)
    model = SIISClassifier(n_neighbors=5).fit(X[:100], truth[:100])
    model.set_params(method="paper", n_neighbors="auto").fit(X[:100], truth[:100])
    assert not hasattr(model, "label_quality_"), "nothing of the earlier fit is left"
    return model, X


@pytest.mark.parametrize(
    "name", ["label_ranking", "label_issues", "suggest_queries", "class_overlap", "label_gain", "predict_sets"]
)
def test_without_held_out_scores_it_is_refused(plain, name):
    model, X = plain
    with pytest.raises(ValueError, match=rf"{name} needs held-out scores; .*method='auto'"):
        getattr(model, name)(*([X] if name == "predict_sets" else []))


@pytest.fixture(scope="module")
def full():
    """All examples have a label; 9 % of the labels are wrong, each mistaken for a similar example's class."""
    X, truth = load_digits(return_X_y=True)
    X, truth = X[:N_LABELLED] + 4 * np.random.default_rng(0).standard_normal((N_LABELLED, 64)), truth[:N_LABELLED]
    wrong, y = np.random.default_rng(1).permutation(N_LABELLED)[:N_WRONG], truth.copy()
    for i in wrong:
        other = np.flatnonzero(truth != truth[i])
        y[i] = truth[other[np.argmin(np.linalg.norm(X[other] - X[i], axis=1))]]
    return X, y, truth, SIISClassifier().fit(X, y)


def test_as_many_are_listed_as_are_estimated_to_be_wrong(full):
    model = full[3]
    issues = model.label_issues()
    assert round(model.noise_rate_ * N_LABELLED) <= issues.n_rows <= 1.5 * model.noise_rate_ * N_LABELLED + 1
    assert issues.n_rows >= N_WRONG / 2
    assert (issues["suggested"] != issues["given"]).all()
    assert issues["quality"].max() <= np.delete(model.label_quality_, issues["index"]).min()


def test_as_many_are_listed_as_are_wanted(full):
    model = full[3]
    assert model.label_issues(n=7).n_rows == 7
    assert model.label_issues(n=7)["index"].tolist() == model.label_ranking()["index"][:7].tolist()
    assert model.label_issues(n=10_000).n_rows == N_LABELLED
    with pytest.raises(ValueError, match="n must be None or an integer of at least 1; found 0"):
        model.label_issues(n=0)
    with pytest.raises(ValueError, match="threshold and n exclude each other"):
        model.label_issues(0.5, n=3)


def test_what_was_listed_stays_listed_until_it_is_decided(full, tmp_path):
    X, y, truth, model = full
    siis.save(model, tmp_path / "m.siis")
    model = siis.load(tmp_path / "m.siis").set_params(warm_start=True)
    listed, now, verified = model.label_issues()["index"], y.copy(), np.zeros(N_LABELLED, dtype=bool)
    for rows in (listed[::2], listed[1::4]):
        now[rows], verified[rows] = truth[rows], True
        model.fit(X, now, verified=verified)
        assert not set(model.label_issues()["index"]) & set(np.flatnonzero(verified))
        assert set(listed) - set(np.flatnonzero(verified)) <= set(model.label_issues()["index"])


def test_class_shares_are_mean_probabilities_with_an_interval(full):
    X, _, truth, _ = full
    model = SIISClassifier().fit(X, np.where(np.arange(N_LABELLED) < 100, truth, -1))
    shares = model.class_shares_
    assert shares["share"].sum() == pytest.approx(1)
    true = np.bincount(truth) / truth.size
    assert np.mean((shares["low"] <= true) & (true <= shares["high"])) > 0.7
    np.testing.assert_allclose(shares["share"], model.label_distributions_.mean(axis=0), atol=1e-6)


def test_without_a_rate_labels_below_a_half_are_listed():
    quality = np.array([0.9, 0.2, 1.0, np.nan, 0.4])
    same = np.zeros(5, dtype=bool)
    np.testing.assert_array_equal(suspect_labels(quality, same, np.nan), [False, True, False, False, True])
    np.testing.assert_array_equal(suspect_labels(quality, same, 1.0), [True, True, False, False, True])
    np.testing.assert_array_equal(worst_labels(quality, 9), [True, True, False, False, True])
    P = np.array([[0.6, 0.1, 0.3], [0.2, 0.5, 0.3], [np.nan] * 3])
    np.testing.assert_array_equal(other_classes(P, np.array([0, 0, 1]), np.array([0, 1, 1])), [2, 1, 1])
