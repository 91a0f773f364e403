"""Ridge regression: its leave-one-out answers are those of a fit without the label."""

import numpy as np
import pytest
import scipy.sparse as sp
from sklearn.linear_model import Ridge
from sklearn.preprocessing import normalize

import siis.model.linear as module
from siis.labels import VertexLabels
from siis.model.linear import RIDGES, linear_scores


def labelled(n_labels, d, seed=0, n=80):
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((n, d)) * 10.0 ** rng.uniform(-2, 2, d) + rng.standard_normal(d)
    rows = rng.permutation(n)[:n_labels]
    Z = (X - X.mean(axis=0)) / X.std(axis=0)
    codes = np.argmax(Z[rows, :3] + rng.standard_normal((n_labels, 3)), axis=1)
    return X, Z, VertexLabels(rows, np.eye(3)[codes], 10.0 ** rng.uniform(-1, 1, n_labels))


def refitted(Z, given, ridge, without=None):
    """Scikit-learn's ridge regression of all labels but one; the weights are in units of all labels' mean."""
    kept = np.arange(given.rows.size) != without
    weights = given.weights / given.weights.mean()
    return Ridge(alpha=ridge, solver="cholesky").fit(Z[given.rows[kept]], given.Y[kept], sample_weight=weights[kept])


def unit_of(Z, given):
    """The mean of the squared singular values that are not 0."""
    A = Z[given.rows] - np.average(Z[given.rows], axis=0, weights=given.weights)
    squares = np.linalg.svd(A * np.sqrt(given.weights / given.weights.mean())[:, None], compute_uv=False) ** 2
    return float(squares[squares > 1e-10 * squares.max()].mean())


@pytest.mark.parametrize(("n_labels", "d"), [(20, 40), (60, 8), (40, 40)])
@pytest.mark.parametrize("seed", [0, 1])
def test_leaving_a_label_out_is_refitting_without_it(n_labels, d, seed):
    X, Z, given = labelled(n_labels, d, seed)
    scores, held_out, model = linear_scores(X, given)

    def without(ridge):
        return np.array([refitted(Z, given, ridge, i).predict(Z[given.rows[i : i + 1]])[0] for i in range(n_labels)])

    answers = {ridge: without(ridge) for ridge in RIDGES * unit_of(Z, given)}
    errors = {r: np.sum(given.weights[:, None] * (given.Y - found) ** 2) for r, found in answers.items()}
    best = min(errors, key=errors.get)
    np.testing.assert_allclose(held_out, answers[best], atol=1e-6)
    np.testing.assert_allclose(scores, refitted(Z, given, best).predict(Z), atol=1e-6)
    np.testing.assert_allclose(model(X), scores, atol=1e-10)


@pytest.mark.parametrize(("n_labels", "d"), [(20, 40), (60, 8)])
def test_sparse_rows_are_of_unit_length_and_hold_their_label_out(n_labels, d, monkeypatch):
    X, _, given = labelled(n_labels, d)
    X = sp.csr_array(np.where(np.random.default_rng(5).uniform(size=X.shape) < 0.5, X, 0.0))
    Z = normalize(X).toarray()
    monkeypatch.setattr(module, "RIDGES", np.array([0.3]))
    scores, held_out, model = linear_scores(X, given)
    assert model.center is None
    assert model.scale is None
    np.testing.assert_allclose(model(X), scores, atol=1e-12)
    np.testing.assert_allclose(model(3.0 * X), scores, atol=1e-12)
    ridge = 0.3 * unit_of(Z, given)
    np.testing.assert_allclose(scores, refitted(Z, given, ridge).predict(Z), atol=1e-8)
    for i in range(n_labels):
        expected = refitted(Z, given, ridge, i).predict(Z[given.rows[i : i + 1]])[0]
        np.testing.assert_allclose(held_out[i], expected, atol=1e-6)


def test_constant_columns_say_nothing():
    X, _, given = labelled(40, 6)
    padded = np.column_stack([X, np.full(80, 3.0), np.zeros(80), np.full(80, 1e9)])
    for few in (given, given.subset(np.arange(5))):
        plain, held_out, _ = linear_scores(X, few)
        scores, also, model = linear_scores(padded, few)
        np.testing.assert_allclose(scores, plain, atol=1e-8)
        np.testing.assert_allclose(also, held_out, atol=1e-8)
        assert np.isfinite(model(padded + 1.0)).all(), "a new example may differ there"
        np.testing.assert_array_equal(model.coefficients[6:], 0.0)


def test_where_nothing_varies_the_frequencies_speak():
    given = VertexLabels(np.arange(4), np.eye(2)[[0, 0, 0, 1]], np.ones(4))
    scores, held_out, _ = linear_scores(np.ones((6, 3)), given)
    np.testing.assert_allclose(scores, np.tile([0.75, 0.25], (6, 1)))
    np.testing.assert_allclose(held_out[0], [2 / 3, 1 / 3], atol=1e-9)
    np.testing.assert_allclose(held_out[3], [1.0, 0.0], atol=1e-9)


def test_labels_beyond_the_most_are_scored_out_of_sample(monkeypatch):
    monkeypatch.setattr(module, "MOST_IN_DUAL", 20)
    monkeypatch.setattr(module, "MOST_PRIMAL", 30)
    X, _, given = labelled(60, 40)
    scores, held_out, _ = linear_scores(X, given)
    which = np.linspace(0, 59, 20).astype(int)
    expected_scores, expected, _ = linear_scores(X, given.subset(which))
    np.testing.assert_array_equal(scores, expected_scores)
    np.testing.assert_array_equal(held_out[which], expected)
    others = np.setdiff1d(np.arange(60), which)
    np.testing.assert_array_equal(held_out[others], scores[given.rows[others]])
