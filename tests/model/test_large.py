"""The average on many examples: its members are those of the dense path, held out in folds."""

from dataclasses import replace

import numpy as np
import pytest
from sklearn.datasets import make_blobs
from sklearn.preprocessing import normalize

import siis.model.forest as forest_module
import siis.model.large as module
from siis.graph.neighbor_graph import candidate_weights
from siis.labels import VertexLabels
from siis.labels.folds import stratified_folds
from siis.model.config import FOREST, GRAPH, KERNEL, MemberConfig, Plan
from siis.model.kernels import gaussian_columns, graph_columns, kernel_of
from siis.model.large import FOLDS, large_average
from siis.model.link import SHARES, MemberLabels, fit_link, label_posterior
from siis.model.members import kernel_members
from siis.model.ridge import Ridge, scale_of

ATOL = 2e-3  # the smoothing stops at a residual of 1e-4, and columns are of single precision
LEADING = MemberConfig(GRAPH, "a", 8, "union", fidelity=0.1)


@pytest.fixture
def tight(monkeypatch):
    monkeypatch.setattr(module, "TOL", 1e-7)


@pytest.fixture
def single_pass(monkeypatch):
    monkeypatch.setattr(module, "MOST_IN_PASSES", 0)


@pytest.fixture(scope="module")
def case():
    X, truth = make_blobs(300, 4, centers=3, cluster_std=2.5, random_state=0)
    rows = np.sort(np.random.default_rng(0).permutation(300)[:60])
    one = np.ones(60)
    labels = MemberLabels(rows, np.eye(3)[truth[rows]], one, one, np.zeros(60, bool), np.ones(60, bool))
    return X, truth, candidate_weights(X, 8, "union"), labels, VertexLabels(rows, labels.Y, one)


def plan_of(*choices):
    families = tuple(dict.fromkeys(c.family for c in choices))
    return Plan(choices, families, np.full(len(families), 1 / len(families)))


def test_the_graph_is_that_of_the_dense_path(case, tight, single_pass):
    X, truth, W, labels, given = case
    found = large_average(plan_of(LEADING), (LEADING,), W, X, X, given, labels, 3)
    (graph,) = found.ensemble.members
    columns = graph_columns(W, labels.rows)
    (dense,) = kernel_members(kernel_of(LEADING, columns), labels, (0.1,))
    np.testing.assert_allclose(graph.scores, dense.scores, atol=ATOL)
    assert graph.config == dense.config
    ridge = Ridge.of(columns[labels.rows], labels, 0.1)
    for kept, held in stratified_folds(labels.Y.argmax(axis=1), FOLDS, 3):
        np.testing.assert_allclose(
            graph.held_out[held], ridge.held_out(held, kept, labels.Y[kept], columns), atol=ATOL
        )
    np.testing.assert_allclose(graph.link.weights, fit_link(graph.held_out, labels, SHARES).weights)
    assert np.mean(found.scores.argmax(axis=1) == truth) > 0.85
    assert found.scores.std() == pytest.approx(1)
    assert np.abs(found.scores.mean(axis=1)).max() < 1e-9


def test_the_second_pass_smooths_posteriors(case, tight):
    """For a fold, those of a label in training come from the labels of neither fold."""
    X, _, W, labels, given = case
    (graph,) = large_average(plan_of(LEADING), (LEADING,), W, X, X, given, labels, 3).ensemble.members
    columns, every = graph_columns(W, labels.rows), np.arange(60)
    folds = [held for _, held in stratified_folds(labels.Y.argmax(axis=1), FOLDS, 3)]

    def fitted(kept, T):
        """Standardised scores of all vertices by targets of the kept labels."""
        K = columns[:, kept]
        F = K @ np.linalg.solve(K[labels.rows[kept]] + np.eye(kept.size) / 0.1, T[kept] - T[kept].mean(axis=0))
        return scale_of(F)(F)

    def without(*gone):
        return fitted(np.setdiff1d(every, np.concatenate(gone)), labels.Y)[labels.rows]

    held_out = np.zeros((60, 3))
    for held in folds:
        held_out[held] = without(held)[held]
    link = fit_link(held_out, labels, SHARES)
    T = label_posterior(link(held_out), labels, link.rate)
    scores = (fitted(every, labels.Y) + fitted(every, T)) / 2
    again = held_out.copy()
    for held in folds:
        P = np.zeros((60, 3))
        for inner in folds:
            if inner is not held:
                P[inner] = link(without(held, inner)[inner])
        T = label_posterior(P, labels, link.rate)
        again[held] += fitted(np.setdiff1d(every, held), T)[labels.rows[held]]
    np.testing.assert_allclose(graph.scores, scores, atol=3 * ATOL)
    np.testing.assert_allclose(graph.held_out, again / 2, atol=3 * ATOL)


