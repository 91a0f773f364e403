import numpy as np
import pandas as pd
import polars as pl
import pytest
from sklearn.metrics import average_precision_score, cohen_kappa_score

from digits_case import labelled_digits
from siis import SIISClassifier
from siis.graph import Graph
from siis.model.scores import softmax
from siis.quality import fit_noise, label_agreement
from siis.quality.listings import entropy, ranked_vertices

pytestmark = pytest.mark.slow


def simulated(n, c, matrix, sharpness=3.0, seed=0):
    """Scores whose softmax is the truth's distribution, and labels drawn through a noise matrix."""
    rng = np.random.default_rng(seed)
    Z = rng.standard_normal((n, c))
    P = softmax(Z, sharpness)
    truth = np.array([rng.choice(c, p=p) for p in P])
    given = np.array([rng.choice(c, p=matrix[:, t]) for t in truth])
    return Z, truth, given


def test_class_dependent_noise_shows_in_the_matrix():
    matrix = np.eye(4)
    matrix[:, 1] = [0.0, 0.5, 0.5, 0.0]  # half of the true 1 are called 2
    Z, truth, given = simulated(4000, 4, matrix)
    model = fit_noise(Z, given, np.ones(given.size))
    np.testing.assert_allclose(model.matrix, matrix, atol=0.08)
    for k in range(4):
        assert abs(model.class_rates[k] - np.mean(truth[given == k] != k)) < 0.08


def test_agreement_is_kappa():
    rng = np.random.default_rng(0)
    Z, given = rng.standard_normal((300, 4)), rng.integers(0, 4, 300)
    scored = label_agreement(Z, given, np.ones(300))
    np.testing.assert_allclose(scored.score, cohen_kappa_score(np.argmax(Z, 1), given), atol=1e-12)
    assert scored.is_weak
    exact = label_agreement(np.eye(4)[given], given, np.ones(300))
    assert exact.score == pytest.approx(1)
    assert not exact.is_weak


def test_queries_avoid_each_other():
    W = np.zeros((6, 6))
    W[0, 1] = W[1, 0] = W[1, 2] = W[2, 1] = 1.0
    W[3, 4] = W[4, 3] = 0.5
    picked, gains = ranked_vertices(Graph(W), np.array([0.9, 1.0, 0.9, 0.5, 0.4, 0.1]), 6)
    assert picked[0] == 1
    assert picked[1] == 3, "the neighbours of the first pick have nothing to add"
    assert sorted(picked) == [0, 1, 2, 3, 4, 5]
    assert gains == sorted(gains, reverse=True)
    np.testing.assert_allclose(entropy(np.array([[0.5, 0.5], [1.0, 0.0]])), [1, 0])


@pytest.fixture(scope="module")
def fitted():
    X, y, truth, _ = labelled_digits(1797, 250, 75, 3)
    return X, y, truth, SIISClassifier().fit(X, y)


def test_wrong_labels_are_found_and_mended(fitted):
    _, y, truth, model = fitted
    labelled = y >= 0
    assert np.isnan(model.label_quality_[~labelled]).all()
    quality = model.label_quality_[labelled]
    assert ((quality >= 0) & (quality <= 1)).all()
    wrong = (y != truth)[labelled]
    assert average_precision_score(wrong, 1 - quality) > 0.95
    issues = model.label_issues()
    assert issues["quality"].tolist() == sorted(issues["quality"])
    np.testing.assert_array_equal(issues["given"], y[issues["index"]])
    assert np.mean(issues["given"] != truth[issues["index"]]) > 0.9
    assert np.mean(issues["suggested"] == truth[issues["index"]]) > 0.85
    for row in issues.rows()[:20]:
        assert row["given"] not in model.transduction_[row["neighbors"]]
        assert row["index"] not in row["neighbors"]
    assert model.label_issues(threshold=1.1)["index"].size == 250
    assert len(pd.DataFrame(issues)) == len(pl.DataFrame(issues)) == issues.n_rows
    assert "suggested" in str(issues)


def test_noise_and_probabilities_mean_something(fitted):
    _, y, truth, model = fitted
    assert abs(model.noise_rate_ - 0.3) < 0.08
    assert model.noise_interval_[0] <= 0.3 <= model.noise_interval_[1]
    assert model.noise_matrix_.shape == (10, 10)
    assert model.class_noise_rates_.shape == (10,)
    assert 0.5 < model.graph_score_ < 0.8
    unlabelled = y < 0
    confidence = model.label_distributions_.max(axis=1)[unlabelled]
    assert abs(confidence.mean() - np.mean((model.transduction_ == truth)[unlabelled])) < 0.08
    assert np.mean((model.transduction_ == truth)[unlabelled]) > 0.95


def test_queries_go_where_the_errors_are(fitted):
    _, y, truth, model = fitted
    queries = model.suggest_queries(40)
    assert len(set(queries["index"])) == 40
    assert ((queries["action"] == "check") == (y[queries["index"]] >= 0)).all()
    errors = model.transduction_ != truth
    suspects = (y >= 0) & (y != truth)
    assert np.mean(errors[queries["index"]] | suspects[queries["index"]]) > 3 * np.mean(errors | suspects)
    with pytest.raises(ValueError, match="n must be an integer"):
        model.suggest_queries(0)
