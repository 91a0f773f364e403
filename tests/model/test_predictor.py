"""Models of the features beside the graph: what they say of new examples, and their file."""

import copy
from dataclasses import replace

import numpy as np
import pytest
from sklearn.datasets import make_blobs

import siis
from siis import SIISClassifier
from siis.engine import NUMPY
from siis.estimators.prediction import neighbor_weights
from siis.estimators.result import set_result
from siis.model.linear import LinearScores
from siis.model.predictor import NEIGHBORS, Predictor
from siis.model.score_set import LINEAR
from siis.model.tables import TOGETHER
from siis.model.trees import Forest
from siis.saved import load_all

pytestmark = pytest.mark.slow

SETTLED = {
    "n_neighbors": 10,
    "metric": "euclidean",
    "connectivity": "mutual",
    "n_components": 20,
    "alpha": 1.0,
    "beta": 1.0,
    "laplacian": "normalized",
}


@pytest.fixture(scope="module")
def fitted():
    """Two columns out of thirty tell the classes, so that neighbours are of any class."""
    rng = np.random.default_rng(0)
    X = rng.standard_normal((500, 30))
    truth = (X[:, 0] + 0.6 * X[:, 1] > 0).astype(int)
    y = np.where(np.arange(500) < 150, truth, -1)
    return X, truth, SIISClassifier(**SETTLED).fit(X, y)


def test_families_and_models_are_named(fitted):
    _, truth, model = fitted
    families = {row["family"]: row for row in model.families_.rows()}
    assert set(families) <= {"graph", "kernel", "graph and kernel", "forest", "program", TOGETHER}
    assert sum(row["weight"] for name, row in families.items() if name != TOGETHER) == pytest.approx(1)
    assert families["kernel"]["accuracy"] > 0.7
    names = model.result_.average.predictor.names
    assert names[0] == NEIGHBORS
    assert names[-1] == LINEAR
    assert [type(m) for m in model.result_.average.predictor.models] == [Forest] * (len(names) - 2) + [LinearScores]
    assert np.mean(model.transduction_[150:] == truth[150:]) > 0.75


def test_new_examples_are_scored_by_all_models(fitted):
    X, truth, model = fitted
    new = np.random.default_rng(1).standard_normal((300, 30))
    new_truth = new[:, 0] + 0.6 * new[:, 1] > 0
    here, there = np.mean(model.transduction_[150:] == truth[150:]), np.mean(model.predict(new) == new_truth)
    assert there > here - 0.05
    predictor, (weights, _) = model.result_.average.predictor, neighbor_weights(model.result_, new, NUMPY)
    scores = [weights @ predictor.graph_scores / weights.sum(axis=1)[:, None], *(m(new) for m in predictor.models)]
    total = sum(weight * each for weight, each in zip(predictor.weights, scores, strict=True))
    total -= total.mean(axis=1, keepdims=True)
    np.testing.assert_allclose(model.predict_proba(new), model.result_.quality.noise.probabilities(total), atol=1e-9)
    np.testing.assert_array_equal(model.predict(X[200:]), model.transduction_[200:])


def test_weights_of_predictor_reproduce_the_scores_of_the_examples(fitted):
    """No other weights of the same models are nearer to them."""
    X, _, model = fitted
    predictor, placed = model.result_.average.predictor, model.result_.placed
    at = np.empty_like(X)
    at[placed.vertex] = X
    W = placed.graph.weights
    around = W @ predictor.graph_scores / np.maximum(W.sum(axis=1), 1e-300)[:, None]
    scores = [around, *(m(at) for m in predictor.models)]
    columns = np.stack([(s - s.mean(axis=1, keepdims=True)).ravel() for s in scores], axis=1)
    best = np.linalg.lstsq(columns, predictor.graph_scores.ravel(), rcond=None)[0]
    np.testing.assert_allclose(predictor.weights, best, rtol=1e-3, atol=1e-3)
    error = np.std(columns @ predictor.weights - predictor.graph_scores.ravel()) / predictor.graph_scores.std()
    assert error < 0.6


def test_well_separated_classes_are_answered_without_an_error():
    X, truth = make_blobs(200, 3, centers=4, cluster_std=0.3, random_state=0)
    model = SIISClassifier(**SETTLED).fit(X, np.where(np.arange(200) % 5 == 0, truth, -1))
    np.testing.assert_array_equal(model.transduction_, truth)
    assert dict(zip(model.families_["family"], model.families_["weight"], strict=True))["graph"] > 0


