"""What must not change the answer: order of examples, names of classes, signs of eigenvectors, units of X."""

import numpy as np
import pytest
import scipy.sparse as sp
from sklearn.datasets import make_blobs

from digits_case import labelled_digits
from plain import PlainSIIS
from siis.estimators import classifier as classifier_module

SETTINGS = [{}, {"connectivity": "mutual", "laplacian": "normalized"}, {"metric": "cosine", "solver": "paper"}]


def digits(seed=0, n=400):
    return labelled_digits(n, 80, 24, seed)[:2]


@pytest.mark.parametrize("settings", SETTINGS)
def test_order_of_examples(settings, rng):
    X, y = digits()
    order = rng.permutation(y.size)
    one = PlainSIIS(**settings).fit(X, y)
    other = PlainSIIS(**settings).fit(X[order], y[order])
    np.testing.assert_array_equal(one.transduction_[order], other.transduction_)
    np.testing.assert_allclose(one.label_distributions_[order], other.label_distributions_, atol=1e-12)
    assert one.objective_ == pytest.approx(other.objective_, rel=1e-12)


@pytest.mark.parametrize("settings", SETTINGS)
def test_names_of_classes(settings):
    X, y = digits()
    names = np.array([*"qwertyuiop"], dtype=object)
    named = np.array([names[k] if k >= 0 else None for k in y], dtype=object)
    one, other = PlainSIIS(**settings).fit(X, y), PlainSIIS(**settings).fit(X, named)
    np.testing.assert_array_equal(names[one.transduction_], other.transduction_)
    columns = np.searchsorted(other.classes_, names)
    np.testing.assert_allclose(one.label_distributions_, other.label_distributions_[:, columns], atol=1e-8)


def test_swapping_two_classes():
    X, truth = make_blobs(120, centers=2, random_state=3, cluster_std=3.0)
    y = np.where(np.arange(120) % 6 == 0, truth, -1)
    one, other = PlainSIIS().fit(X, y), PlainSIIS().fit(X, np.where(y >= 0, 1 - y, -1))
    assert one.solution_.coefficients.shape[1] == 1  # eq. 4: one column
    np.testing.assert_allclose(one.label_distributions_, other.label_distributions_[:, ::-1], atol=1e-12)


@pytest.mark.parametrize("settings", SETTINGS)
def test_signs_of_eigenvectors(settings, monkeypatch):
    X, y = digits()
    one = PlainSIIS(**settings).fit(X, y)
    honest = classifier_module.smooth_basis

    def flipped(*args, **options):
        basis = honest(*args, **options)
        signs = np.where(np.arange(basis.shape[1]) % 2, -1.0, 1.0)
        return type(basis)(**{**vars(basis), "vectors": basis.vectors * signs})

    monkeypatch.setattr(classifier_module, "smooth_basis", flipped)
    other = PlainSIIS(**settings).fit(X, y)
    np.testing.assert_allclose(one.label_distributions_, other.label_distributions_, atol=1e-9)


def test_units_of_x():
    X, y = digits()
    for bandwidth in ("median", 20.0):
        scaled = bandwidth if bandwidth == "median" else 1000 * bandwidth
        one = PlainSIIS(bandwidth=bandwidth).fit(X, y)
        other = PlainSIIS(bandwidth=scaled).fit(1000 * X, y)
        np.testing.assert_array_equal(one.transduction_, other.transduction_)
        np.testing.assert_allclose(one.label_distributions_, other.label_distributions_, atol=1e-5)


def test_sparse_and_dense_agree(rng):
    X, y = digits()
    X = X + np.where(X > 0, 1e-3 * rng.random(X.shape), 0)  # no ties: sparse rows are ordered in another way
    for metric in ("euclidean", "cosine"):
        one = PlainSIIS(metric=metric).fit(X, y)
        other = PlainSIIS(metric=metric).fit(sp.csr_matrix(X), y)
        np.testing.assert_allclose(one.label_distributions_, other.label_distributions_, atol=1e-5)
        np.testing.assert_allclose(one.predict_proba(sp.csr_matrix(X)), one.label_distributions_, atol=1e-9)
        np.testing.assert_allclose(other.predict_proba(X), other.label_distributions_, atol=1e-9)


def test_ready_made_graph_agrees():
    X, y = digits()
    one = PlainSIIS().fit(X, y)
    W = one.graph_.weights[one.vertex_][:, one.vertex_]
    other = PlainSIIS(affinity="precomputed").fit(W, y)
    np.testing.assert_allclose(one.label_distributions_, other.label_distributions_, atol=1e-5)
    np.testing.assert_array_equal(other.predict(W), other.transduction_)
    rows = W[:5]
    np.testing.assert_allclose(other.predict_proba(rows).sum(1), 1)