def test_held_out_labels_have_no_part_in_their_scores(case, tight, monkeypatch):
    """But for the link, which is the same here."""
    X, _, W, labels, given = case
    codes, links = labels.Y.argmax(axis=1), []
    monkeypatch.setattr(module, "stratified_folds", lambda _, n, seed: stratified_folds(codes, n, seed))
    monkeypatch.setattr(module, "fit_link", lambda *rest: links.append(fit_link(*rest)) or links[-1])
    found = large_average(plan_of(LEADING), (LEADING,), W, X, X, given, labels, 3).ensemble.members[0]
    held = stratified_folds(codes, FOLDS, 3)[2][1]
    Y = labels.Y.copy()
    Y[held] = np.roll(Y[held], 1, axis=1)
    monkeypatch.setattr(module, "fit_link", lambda *rest: links.pop(0))
    moved, same = replace(labels, Y=Y), replace(given, Y=Y)
    other = large_average(plan_of(LEADING), (LEADING,), W, X, X, same, moved, 3).ensemble.members[0]
    np.testing.assert_allclose(other.held_out[held], found.held_out[held], atol=ATOL)
    assert np.abs(other.scores - found.scores).max() > 0.1


def test_the_gaussian_kernel_is_that_of_the_dense_path(case):
    X, _, W, labels, given = case
    choice = MemberConfig(KERNEL, "a", fidelity=10.0)
    found = large_average(plan_of(LEADING, choice), (LEADING,), W, X, X, given, labels, 0)
    kernel = next(m for m in found.ensemble.members if m.family == KERNEL)
    columns = gaussian_columns(X, labels.rows)
    ridge = Ridge.of(columns[labels.rows], labels, 10.0)
    R, mean = ridge.fit(labels.Y)
    F = columns @ R + mean
    F[labels.rows] = labels.Y - R / np.diagonal(ridge.inverse)[:, None]  # labelled points without their own label
    np.testing.assert_allclose(kernel.scores, scale_of(F)(F), atol=1e-6)
    np.testing.assert_allclose(kernel.held_out, kernel.scores[labels.rows], atol=1e-9)


def test_families_of_the_plan_are_fitted(case, monkeypatch):
    monkeypatch.setattr(forest_module, "MOST_TREES", 30)
    X, truth, W, labels, given = case
    tried = (
        LEADING,
        MemberConfig(KERNEL, "a", fidelity=10.0),
        MemberConfig(KERNEL, fidelity=1.0),
        MemberConfig(FOREST, splits="best splits"),
    )
    found = large_average(plan_of(*tried), (LEADING,), W, X, X, given, labels, 0)
    assert [m.config for m in found.ensemble.members] == list(tried)
    assert list(found.forests) == ["best splits"]
    np.testing.assert_allclose(found.ensemble.weights.sum(), 1)
    free = np.setdiff1d(np.arange(300), labels.rows)
    right = np.mean(found.scores[free].argmax(axis=1) == truth[free])
    assert right > 0.85
    assert abs(np.mean(found.held_out.argmax(axis=1) == truth[labels.rows]) - right) < 0.12
    assert found.estimated.mean == pytest.approx(right, abs=0.1)
    graph_alone = large_average(plan_of(*tried), (LEADING,), W, None, None, given, labels, 0)
    assert [m.family for m in graph_alone.ensemble.members] == [GRAPH]
    assert graph_alone.forests == {}


def test_halves_of_labels_that_nothing_predicts_estimate_chance(case):
    X, _, W, labels, _ = case
    Y = np.eye(3)[np.random.default_rng(1).integers(0, 3, 60)]
    labels = MemberLabels(labels.rows, Y, labels.weights, labels.counts, labels.verified, labels.judged)
    found = large_average(plan_of(LEADING), (LEADING,), W, X, X, VertexLabels(labels.rows, Y, np.ones(60)), labels, 0)
    assert found.estimated.mean < 0.55
    met = np.mean(found.held_out.argmax(axis=1) == Y.argmax(axis=1))
    assert met < 1 / 3 + 3 * np.sqrt(2 / 9 / 60)


def test_a_subspace_of_smooth_functions_changes_nothing(case, tight):
    X, _, W, labels, given = case
    degrees = np.asarray(W.sum(axis=1)).ravel()
    vectors = np.linalg.eigh(np.diag(degrees) - W.toarray())[1][:, :20]
    one, two = (
        large_average(plan_of(LEADING), (LEADING,), W, X, X, given, labels, 0, subspace=subspace)
        for subspace in (None, np.asarray(normalize(vectors, axis=0)))
    )
    np.testing.assert_allclose(two.scores, one.scores, atol=ATOL)
    np.testing.assert_allclose(two.held_out, one.held_out, atol=ATOL)
