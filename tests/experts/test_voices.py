"""Models of the features beside the graph: what they say of new examples, and their file."""

from dataclasses import replace

import numpy as np
import pytest
from sklearn.datasets import make_blobs

import siis
from siis import SIISClassifier
from siis.estimators.averaging import LINEAR, NEIGHBORS, TOGETHER
from siis.experts import Forest, LinearScores
from siis.saved import load_all, saved_bytes

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


def test_families_and_voices_are_named(fitted):
    _, truth, model = fitted
    families = {row["expert"]: row for row in model.experts_.rows()}
    assert set(families) <= {"graph", "kernel", "graph and kernel", "forest", "program", TOGETHER}
    assert sum(row["weight"] for name, row in families.items() if name != TOGETHER) == pytest.approx(1)
    assert families["kernel"]["accuracy"] > 0.7
    names = model._voices.pool.names
    assert names[0] == NEIGHBORS
    assert names[-1] == LINEAR
    assert [type(voice) for voice in model._voices.models] == [Forest] * (len(names) - 2) + [LinearScores]
    assert np.mean(model.transduction_[150:] == truth[150:]) > 0.75


def test_new_examples_are_answered_by_all_voices(fitted):
    X, truth, model = fitted
    new = np.random.default_rng(1).standard_normal((300, 30))
    new_truth = new[:, 0] + 0.6 * new[:, 1] > 0
    here, there = np.mean(model.transduction_[150:] == truth[150:]), np.mean(model.predict(new) == new_truth)
    assert there > here - 0.05
    voices, (weights, _) = model._voices, model._new_weights(new)
    scores = [weights @ voices.graph / weights.sum(axis=1)[:, None], *(voice(new) for voice in voices.models)]
    total = sum(weight * each for weight, each in zip(voices.pool.weights, scores, strict=True))
    total -= total.mean(axis=1, keepdims=True)
    np.testing.assert_allclose(model.predict_proba(new), model._calibration(total), atol=1e-9)
    np.testing.assert_array_equal(model.predict(X[200:]), model.transduction_[200:])


def test_weights_of_voices_reproduce_the_scores_of_the_examples(fitted):
    """No other weights of the same voices are nearer to them."""
    X, _, model = fitted
    voices, placed = model._voices, model._evidence.placed
    at = np.empty_like(X)
    at[placed.vertex] = X
    W = placed.graph.weights
    around = W @ voices.graph / np.maximum(W.sum(axis=1), 1e-300)[:, None]
    scores = [around, *(voice(at) for voice in voices.models)]
    columns = np.stack([(s - s.mean(axis=1, keepdims=True)).ravel() for s in scores], axis=1)
    best = np.linalg.lstsq(columns, voices.graph.ravel(), rcond=None)[0]
    np.testing.assert_allclose(voices.pool.weights, best, rtol=1e-3, atol=1e-3)
    error = np.std(columns @ voices.pool.weights - voices.graph.ravel()) / voices.graph.std()
    assert error < 0.6


def test_well_separated_classes_are_answered_without_an_error():
    X, truth = make_blobs(200, 3, centers=4, cluster_std=0.3, random_state=0)
    model = SIISClassifier(**SETTLED).fit(X, np.where(np.arange(200) % 5 == 0, truth, -1))
    np.testing.assert_array_equal(model.transduction_, truth)
    assert dict(zip(model.experts_["expert"], model.experts_["weight"], strict=True))["graph"] > 0


def test_few_labels_grow_no_forest():
    X, truth = make_blobs(100, 3, centers=2, cluster_std=0.3, random_state=0)
    model = SIISClassifier(**SETTLED).fit(X, np.where(np.arange(100) < 8, truth, -1))
    assert "forest" not in model.experts_["expert"].tolist()
    assert not any(isinstance(voice, Forest) for voice in model._voices.models)


def test_a_loaded_model_answers_with_the_same_voices(fitted, tmp_path):
    X, _, model = fitted
    siis.save(model, tmp_path / "m.siis")
    loaded = siis.load(tmp_path / "m.siis")
    new = np.random.default_rng(2).standard_normal((40, 30))
    assert loaded.predict_proba(new).tobytes() == model.predict_proba(new).tobytes()
    assert loaded.predict_proba(X).tobytes() == model.predict_proba(X).tobytes()
    assert str(loaded.experts_) == str(model.experts_)


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


@pytest.mark.parametrize("kind", [Forest, LinearScores])
def test_voices_that_would_not_answer_are_refused(fitted, tmp_path, monkeypatch, kind):
    _, _, model = fitted
    voices = model._voices
    place = next(k for k, voice in enumerate(voices.models) if isinstance(voice, kind))
    cases = (broken_forests if kind is Forest else broken_lines)(voices.models[place])
    for why, broken in cases.items():
        models = (*voices.models[:place], broken, *voices.models[place + 1 :])
        monkeypatch.setattr(model, "_voices", replace(voices, models=models))
        (tmp_path / "m.siis").write_bytes(saved_bytes(model))
        with pytest.raises(ValueError, match=why):
            load_all(tmp_path / "m.siis")


def test_a_pool_that_does_not_fit_its_voices_is_refused(fitted, tmp_path, monkeypatch):
    _, _, model = fitted
    voices = model._voices
    pool = voices.pool
    for why, broken in {
        "other names": replace(voices, models=voices.models[1:]),
        "weights of experts": replace(voices, pool=replace(pool, weights=changed(pool.weights, 0, np.nan))),
        "scores of the graph": replace(voices, graph=voices.graph[1:]),
    }.items():
        monkeypatch.setattr(model, "_voices", broken)
        (tmp_path / "m.siis").write_bytes(saved_bytes(model))
        with pytest.raises(ValueError, match=why):
            load_all(tmp_path / "m.siis")
