"""The forest as arrays answers as scikit-learn's trees that it was made from."""

import numpy as np
import pytest
import scipy.sparse as sp
from sklearn.ensemble import ExtraTreesRegressor, RandomForestRegressor

import siis.model.trees as module
from siis.model.linear import moments
from siis.model.trees import FLOOR, as_arrays, as_indexed, single

N_TREES = 30


def labelled(c, n_labels, n=200, d=12, seed=0):
    """Examples with many zeros; labels of classes 1 to c - 1 alone, so that one is known by name only."""
    rng = np.random.default_rng(seed)
    X = np.where(rng.uniform(size=(n, d)) < 0.4, rng.standard_normal((n, d)), 0.0)
    codes = np.concatenate([np.arange(1, c), rng.integers(1, c, n_labels - c + 1)])
    return X, rng.permutation(n)[:n_labels], codes


def grown(kind, X, rows, codes, c, seed=7):
    return kind(N_TREES, random_state=seed).fit(X[rows], np.eye(c)[codes])


def logarithms(votes, c):
    return np.log(np.maximum(votes, FLOOR / c))


@pytest.mark.parametrize("kind", [RandomForestRegressor, ExtraTreesRegressor])
@pytest.mark.parametrize("is_sparse", [False, True])
@pytest.mark.parametrize(("c", "n_labels"), [(3, 60), (40, 60)])
def test_it_answers_as_the_forest_it_was_made_from(kind, is_sparse, c, n_labels):
    X, rows, codes = labelled(c, n_labels)
    theirs = grown(kind, sp.csr_matrix(X) if is_sparse else X, rows, codes, c)
    forest = as_arrays(theirs.estimators_, None, None)
    new = np.random.default_rng(1).standard_normal((50, X.shape[1]))
    for examples in (X, new):
        expected = logarithms(theirs.predict(examples), c)
        np.testing.assert_allclose(forest(examples), expected, atol=1e-5)
        np.testing.assert_array_equal(forest(sp.csr_array(examples)), forest(examples))
    assert forest(new)[:, 0] == pytest.approx(np.log(FLOOR / c)), "the class without a label"


def test_columns_are_centred_and_scaled_as_for_the_trees():
    X, rows, codes = labelled(3, 60)
    X = 1e6 + 1e-3 * X  # single precision cannot tell these apart as they are
    center, scale = moments(X)
    theirs = grown(RandomForestRegressor, single(X, center, scale), rows, codes, 3)
    forest = as_arrays(theirs.estimators_, center, scale)
    expected = logarithms(theirs.predict(((X - center) / scale).astype(np.float32)), 3)
    np.testing.assert_allclose(forest(X), expected, atol=1e-5)
    assert np.mean(forest(X)[rows].argmax(axis=1) == codes) > 0.9


def test_it_answers_part_by_part_alike(monkeypatch):
    X, rows, codes = labelled(3, 60)
    forest = as_arrays(grown(RandomForestRegressor, X, rows, codes, 3).estimators_, None, None)
    inner = np.flatnonzero(forest.feature >= 0)
    assert (forest.left[inner] > inner).all()
    assert (forest.right[inner] > inner).all()
    whole = forest(X)
    monkeypatch.setattr(module, "BLOCK", 7)
    np.testing.assert_array_equal(forest(X), whole)


def test_sparse_indices_are_of_32_bits():
    X = sp.csr_array(np.eye(3))
    X.indices, X.indptr = X.indices.astype(np.int64), X.indptr.astype(np.int64)
    found = as_indexed(X)
    assert found.indices.dtype == found.indptr.dtype == np.int32
    assert found.dtype == np.float32, "as trees want it"
    np.testing.assert_array_equal(found.toarray(), np.eye(3))