def test_few_labels_grow_no_forest():
    X, truth = make_blobs(100, 3, centers=2, cluster_std=0.3, random_state=0)
    model = SIISClassifier(**SETTLED).fit(X, np.where(np.arange(100) < 8, truth, -1))
    assert "forest" not in model.families_["family"].tolist()
    assert not any(isinstance(m, Forest) for m in model.result_.average.predictor.models)


def test_a_loaded_model_answers_with_the_same_predictor(fitted, tmp_path):
    X, _, model = fitted
    siis.save(model, tmp_path / "m.siis")
    loaded = siis.load(tmp_path / "m.siis")
    new = np.random.default_rng(2).standard_normal((40, 30))
    assert loaded.predict_proba(new).tobytes() == model.predict_proba(new).tobytes()
    assert loaded.predict_proba(X).tobytes() == model.predict_proba(X).tobytes()
    assert str(loaded.families_) == str(model.families_)


def changed(array, at, value):
    array = array.copy()
    array[at] = value
    return array


def broken_forests(forest):
    inner = np.flatnonzero(forest.feature >= 0)
    last = int(inner[-1])
    return {
        "left points back": replace(forest, left=changed(forest.left, last, last)),
        "right points back": replace(forest, right=changed(forest.right, last, 0)),
        "left points beyond": replace(forest, left=changed(forest.left, last, forest.left.size)),
        "roots points beyond": replace(forest, roots=changed(forest.roots, 0, -1)),
        "feature points beyond": replace(forest, feature=changed(forest.feature, last, 30)),
        "votes does not add up": replace(forest, votes=changed(forest.votes, 0, 0.0)),
        "votes has numbers beyond": replace(forest, votes=changed(forest.votes, 0, np.nan)),
        "threshold is of shape": replace(forest, threshold=forest.threshold[1:]),
        "no trees": replace(forest, roots=forest.roots[:0]),
    }


def broken_lines(linear):
    return {
        "scale is not positive": replace(linear, scale=changed(linear.scale, 3, 0.0)),
        "scale is of shape": replace(linear, scale=linear.scale[1:]),
        "half a scale": replace(linear, scale=None),
        "center has numbers beyond": replace(linear, center=changed(linear.center, 0, np.nan)),
        "coefficients has numbers beyond": replace(linear, coefficients=changed(linear.coefficients, 0, np.inf)),
        "mean is of shape": replace(linear, mean=linear.mean[1:]),
    }


def with_predictor(model, predictor):
    result = model.result_
    return set_result(copy.copy(model), replace(result, average=replace(result.average, predictor=predictor)))


@pytest.mark.parametrize("kind", [Forest, LinearScores])
def test_predictor_that_would_not_answer_are_refused(fitted, tmp_path, kind):
    _, _, model = fitted
    predictor = model.result_.average.predictor
    place = next(k for k, m in enumerate(predictor.models) if isinstance(m, kind))
    cases = (broken_forests if kind is Forest else broken_lines)(predictor.models[place])
    for why, broken in cases.items():
        models = (*predictor.models[:place], broken, *predictor.models[place + 1 :])
        siis.save(with_predictor(model, replace(predictor, models=models)), tmp_path / "m.siis")
        with pytest.raises(ValueError, match=why):
            load_all(tmp_path / "m.siis")


def test_a_predictor_that_does_not_fit_its_models_is_refused(fitted, tmp_path):
    _, _, model = fitted
    predictor = model.result_.average.predictor
    for why, broken in {
        "other names": replace(predictor, models=predictor.models[1:]),
        "weights of models": replace(predictor, weights=changed(predictor.weights, 0, np.nan)),
        "scores of the graph": replace(predictor, graph_scores=predictor.graph_scores[1:]),
    }.items():
        siis.save(with_predictor(model, broken), tmp_path / "m.siis")
        with pytest.raises(ValueError, match=why):
            load_all(tmp_path / "m.siis")


def test_weighted_scores_are_added_up_and_have_no_mean_over_the_classes():
    rng = np.random.default_rng(0)
    a, b = rng.standard_normal((5, 3)), rng.standard_normal((5, 3)) + 4
    predictor = Predictor((NEIGHBORS, LINEAR), np.array([2.0, -3.0]), (lambda X: b,), a)
    total = 2 * a - 3 * b
    np.testing.assert_allclose(predictor.score(b, a), total - total.mean(axis=1, keepdims=True))
    scores = np.ones((2, 3))
    assert Predictor((NEIGHBORS,), np.array([2.0]), (), a).score(b, scores) is not scores
    np.testing.assert_array_equal(scores, 1.0)


def test_single_precision_of_scores_stays():
    scores = np.eye(3, dtype=np.float32)
    assert Predictor((NEIGHBORS,), np.array([2.0]), (), scores).score(scores, scores).dtype == np.float32
