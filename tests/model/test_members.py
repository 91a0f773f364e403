"""Kernels and members: columns of kernels, held-out scores, and which members are averaged."""

from dataclasses import replace

import numpy as np
import pytest
import scipy.sparse as sp
from scipy.spatial.distance import cdist
from sklearn.datasets import make_blobs
from sklearn.tree import ExtraTreeRegressor

import siis.model.forest as forest_module
from siis.graph.neighbor_graph import candidate_weights
from siis.labels import VertexLabels
from siis.labels.folds import stratified_folds
from siis.model.config import FEATURES, FOREST, GRAPH, KERNEL, SUM, MemberConfig
from siis.model.forest import SPLITS, bootstrap_counts, can_grow, forest_members
from siis.model.kernels import (
    feature_kernels,
    gaussian_columns,
    graph_columns,
    graph_kernels,
    kernel_of,
    linear_columns,
)
from siis.model.linear import moments
from siis.model.link import FLOOR, SHARES, MemberLabels, fit_link
from siis.model.members import MOST, Ensemble, Member, kernel_members, near_best, weigh_families
from siis.model.ridge import Ridge, Scale, scale_of
from siis.model.smoothing import SHIFT, smooth_labels


def as_labels(rows, codes, c, strengths=None):
    n = codes.size
    strengths = np.ones(n) if strengths is None else strengths
    return MemberLabels(
        rows, np.eye(c)[codes], strengths, np.minimum(strengths, 1.0), np.zeros(n, bool), np.ones(n, bool)
    )


def labelled(n=150, n_labels=30, seed=0, c=3):
    X, truth = make_blobs(n, 4, centers=c, cluster_std=2.0, random_state=seed)
    rng = np.random.default_rng(seed)
    rows = rng.permutation(n)[:n_labels]
    return X, truth, as_labels(rows, truth[rows], c, rng.uniform(0.5, 2.0, n_labels))


def laplacian(W):
    degrees = W.sum(axis=1)
    return (np.diag(degrees) - W.toarray()) / degrees.mean()


def test_columns_of_a_graph_are_those_of_a_dense_inverse():
    X, _, labels = labelled()
    W = candidate_weights(X, 8, "union")
    at = np.concatenate([labels.rows, labels.rows[:5]])  # two labels of one vertex
    expected = np.linalg.inv(laplacian(W) + SHIFT * np.eye(150))[:, at]
    found = graph_columns(W, at)
    constant = 1 / (150 * SHIFT)  # of the constant vector, by far the largest part
    np.testing.assert_allclose(found, expected, rtol=2e-3)
    np.testing.assert_allclose(
        found - found.mean(axis=0), expected - constant, atol=2e-3 * np.abs(expected - constant).max()
    )


def test_a_vertex_without_edges_has_columns():
    W = sp.csr_array(np.pad(np.ones((3, 3)) - np.eye(3), (0, 1)))
    found = graph_columns(W, np.array([0, 3]))
    np.testing.assert_allclose(found[3], [0, 1 / SHIFT], rtol=1e-5)
    np.testing.assert_allclose(graph_columns(sp.csr_array((2, 2)), np.array([1])), [[0], [1 / SHIFT]], rtol=1e-5)


@pytest.mark.parametrize("fidelity", [0.01, 0.1, 1.0])
def test_smoothing_with_the_shift_is_the_ridge_in_columns_of_the_graph(fidelity):
    """Up to the mean label, which smoothing leaves out: what is fitted to many examples is the same member."""
    X, _, labels = labelled()
    W = candidate_weights(X, 8, "union")
    strengths = labels.weights / labels.weights.mean()
    labels = MemberLabels(labels.rows, labels.Y, strengths, strengths, labels.verified, labels.judged)
    given = VertexLabels(labels.rows, labels.Y, strengths)
    columns = graph_columns(W, labels.rows)
    R, mean = Ridge.of(columns[labels.rows], labels, fidelity).fit(labels.Y)
    (smoothed,) = smooth_labels(W, [given], fidelity, 1e-7)
    np.testing.assert_allclose(mean, given.prior)
    np.testing.assert_allclose(smoothed, columns @ R, atol=2e-3 * np.abs(smoothed).max())


