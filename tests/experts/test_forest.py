"""The forest as arrays answers as scikit-learn's forest that it was made from."""

import warnings

import numpy as np
import pytest
import scipy.sparse as sp
from joblib import parallel_config
from joblib._parallel_backends import LokyBackend
from sklearn.ensemble import ExtraTreesClassifier, RandomForestClassifier

import siis.experts.forest as module
from siis.experts.forest import FLOOR, as_arrays, as_indexed, one_forest, single
from siis.experts.linear import moments
from siis.model.forest import joined_forests

N_TREES = 30


def labelled(c, n_labels, n=200, d=12, seed=0):
    """Examples with many zeros; labels of classes 1 to c - 1 alone, so that one is known by name only."""
    rng = np.random.default_rng(seed)
    X = np.where(rng.uniform(size=(n, d)) < 0.4, rng.standard_normal((n, d)), 0.0)
    codes = np.concatenate([np.arange(1, c), rng.integers(1, c, n_labels - c + 1)])
    return X, rng.permutation(n)[:n_labels], codes


def grown(kind, X, rows, codes, seed=7):
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", "The number of unique classes")
        return kind(N_TREES, random_state=seed).fit(X[rows], codes)


def logarithms(votes, classes, c):
    every = np.zeros((len(votes), c))
    every[:, classes] = votes
    return np.log(np.maximum(every, FLOOR / c))


@pytest.mark.parametrize("kind", [RandomForestClassifier, ExtraTreesClassifier])
@pytest.mark.parametrize("is_sparse", [False, True])
@pytest.mark.parametrize(("c", "n_labels"), [(3, 60), (40, 60)])
def test_it_answers_as_the_forest_it_was_made_from(kind, is_sparse, c, n_labels):
    X, rows, codes = labelled(c, n_labels)
    theirs = grown(kind, sp.csr_matrix(X) if is_sparse else X, rows, codes)
    if c == 40 and kind is RandomForestClassifier:
        drawn = [np.unique(codes[some]).size for some in theirs.estimators_samples_]
        assert min(drawn) < c - 1, "some trees have not seen every class"
    forest = as_arrays(theirs, c, None, None)
    new = np.random.default_rng(1).standard_normal((50, X.shape[1]))
    for examples in (X, new):
        expected = logarithms(theirs.predict_proba(examples), theirs.classes_, c)
        np.testing.assert_allclose(forest(examples), expected, atol=1e-5)
        np.testing.assert_array_equal(forest(sp.csr_array(examples)), forest(examples))
    assert forest(new)[:, 0] == pytest.approx(np.log(FLOOR / c)), "the class without a label"


def test_columns_are_centred_and_scaled_as_for_the_trees():
    X, rows, codes = labelled(3, 60)
    X = 1e6 + 1e-3 * X  # single precision cannot tell these apart as they are
    center, scale = moments(X)
    theirs = grown(RandomForestClassifier, single(X, center, scale), rows, codes)
    forest = as_arrays(theirs, 3, center, scale)
    expected = logarithms(theirs.predict_proba(((X - center) / scale).astype(np.float32)), theirs.classes_, 3)
    np.testing.assert_allclose(forest(X), expected, atol=1e-5)
    assert np.mean(forest(X)[rows].argmax(axis=1) == codes) > 0.9


def test_it_answers_part_by_part_alike(monkeypatch):
    X, rows, codes = labelled(3, 60)
    forest = as_arrays(grown(RandomForestClassifier, X, rows, codes), 3, None, None)
    whole = forest(X)
    monkeypatch.setattr(module, "BLOCK", 7 * N_TREES)
    np.testing.assert_array_equal(forest(X), whole)


def test_joined_forests_answer_with_the_mean_of_all_trees():
    X, rows, codes = labelled(3, 60)
    models = [
        grown(kind, X, rows, codes, seed)
        for kind in (RandomForestClassifier, ExtraTreesClassifier)
        for seed in (1, 2)
    ]
    forest = joined_forests([as_arrays(model, 3, None, None) for model in models])
    votes = np.mean([model.predict_proba(X) for model in models], axis=0)
    np.testing.assert_allclose(forest(X), logarithms(votes, models[0].classes_, 3), atol=1e-5)
    assert forest.roots.size == 4 * N_TREES
    inner = np.flatnonzero(forest.feature >= 0)
    assert (forest.left[inner] > inner).all()
    assert (forest.right[inner] > inner).all()


def test_sparse_indices_are_of_32_bits():
    X = sp.csr_array(np.eye(3))
    X.indices, X.indptr = X.indices.astype(np.int64), X.indptr.astype(np.int64)
    found = as_indexed(X)
    assert found.indices.dtype == found.indptr.dtype == np.int32
    np.testing.assert_array_equal(found.toarray(), np.eye(3))


def test_no_process_is_started_whatever_the_caller_has_set(monkeypatch):
    X, rows, codes = labelled(3, 60)

    def configure(*args, **more):
        raise AssertionError("processes are started")

    monkeypatch.setattr(LokyBackend, "configure", configure)
    with parallel_config("loky", n_jobs=2), one_forest():
        RandomForestClassifier(5).fit(X[rows], codes).predict_proba(X)


def test_the_filters_of_warnings_stay_as_they_were():
    before = list(warnings.filters)
    with one_forest():
        warnings.warn("The number of unique classes is large", UserWarning, stacklevel=1)  # not seen
    assert warnings.filters == before
