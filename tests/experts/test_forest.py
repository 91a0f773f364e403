"""The forest as arrays answers as the one it was made from, and judges labels by trees that have not seen them."""

import warnings

import numpy as np
import pytest
import scipy.sparse as sp
from joblib import parallel_config
from joblib._parallel_backends import LokyBackend
from sklearn.ensemble import RandomForestClassifier

import siis.experts.forest as module
from siis.experts import forest_scores
from siis.experts.forest import FLOOR
from siis.labels import Supervision


@pytest.fixture(autouse=True)
def few_trees(monkeypatch):
    monkeypatch.setattr(module, "MOST_TREES", 30)
    monkeypatch.setattr(module, "LEAST_TREES", 30)


def labelled(c, n_labels, n=200, d=12, seed=0):
    """Examples with many zeros; labels of classes 1 to c - 1 alone, so that one is known by name only."""
    rng = np.random.default_rng(seed)
    X = np.where(rng.uniform(size=(n, d)) < 0.4, rng.standard_normal((n, d)), 0.0)
    codes = np.concatenate([np.arange(1, c), rng.integers(1, c, n_labels - c + 1)])
    return X, Supervision(rng.permutation(n)[:n_labels], np.eye(c)[codes], rng.uniform(0.5, 10.0, n_labels))


def grown(X, given, leaf, seed, n_trees=30):
    """Scikit-learn's own forest with the same settings; its trees on sparse columns break ties in their own way."""
    model = RandomForestClassifier(n_trees, min_samples_leaf=leaf, random_state=seed)
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", "The number of unique classes")
        return model.fit(X[given.rows], given.codes, sample_weight=given.weights / given.weights.mean())


def logarithms(votes, classes, c):
    every = np.zeros((len(votes), c))
    every[:, classes] = votes
    return np.log(np.maximum(every, FLOOR / c))


@pytest.mark.parametrize("is_sparse", [False, True])
@pytest.mark.parametrize(("c", "n_labels", "leaf"), [(3, 60, 1), (3, 60, 5), (40, 60, 1)])
def test_it_answers_as_the_forest_it_was_made_from(is_sparse, c, n_labels, leaf):
    X, given = labelled(c, n_labels)
    scores, _, forest = forest_scores(sp.csr_array(X) if is_sparse else X, given, leaf, 7)
    theirs = grown(sp.csr_matrix(X) if is_sparse else X, given, leaf, 7)
    if c == 40:
        drawn = [np.unique(given.codes[rows]).size for rows in theirs.estimators_samples_]
        assert min(drawn) < c - 1, "some trees have not seen every class"
    np.testing.assert_allclose(scores, logarithms(theirs.predict_proba(X), theirs.classes_, c), atol=1e-12)
    np.testing.assert_allclose(forest(sp.csr_array(X) if is_sparse else X), scores, atol=1e-5)
    new = np.random.default_rng(1).standard_normal((50, X.shape[1]))
    expected = logarithms(theirs.predict_proba(new), theirs.classes_, c)
    np.testing.assert_allclose(forest(new), expected, atol=1e-5)
    np.testing.assert_array_equal(forest(sp.csr_array(new)), forest(new))


def test_it_answers_part_by_part_alike(monkeypatch):
    X, given = labelled(3, 60)
    _, _, forest = forest_scores(X, given, 1, 0)
    whole = forest(X)
    monkeypatch.setattr(module, "BLOCK", 7 * 30)
    np.testing.assert_array_equal(forest(X), whole)


@pytest.mark.parametrize("is_sparse", [False, True])
def test_a_label_is_judged_by_trees_that_have_not_drawn_it(is_sparse):
    X, given = labelled(4, 60)
    _, held_out, _ = forest_scores(sp.csr_array(X) if is_sparse else X, given, 1, 3)
    model, rows = grown(sp.csr_matrix(X) if is_sparse else X, given, 1, 3), X[given.rows]
    for i in range(60):
        voters = [
            tree
            for tree, drawn in zip(model.estimators_, model.estimators_samples_, strict=True)
            if i not in set(drawn)
        ]
        assert 0 < len(voters) < 30
        votes = np.mean([tree.predict_proba(rows[i : i + 1])[0] for tree in voters], axis=0)
        np.testing.assert_allclose(held_out[i], logarithms(votes[None], model.classes_, 4)[0], atol=1e-9)


def test_where_every_tree_has_drawn_a_label_the_frequencies_speak(monkeypatch):
    monkeypatch.setattr(module, "MOST_TREES", 1)
    monkeypatch.setattr(module, "LEAST_TREES", 1)
    X, given = labelled(3, 60)
    _, held_out, _ = forest_scores(X, given, 1, 3)
    drawn = grown(X, given, 1, 3, 1).estimators_samples_[0]
    expected = np.log(np.maximum(given.prior, FLOOR / 3))
    np.testing.assert_allclose(held_out[drawn], np.tile(expected, (drawn.size, 1)))


def test_a_label_that_nobody_else_has_is_not_vouched_for_by_itself():
    """Every example is alone with its label: held-out answers are no better than chance, the others are perfect."""
    rng = np.random.default_rng(0)
    X, codes = rng.standard_normal((100, 3)), rng.integers(0, 2, 100)
    scores, held_out, _ = forest_scores(X, Supervision(np.arange(100), np.eye(2)[codes], np.ones(100)), 1, 0)
    assert np.mean(np.argmax(scores, axis=1) == codes) > 0.98
    assert np.mean(np.argmax(held_out, axis=1) == codes) < 0.65


def test_it_grows_on_as_if_at_once_and_only_where_that_is_worth_it(monkeypatch):
    monkeypatch.setattr(module, "LEAST_TREES", 10)
    X, given = labelled(3, 60)
    seen = []

    def is_worth(held_out):
        seen.append(held_out)
        return True

    scores, held_out, forest = forest_scores(X, given, 1, 7, is_worth)
    theirs = grown(X, given, 1, 7)
    np.testing.assert_allclose(scores, logarithms(theirs.predict_proba(X), theirs.classes_, 3), atol=1e-12)
    assert forest.roots.size == 30
    assert len(seen) == 1
    assert not np.array_equal(seen[0], held_out)
    nothing, few, none = forest_scores(X, given, 1, 7, lambda held_out: False)
    assert nothing is None
    assert none is None
    np.testing.assert_array_equal(few, seen[0])


def test_no_process_is_started_whatever_the_caller_has_set(monkeypatch):
    X, given = labelled(3, 60)

    def configure(*args, **more):
        raise AssertionError("processes are started")

    monkeypatch.setattr(LokyBackend, "configure", configure)
    monkeypatch.setattr(module, "n_threads", lambda: 2)
    with parallel_config("loky", n_jobs=2):
        assert forest_scores(X, given, 1, 0)[0] is not None