def test_gaussian_and_linear_columns():
    X, _, labels = labelled()
    D = cdist(X, X[labels.rows], "sqeuclidean")
    np.testing.assert_allclose(gaussian_columns(X, labels.rows), np.exp(-D / (2 * np.median(D))), atol=1e-6)
    Z = (X - X.mean(axis=0)) / X.std(axis=0)
    K = Z @ Z[labels.rows].T
    expected = K / np.mean(np.sum(Z[labels.rows] ** 2, axis=1))
    padded = np.column_stack([X, np.full(150, 7.0)])
    np.testing.assert_allclose(linear_columns(padded, labels.rows), expected)
    rows = sp.csr_array(np.maximum(X, 0))
    U = np.maximum(X, 0) / np.maximum(np.linalg.norm(np.maximum(X, 0), axis=1, keepdims=True), 1e-300)
    own = np.mean(np.sum(U[labels.rows] ** 2, axis=1))
    np.testing.assert_allclose(linear_columns(rows, labels.rows), U @ U[labels.rows].T / own)


def test_a_sum_weighs_kernels_over_their_mean_diagonals():
    X, _, labels = labelled()
    at = labels.rows
    (make_graph,) = graph_kernels({"a": X}, at, {"a": [(8, "mutual")]}, "median")
    makers = list(feature_kernels(("a", FEATURES), {"a": X}, X, at))
    graph, gaussian, linear = make_graph(), makers[0](), makers[1]()
    gaussian = kernel_of(gaussian.config, 5 * gaussian.terms[0][1])  # else its diagonal is 1 already
    assert graph.config == MemberConfig(GRAPH, "a", 8, "mutual")
    assert (gaussian.config, linear.config) == (MemberConfig(KERNEL, "a"), MemberConfig(KERNEL, FEATURES))
    both = graph.plus(gaussian, 3.0, at)
    assert both.config == MemberConfig(SUM, "a", 8, "mutual", 3.0, "a")
    (_, G), (_, K) = graph.terms[0], gaussian.terms[0]
    expected = G / np.mean(np.diag(G[at])) + 3 * K / np.mean(np.diag(K[at]))
    np.testing.assert_allclose(both.rows(np.arange(both.n)), expected)
    np.testing.assert_allclose(both @ np.eye(at.size), expected)
    assert graph.fidelities != both.fidelities == gaussian.fidelities


def test_a_member_scores_every_vertex_and_every_label_without_it():
    X, truth, labels = labelled()
    columns = gaussian_columns(X, labels.rows)
    kernel = kernel_of(MemberConfig(KERNEL, "a"), columns)
    (member,) = kernel_members(kernel, labels, (10.0,))
    ridge = Ridge.of(columns[labels.rows], labels, 10.0)
    R, mean = ridge.fit(labels.Y)
    F = columns @ R + mean
    np.testing.assert_allclose(member.scores, scale_of(F)(F))
    np.testing.assert_allclose(member.held_out, ridge.alone(R, mean, labels.Y, columns))
    np.testing.assert_allclose(member.link.weights, fit_link(member.held_out, labels, SHARES).weights)
    assert member.config == MemberConfig(KERNEL, "a", fidelity=10.0)
    assert np.mean(member.scores.argmax(axis=1) == truth) > 0.85
    np.testing.assert_allclose(member.fit(labels.Y), member.link.logarithms(member.scores))
    other = np.roll(labels.Y, 1, axis=1)
    assert np.mean(member.fit(other).argmax(axis=1) == (truth + 1) % 3) > 0.85


