"""Models of the features beside the graph: what they say of new examples, and their file."""

from dataclasses import replace
from types import SimpleNamespace

import numpy as np
import pytest
from sklearn.datasets import make_blobs

import siis
from siis import SIISClassifier
from siis.estimators import pooling
from siis.estimators.pooling import _better_alone, _weights
from siis.experts import Forest, LinearScores, Pool, forest
from siis.labels import Supervision
from siis.saved import load_all, saved_bytes

pytestmark = pytest.mark.slow

SETTLED = {
    "n_neighbors": 10,
    "metric": "euclidean",
    "graph": "mutual",
    "n_components": 20,
    "alpha": 1.0,
    "beta": 1.0,
    "laplacian": "normalized",
}


@pytest.fixture(scope="module")
def fitted():
    """Two columns out of thirty tell the classes, so that neighbours are of any class, and models are heard."""
    rng = np.random.default_rng(0)
    X = rng.standard_normal((500, 30))
    truth = (X[:, 0] + 0.6 * X[:, 1] > 0).astype(int)
    y = np.where(np.arange(500) < 150, truth, -1)
    return X, truth, SIISClassifier(**SETTLED).fit(X, y)


def test_models_are_heard_where_they_know_more(fitted):
    _, truth, model = fitted
    table = {row["expert"]: row for row in model.experts_.rows()}
    models = ["forest, leaves of 1", "forest, leaves of 5", "graph of a forest's leaves", "linear model"]
    assert list(table) == ["graph", *models, "together"]
    assert table["linear model"]["accuracy"] >= table["graph"]["accuracy"]
    assert {type(voice) for voice in model._voices.models} >= {Forest, LinearScores}
    assert len(model._voices.models) == sum(row["weight"] > 0 for name, row in table.items() if name != "graph")
    assert table["together"]["accuracy"] >= table["linear model"]["accuracy"] - 0.02
    alone = np.mean(np.argmax(model._voices.graph, axis=1)[model.vertex_][150:] == truth[150:])
    assert np.mean(model.transduction_[150:] == truth[150:]) > alone + 0.02


def test_new_examples_are_answered_by_all_voices(fitted):
    X, truth, model = fitted
    new = np.random.default_rng(1).standard_normal((300, 30))
    new_truth = new[:, 0] + 0.6 * new[:, 1] > 0
    here, there = np.mean(model.transduction_[150:] == truth[150:]), np.mean(model.predict(new) == new_truth)
    assert there > here - 0.05
    voices, (weights, _) = model._voices, model._new_weights(new)
    said = [weights @ voices.graph / weights.sum(axis=1)[:, None], *(voice(new) for voice in voices.models)]
    total = sum(weight * scores for weight, scores in zip(voices.pool.weights, said, strict=True))
    np.testing.assert_allclose(model.predict_proba(new), model._calibration(total), atol=1e-9)
    np.testing.assert_array_equal(model.predict(X[200:]), model.transduction_[200:])


def test_a_graph_that_knows_all_is_left_alone():
    X, truth = make_blobs(200, 3, centers=4, cluster_std=0.3, random_state=0)
    model = SIISClassifier(**SETTLED).fit(X, np.where(np.arange(200) % 5 == 0, truth, -1))
    np.testing.assert_array_equal(model.transduction_, truth)
    assert model.experts_["weight"][0] > 0


@pytest.mark.parametrize(("hopeless", "names"), [(6.0, tuple(pooling.FORESTS)), (3.0, tuple(pooling.FORESTS)[:1])])
def test_a_forest_far_behind_the_graph_is_not_grown_whole(monkeypatch, hopeless, names):
    """And where it is hopelessly behind, no other is grown at all."""
    monkeypatch.setattr(pooling, "HOPELESS", hopeless)
    grown = []
    fit = forest.RandomForestClassifier.fit

    def recorded(model, *arguments, **options):
        grown.append(model.n_estimators)
        return fit(model, *arguments, **options)

    monkeypatch.setattr(forest.RandomForestClassifier, "fit", recorded)
    t, truth = np.random.default_rng(0).uniform(0, 6, 600), np.arange(600) % 2
    X = np.column_stack([t * np.cos(3 * t + np.pi * truth), t * np.sin(3 * t + np.pi * truth)])  # two spirals
    y = np.where(np.arange(600) < 120, truth, -1)
    model = SIISClassifier(**SETTLED | {"n_neighbors": 5, "n_components": 60}).fit(X, y)
    table = {row["expert"]: row for row in model.experts_.rows()}
    assert table["graph"]["accuracy"] > table["forest, leaves of 1"]["accuracy"] + 0.2, "else these data show nothing"
    assert grown == [forest.LEAST_TREES] * len(names)
    assert tuple(name for name in table if name in pooling.FORESTS) == names
    assert all(table[name]["weight"] == 0 for name in names)


def test_who_meets_more_labels_than_all_together_speaks_alone():
    """The second is sure where it is wrong: the likeliest weights leave the pool with fewer hits than the first."""
    rng = np.random.default_rng(0)
    codes = rng.integers(0, 2, 60)
    given = Supervision(np.arange(60), np.eye(2)[codes], np.ones(60))
    good = np.where(np.eye(2)[codes] > 0, 0.1, -0.1) * np.where(np.arange(60) < 48, 1, -1)[:, None]
    loud = np.where(np.eye(2)[codes] > 0, 5.0, -5.0) * np.where(np.arange(60) % 3 > 0, 1, -1)[:, None]
    pool = Pool(("graph", "loud"), np.array([0.1, 1.0]))
    assert _better_alone([0, 1], pool, [good, loud], given, np.ones(60)) == 0
    assert (
        _better_alone([0, 1], Pool(("graph", "loud"), np.array([1.0, 0.0])), [good, loud], given, np.ones(60)) is None
    )
    assert _better_alone([0], Pool(("graph",), np.ones(1)), [good], given, np.ones(60)) is None
    of_others = np.where(np.arange(60) < 48, 0.01, 1.0)  # in a population of what the good one misses, it is not good
    assert _better_alone([0, 1], pool, [good, loud], given, of_others) is None


def test_few_labels_ask_the_graph_alone():
    X, truth = make_blobs(100, 3, centers=2, cluster_std=0.3, random_state=0)
    model = SIISClassifier(**SETTLED).fit(X, np.where(np.arange(100) < 8, truth, -1))
    assert list(model.experts_["expert"]) == ["graph", "together"]
    assert model._voices.models == ()


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


def test_a_graph_that_cannot_tell_the_classes_does_not_count_them():
    """Its answers say that there is one class alone; experts are then compared by the labels as they are."""
    codes = np.repeat([0, 1], 30)
    given = Supervision(np.arange(60), np.eye(2)[codes], np.ones(60))
    shares = SimpleNamespace(shares=np.array([0.95, 0.05]))
    vague = SimpleNamespace(readings=np.tile([1.0, -1.0], (60, 1)), selection=shares)
    np.testing.assert_array_equal(_weights(vague, given), np.ones(60))
    clear = SimpleNamespace(readings=2.0 * given.Y - 1, selection=shares)
    weights = _weights(clear, given)
    np.testing.assert_allclose(weights[0] / weights[-1], 9.5 * 2)
