"""Closed forms of kernel ridge regression against refits by a dense solver."""

import numpy as np
import pytest

from siis.model.link import MemberLabels
from siis.model.ridge import Ridge, scale_of

N, L, C = 60, 25, 4
TOL = {"rtol": 0, "atol": 1e-8}


@pytest.fixture(params=[(0, 0.1), (1, 1.0), (2, 30.0)], ids=["smooth", "usual", "close"])
def case(request):
    """Columns of a random kernel, labels with several weights, some of them soft, and other targets of these."""
    seed, fidelity = request.param
    rng = np.random.default_rng(seed)
    B = rng.standard_normal((N, 40))
    K = B @ B.T / 40
    rows = rng.permutation(N)[:L]
    Y = np.eye(C)[rng.integers(0, C, L)]
    Y[::3] = rng.dirichlet(np.ones(C), Y[::3].shape[0])
    strengths, votes = 10 ** rng.uniform(-1, 1, L), rng.uniform(0.2, 1.5, L)
    labels = MemberLabels(rows, Y, strengths, votes, np.zeros(L, bool), np.ones(L, bool))
    columns = K[:, rows]
    return Ridge.of(columns[rows], labels, fidelity), columns, labels, fidelity, rng.dirichlet(np.ones(C), L)


def refit(columns, labels, fidelity, kept, T):
    """Scores of all vertices by a dense solve with the targets T of the kept labels.

    Returns the mean as well.
    """
    some = labels.subset(kept)
    mean = some.counts @ T / some.counts.sum()
    M = columns[np.ix_(some.rows, kept)] + np.diag(1 / (fidelity * some.weights))
    return columns[:, kept] @ np.linalg.solve(M, T - mean) + mean, mean


def test_fit_solves_the_normal_equations(case):
    ridge, columns, labels, fidelity, T = case
    R, mean = ridge.fit(T)
    scores, expected = refit(columns, labels, fidelity, np.arange(L), T)
    np.testing.assert_allclose(mean, expected, **TOL)
    np.testing.assert_allclose(columns @ R + mean, scores, **TOL)


def test_scores_of_a_label_alone_are_those_of_a_fit_without_it(case):
    """Its scale as well."""
    ridge, columns, labels, fidelity, T = case
    some = np.arange(0, N, 2)
    R, mean = ridge.fit(T)
    found = ridge.alone(R, mean, T, columns[some])
    for i in range(L):
        kept = np.delete(np.arange(L), i)
        scores, _ = refit(columns, labels, fidelity, kept, T[kept])
        np.testing.assert_allclose(found[i], scale_of(scores[some])(scores[labels.rows[i]]), **TOL)


def test_kept_labels_are_scored_without_their_own_and_the_held_ones(case):
    ridge, columns, labels, fidelity, T = case
    held = np.arange(3, L, 4)
    kept = np.setdiff1d(np.arange(L), held)
    found = ridge.without(held, kept, T)
    assert found.shape == (kept.size, C)
    for row, i in zip(found, kept, strict=True):
        others = kept[kept != i]
        scores, _ = refit(columns, labels, fidelity, others, T[others])
        np.testing.assert_allclose(row, scores[labels.rows[i]], **TOL)


def test_held_labels_are_scored_by_targets_of_the_kept_ones(case):
    ridge, columns, labels, fidelity, T = case
    held, some = np.array([0, 1, 5, 24]), np.arange(1, N, 3)
    kept = np.setdiff1d(np.arange(L), held)
    found = ridge.held_out(held, kept, T[kept], columns[some])
    scores, _ = refit(columns, labels, fidelity, kept, T[kept])
    np.testing.assert_allclose(found, scale_of(scores[some])(scores[labels.rows[held]]), **TOL)


def test_a_label_has_no_part_in_its_own_held_out_scores(case):
    ridge, columns, _, _, T = case
    other = T.copy()
    other[7] = np.roll(T[7], 1)
    one, two = (ridge.alone(*ridge.fit(targets), targets, columns)[7] for targets in (T, other))
    np.testing.assert_allclose(one, two, **TOL)


def test_targets_of_held_labels_have_no_part_in_their_scores(case):
    ridge, _, _, _, T = case
    held = np.array([2, 9])
    kept = np.setdiff1d(np.arange(L), held)
    other = T.copy()
    other[held] = np.roll(T[held], 1, axis=1)
    np.testing.assert_array_equal(ridge.without(held, kept, T), ridge.without(held, kept, other))


def test_a_kernel_that_is_not_positive_definite_is_refused(case):
    _, columns, labels, _, _ = case
    K = columns[labels.rows] - 100 * np.eye(L)
    with pytest.raises(np.linalg.LinAlgError, match="not positive definite"):
        Ridge.of(K, labels, 1.0)


def test_a_constant_column_stays_as_it_is():
    scores = np.column_stack([np.full(5, 3.0), np.arange(5.0)])
    scale = scale_of(scores)
    np.testing.assert_allclose(scale.unit, [1.0, np.sqrt(2)])
    np.testing.assert_allclose(scale(scores), np.column_stack([np.zeros(5), (np.arange(5) - 2) / np.sqrt(2)]))