def test_the_order_of_vertices_does_not_matter():
    X, _, labels = labelled()
    order = np.random.default_rng(1).permutation(150)
    moved = replace(labels, rows=np.argsort(order)[labels.rows])
    for make in (lambda X, at: graph_columns(candidate_weights(X, 8, "union"), at), gaussian_columns, linear_columns):
        one, two = (
            kernel_members(kernel_of(MemberConfig(KERNEL), make(points, some.rows)), some, (0.1, 1.0))
            for points, some in ((X, labels), (X[order], moved))
        )
        for a, b in zip(one, two, strict=True):
            np.testing.assert_allclose(b.scores, a.scores[order], atol=1e-3)
            np.testing.assert_allclose(b.held_out, a.held_out, atol=1e-3)
            np.testing.assert_allclose(b.link.weights, a.link.weights, atol=1e-3)


@pytest.mark.parametrize("is_sparse", [False, True])
def test_trees_score_the_labels_that_they_have_not_seen(is_sparse, monkeypatch):
    monkeypatch.setattr(forest_module, "MOST_TREES", 30)
    X, _, labels = labelled(n_labels=60)
    rows = sp.csr_array(X) if is_sparse else X
    members, forests = forest_members(rows, labels, 3)
    assert [m.config for m in members] == [MemberConfig(FOREST, splits=kind) for kind in SPLITS]
    codes = labels.Y.argmax(axis=1)
    P, held_out, seen = np.zeros((150, 3)), np.zeros((60, 3)), np.zeros((60, 1))
    center, scale = moments(X)
    Z = X.astype(np.float32) if is_sparse else ((X - center) / scale).astype(np.float32)
    Z = sp.csr_matrix(Z) if is_sparse else Z
    for number, counts in enumerate(bootstrap_counts(codes, 30, 3)):
        tree = ExtraTreeRegressor(min_samples_leaf=3, max_features="sqrt", random_state=3 + number)
        tree.fit(Z[labels.rows], labels.Y, sample_weight=labels.weights * counts)
        P += tree.predict(Z) / 30
        out = np.flatnonzero(counts == 0)
        held_out[out] += tree.predict(Z[labels.rows[out]])
        seen[out] += 1
    held_out /= seen
    unit = scale_of(np.log(P + FLOOR))
    np.testing.assert_allclose(members[0].scores, unit(np.log(P + FLOOR)), atol=1e-6)
    np.testing.assert_allclose(members[0].held_out, unit(np.log(held_out + FLOOR)), atol=1e-6)
    assert forests[SPLITS[0]].roots.size == 30
    votes = np.exp(forests[SPLITS[0]](rows))
    np.testing.assert_allclose(votes, np.maximum(P, votes.min()), atol=1e-5)


def test_bootstrap_samples_keep_the_size_of_each_class():
    codes = np.repeat([2, 0, 1], [3, 30, 8])
    counts = bootstrap_counts(codes, 500, 0)
    for k in range(3):
        np.testing.assert_array_equal(counts[:, codes == k].sum(axis=1), np.count_nonzero(codes == k))
    assert np.mean(counts[:, codes == 0] == 0) == pytest.approx((1 - 1 / 30) ** 30, abs=0.01)
    names = np.array([1, 2, 0])[codes]
    np.testing.assert_array_equal(bootstrap_counts(names, 500, 0), counts)


def test_a_label_that_nobody_else_has_is_not_predicted_by_trees_that_have_seen_it():
    rng = np.random.default_rng(0)
    X, codes = rng.standard_normal((200, 3)), rng.integers(0, 2, 200)
    members, _ = forest_members(X, as_labels(np.arange(200), codes, 2), 0)
    for member in members:
        assert np.mean(member.scores.argmax(axis=1) == codes) > 0.7
        assert np.mean(member.held_out.argmax(axis=1) == codes) < 0.62


def test_a_forest_needs_thirty_labels():
    X, _, labels = labelled(n_labels=30)
    assert can_grow(X, labels)
    assert not can_grow(X, labels.subset(np.arange(29)))
    assert not can_grow(np.zeros((30, 2001)), labels)


def simulated(held, labels, family, scores=None):
    scores = held if scores is None else scores
    return Member(
        MemberConfig(family), None, None, scores, held, Scale.none(held.shape[1]), fit_link(held, labels, SHARES)
    )


