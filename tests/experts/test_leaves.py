"""The graph of a forest's leaves: grown anew without a fold's labels, the same for new examples, kept in files."""

import numpy as np
import pytest
import scipy.sparse as sp
from sklearn.ensemble import RandomForestClassifier

import siis.experts.leaves as module
from siis import SIISClassifier, load, save
from siis.estimators.pooling import LEAF_GRAPH
from siis.experts import leaf_scores
from siis.labels import Supervision
from siis.selection.folds import deal_folds, splits


@pytest.fixture(autouse=True)
def few_trees(monkeypatch):
    monkeypatch.setattr(module, "N_TREES", 30)


def boxes(n=400, n_labels=120, seed=0):
    """A class is a matter of two thresholds among many columns of noise: trees see it, distances do not."""
    rng = np.random.default_rng(seed)
    X = rng.uniform(size=(n, 20))
    X[:, 2:] *= 3
    truth = (X[:, 0] > 0.5).astype(int) + 2 * (X[:, 1] > 0.5)
    rows = np.sort(rng.permutation(n)[:n_labels])
    given = truth[rows].copy()
    wrong = rng.permutation(n_labels)[: n_labels // 5]
    given[wrong] = (given[wrong] + 1) % 4
    return X, truth, Supervision(rows, np.eye(4)[given], np.ones(n_labels))


def asked(X, given, **more):
    parts = [held for _, held in splits(given, deal_folds(given.Y, 0))]
    return parts, leaf_scores(X, given, parts, "standardized", 0, **more)


def test_held_out_labels_are_read_where_forest_and_graph_have_not_seen_them():
    X, _, given = boxes()
    parts, (_, held_out, _) = asked(X, given)
    held = parts[2]
    others = Supervision(given.rows, given.Y.copy(), given.weights)
    others.Y[held] = np.roll(others.Y[held], 1, axis=1)
    np.testing.assert_array_equal(leaf_scores(X, others, parts, "standardized", 0)[1][held], held_out[held])
    train = given.picked(np.setdiff1d(np.arange(given.rows.size), held))
    alone = leaf_scores(X, train, [], "standardized", 0)[0]
    np.testing.assert_allclose(alone[given.rows[held]], held_out[held], atol=1e-12)


def test_the_order_of_the_examples_does_not_matter():
    X, _, given = boxes()
    X = np.round(2 * X) / 2  # many examples fall into the same leaves
    order = np.random.default_rng(3).permutation(len(X))
    _, (scores, held_out, _) = asked(X, given)
    moved = given.moved(np.argsort(order))
    _, (again, held_again, _) = asked(X[order], moved)
    np.testing.assert_allclose(again, scores[order], atol=1e-5)
    np.testing.assert_allclose(held_again, held_out, atol=1e-5)


@pytest.mark.parametrize("is_sparse", [False, True])
def test_an_example_is_the_sum_of_its_leaves_points(is_sparse):
    X, truth, given = boxes()
    given = Supervision(given.rows, np.eye(4)[truth[given.rows]], given.weights)
    features = sp.csr_array(X) if is_sparse else X
    _, (scores, _, model) = asked(features, given)
    near = module.neighbors_between(model.points, model.points, module.ASKED)
    np.testing.assert_allclose(model(features), scores[near.indices].mean(axis=1), atol=1e-9)
    rng = np.random.default_rng(1)
    new = rng.uniform(size=(300, 20))
    new[:, 2:] *= 3
    theirs = (new[:, 0] > 0.5).astype(int) + 2 * (new[:, 1] > 0.5)
    forest = RandomForestClassifier(30, random_state=0).fit(X[given.rows], given.codes)
    right = np.mean(np.argmax(model(sp.csr_array(new) if is_sparse else new), axis=1) == theirs)
    assert right > forest.score(new, theirs) - 0.05


def test_it_is_given_up_after_the_first_fold_where_it_is_not_worth_it():
    X, _, given = boxes()
    seen = []
    parts, (scores, held_out, model) = asked(X, given, is_worth=lambda held, found: bool(seen.append(held)))
    assert scores is None
    assert model is None
    assert len(seen) == 1
    assert not held_out[parts[1]].any()


def test_the_default_asks_it_keeps_it_and_knows_its_own_examples(tmp_path, monkeypatch):
    monkeypatch.setattr("siis.estimators.pooling._heard", lambda held_out, given, weights: [0, 3])
    monkeypatch.setattr("siis.estimators.pooling._better_alone", lambda *anything: None)
    X, truth, given = boxes(600, 300)
    y = np.full(600, -1)
    y[given.rows] = given.codes
    model = SIISClassifier().fit(X, y)
    weights = {row["expert"]: float(row["weight"]) for row in model.experts_.rows()}
    assert LEAF_GRAPH in weights
    assert weights[LEAF_GRAPH] > 0
    new = boxes(200, 4, seed=5)[0]
    save(model, tmp_path / "model.siis")
    again = load(tmp_path / "model.siis")
    np.testing.assert_array_equal(again.predict_proba(new), model.predict_proba(new))
    np.testing.assert_allclose(model.predict_proba(X), model.label_distributions_, atol=1e-9)
    warm = SIISClassifier().fit(X, y)
    y[given.rows[:3]] = truth[given.rows[:3]]
    warm.fit(X, y, warm_start=True)
    assert warm._voices.pool.names == model._voices.pool.names