@pytest.fixture
def draws():
    """Two hundred labels of four classes, and members whose scores are the class and so much noise."""
    rng = np.random.default_rng(0)
    codes = rng.integers(0, 4, 200)
    labels = as_labels(np.arange(200), codes, 4)

    def member(noise, family="graph"):
        return simulated(np.eye(4)[codes] + noise * rng.standard_normal((200, 4)), labels, family)

    return member, labels


def test_members_near_the_best_of_their_family_are_kept(draws):
    member, _ = draws
    good, also, bad = member(0.5), member(0.51), member(2.0)
    other = member(3.0, "kernel")
    kept = near_best([bad, also, other, good])
    assert {id(m) for m in kept} == {id(good), id(also), id(other)}, "each family keeps its best, however bad it is"
    assert kept[0] is max(good, also, key=lambda m: m.link.score), "the best comes first"
    assert near_best([good, bad], width=1e9) == [good, bad]
    assert len(near_best([good] * 20)) == MOST
    assert near_best([good] * 20, most=3) == [good] * 3


def test_a_useless_family_has_next_to_no_weight(draws):
    member, labels = draws
    ensemble = weigh_families([member(0.5), member(0.5), member(50.0, "kernel")], labels)
    weights = dict(zip(ensemble.families, ensemble.weights, strict=True))
    assert weights["graph"] > 0.9
    assert weights.get("kernel", 0.0) < 0.1
    assert sum(ensemble.plan.member_weights()) == pytest.approx(1)


def test_families_that_are_right_on_different_labels_share_the_weight(draws):
    member, labels = draws
    ensemble = weigh_families([member(0.7), member(0.7, "kernel")], labels)
    assert ensemble.families == ("graph", "kernel")
    assert (ensemble.weights > 0.25).all()
    H = ensemble.mean([m.link.logarithms(m.held_out) for m in ensemble.members])
    codes = labels.Y.argmax(axis=1)
    alone = max(np.mean(m.held_out.argmax(axis=1) == codes) for m in ensemble.members)
    assert np.mean(H.argmax(axis=1) == codes) > alone + 0.03


def test_a_family_of_more_members_does_not_weigh_more(draws):
    member, labels = draws
    one, other = member(0.7), member(0.7, "kernel")
    few, many = weigh_families([one, other], labels), weigh_families([one] * 9 + [other], labels)
    np.testing.assert_allclose(many.weights, few.weights, atol=1e-9)
    np.testing.assert_allclose(many.plan.member_weights()[0], few.plan.member_weights()[0] / 9)


def test_a_pool_is_the_weighted_mean_of_families_means():
    rng = np.random.default_rng(0)
    a, b, c = (rng.standard_normal((6, 3)) for _ in range(3))
    members = [Member(MemberConfig(f), None, None, a, a, Scale.none(3), None) for f in ("graph", "kernel", "graph")]
    ensemble = Ensemble(tuple(members), ("graph", "kernel"), np.array([0.3, 0.7]))
    expected = 0.3 * (a + c) / 2 + 0.7 * b
    np.testing.assert_allclose(ensemble.mean([a, b, c]), expected - expected.mean(axis=1, keepdims=True))
    np.testing.assert_allclose(ensemble.plan.member_weights(), [0.15, 0.7, 0.15])


def test_folds_deal_the_labels_of_each_class_evenly():
    codes = np.repeat([0, 1, 2], [20, 11, 3])
    folds = stratified_folds(codes, 5, 0)
    assert len(folds) == 5
    np.testing.assert_array_equal(np.sort(np.concatenate([held for _, held in folds])), np.arange(34))
    for kept, held in folds:
        np.testing.assert_array_equal(np.sort(np.concatenate([kept, held])), np.arange(34))
        counts = np.bincount(codes[held], minlength=3)
        assert counts[0] == 4
        assert counts[1] in (2, 3)
        assert counts[2] <= 1
    again = stratified_folds(codes, 5, 0)
    assert all(np.array_equal(a[1], b[1]) for a, b in zip(folds, again, strict=True))
    assert len(stratified_folds(np.array([0, 1]), 5, 0)) == 2
