"""The average of members: its plan, its passes, the accuracy that halves of the labels estimate."""

from dataclasses import replace

import numpy as np
import pytest
from scipy.spatial.distance import cdist
from sklearn.datasets import make_blobs

import siis.model.average as module
import siis.model.forest as forest_module
from digits_case import labelled_digits
from siis import SIISClassifier
from siis.labels.folds import stratified_folds
from siis.model.average import agreement, average
from siis.model.build import all_members, planned_members
from siis.model.choose import graphs_of, leading_graph
from siis.model.config import FOREST, GRAPH, KERNEL, SUM, MemberConfig, Plan
from siis.model.kernels import Kernel
from siis.model.link import MemberLabels, accuracy_of_agreement, fit_link, label_posterior
from siis.model.members import Ensemble, kernel_members, weigh_families
from siis.model.ridge import scale_of
from siis.model.scores import softmax
from siis.model.sizes import class_offsets, mean_probabilities

TRIED = [(5, "mutual"), (8, "union")]


@pytest.fixture(autouse=True)
def few_trees(monkeypatch):
    monkeypatch.setattr(forest_module, "MOST_TREES", 30)


def as_labels(rows, codes, c):
    one = np.ones(codes.size)
    return MemberLabels(rows, np.eye(c)[codes], one, one, np.zeros(codes.size, bool), np.ones(codes.size, bool))


def blobs(n=200, n_labels=40, seed=0, std=2.5):
    X, truth = make_blobs(n, 4, centers=3, cluster_std=std, random_state=seed)
    rows = np.sort(np.random.default_rng(seed).permutation(n)[:n_labels])
    return X, truth, as_labels(rows, truth[rows], 3)


def members_of(X, labels, seed=0):
    return all_members({"a": X, "b": X / X.std(axis=0)}, X, labels, TRIED, "median", seed)


def test_everything_is_tried():
    X, _, labels = blobs()
    members, forests = members_of(X, labels)
    families = [m.family for m in members]
    assert {f: families.count(f) for f in dict.fromkeys(families)} == {
        GRAPH: 2 * 2 * 3,  # spaces, graphs, fidelities
        KERNEL: 3 * 3,
        SUM: 4 * 3 * 3,  # graphs, weights, fidelities
        FOREST: 2,
    }
    assert len({m.config for m in members}) == len(members)
    assert list(forests) == list(forest_module.SPLITS)


def test_members_of_a_plan_are_those_of_the_same_choices():
    """In any order; of sums and kernels without graphs of their own as well."""
    X, _, labels = blobs()
    points = {"a": X, "b": X / X.std(axis=0)}
    members, forests = members_of(X, labels, 5)
    for some in (members[::-1], [m for m in members if m.family in (SUM, FOREST)][::3], members[-1:]):
        plan = Plan(tuple(m.config for m in some), ("any",), np.ones(1))
        found, trees = planned_members(plan, points, X, labels, "median", 5)
        assert [m.config for m in found] == [m.config for m in some]
        for again, once in zip(found, some, strict=True):
            np.testing.assert_allclose(again.scores, once.scores, atol=1e-9)
            np.testing.assert_allclose(again.held_out, once.held_out, atol=1e-9)
            np.testing.assert_allclose(again.link.weights, once.link.weights, atol=1e-9)
        for kind, forest in trees.items():
            np.testing.assert_array_equal(forest(X), forests[kind](X))


def test_the_average_by_its_own_plan_is_the_same():
    X, _, labels = blobs()
    members, _ = members_of(X, labels)
    mean = average(members, labels, 200, 0)
    plan = mean.ensemble.plan
    found, _ = planned_members(plan, {"a": X, "b": X / X.std(axis=0)}, X, labels, "median", 0)
    again = average(found, labels, 200, 0, plan)
    np.testing.assert_allclose(again.scores, mean.scores, atol=1e-9)
    np.testing.assert_allclose(again.held_out, mean.held_out, atol=1e-9)
    assert again.estimated == mean.estimated


def test_labels_that_nothing_predicts_are_not_predicted_while_held_out():
    """Through all passes: each later one is fitted to posteriors of labels, and these must not contain the label."""
    rng = np.random.default_rng(0)
    X, codes = rng.standard_normal((300, 3)), rng.integers(0, 2, 300)
    labels = as_labels(np.arange(0, 300, 2), codes[::2], 2)
    members, _ = members_of(X, labels)
    mean = average(members, labels, 300, 0)
    met = np.mean(mean.held_out.argmax(axis=1) == codes[::2])
    assert met < 0.5 + 3 * np.sqrt(0.25 / 150)


def by_refits(members, labels, plan, n, estimated):
    """Three passes, written with a dense solve for each refit: scores of all vertices and of held-out labels."""
    ensemble, size = weigh_families(members, labels), labels.rows.size

    def solved(m, kept, T, mean=None):
        some = labels.subset(kept)
        mean = some.counts @ T / some.counts.sum() if mean is None else mean
        K = m.kernel.rows(np.arange(m.kernel.n))[:, kept]
        M = K[some.rows] + np.diag(1 / (m.config.fidelity * some.weights))
        return K @ np.linalg.solve(M, T - mean) + mean

    def standardised(m, F):
        return m.link.logarithms(scale_of(F)(F))

    logs, held = ([m.link.logarithms(getattr(m, what)) for m in members] for what in ("scores", "held_out"))
    Z, H = ensemble.mean(logs), ensemble.mean(held)
    unit = Z.std()
    means, held_means = [Z / unit], [H / unit]
    free = np.setdiff1d(np.arange(n), labels.rows)
    link = fit_link(held_means[0], labels, rows=means[0][free], estimated=estimated)
    expected = estimated.after_passes()
    for _ in range(module.PASSES - 1):
        Q = label_posterior(link(np.mean(held_means, axis=0)), labels, link.rate)
        again = [standardised(m, solved(m, np.arange(size), Q)) for m in members]
        out = [np.zeros((size, labels.n_classes)) for _ in members]
        for kept, gone in stratified_folds(labels.Y.argmax(axis=1), module.FOLDS, 0):
            inner, first = labels.subset(kept), []
            for m in members:
                mean = inner.counts @ inner.Y / inner.counts.sum()
                F = np.zeros((kept.size, labels.n_classes))
                for place, i in enumerate(kept):
                    others = kept[kept != i]
                    F[place] = solved(m, others, labels.Y[others], mean)[labels.rows[i]]
                first.append(m.link.logarithms(m.scale(F)))
            T = label_posterior(link(ensemble.mean(first) / unit), inner, link.rate)
            for o, m in zip(out, members, strict=True):
                o[gone] = standardised(m, solved(m, kept, T))[labels.rows[gone]]
        Z, H = ensemble.mean(again), ensemble.mean(out)
        means.append(Z / Z.std())
        held_means.append(H / Z.std())
        link = fit_link(np.mean(held_means, axis=0), labels, rows=np.mean(means, axis=0)[free], estimated=expected)
    return np.mean(means, axis=0), np.mean(held_means, axis=0), link


def test_passes_are_those_of_refits():
    """In later ones the targets are posteriors; a held-out label has a part neither in them nor in the fit."""
    X, _, labels = blobs(n_labels=60)
    rng = np.random.default_rng(0)
    labels = replace(labels, weights=rng.uniform(0.5, 2, 60), verified=np.arange(60) % 9 == 0)
    assert module._equal_weight(labels) == 0
    tried = members_of(X, labels)[0]
    members = [next(m for m in tried if m.family == family) for family in (GRAPH, KERNEL)]
    plan = Plan(tuple(m.config for m in members), (GRAPH, KERNEL), np.array([0.3, 0.7]))
    found = average(members, labels, 200, 0, plan)
    ensemble = weigh_families(members, labels)
    estimated = agreement(ensemble, labels, np.setdiff1d(np.arange(200), labels.rows), 0)
    scores, held_out, link = by_refits(members, labels, plan, 200, estimated)
    np.testing.assert_allclose(found.scores, scores, atol=1e-4)
    np.testing.assert_allclose(found.held_out, held_out, atol=1e-4)
    np.testing.assert_allclose(found.link.weights, link.weights, atol=1e-4)
    assert found.estimated == estimated.after_passes()
    assert min(ensemble.weights) > 0.02, "both families count"


def test_held_out_scores_are_as_large_as_those_of_other_vertices():
    """One link serves both: the deviation of held-out scores is within a quarter of that of unlabelled vertices."""
    X, truth, labels = blobs(300, 60)
    members, _ = members_of(X, labels)
    mean = average(members, labels, 300, 0)
    free = np.setdiff1d(np.arange(300), labels.rows)
    assert 0.75 < mean.held_out.std() / mean.scores[free].std() < 1.33
    accuracy = [
        np.mean(Z.argmax(axis=1) == t)
        for Z, t in ((mean.held_out, truth[labels.rows]), (mean.scores[free], truth[free]))
    ]
    assert abs(accuracy[0] - accuracy[1]) < 0.12


def test_wrong_labels_are_outvoted():
    X, truth, labels = blobs(300, 90, std=1.5)
    rng = np.random.default_rng(1)
    wrong = rng.permutation(90)[:27]
    codes = labels.Y.argmax(axis=1)
    codes[wrong] = (codes[wrong] + rng.integers(1, 3, 27)) % 3
    labels = as_labels(labels.rows, codes, 3)
    mean = average(members_of(X, labels)[0], labels, 300, 0)
    assert np.mean(mean.scores.argmax(axis=1) == truth) > 0.95
    assert abs(mean.link.rate - 0.3) < 0.08


@pytest.mark.parametrize(("per_class", "weight"), [(2, 1.0), (3, 1.0), (5, 0.6), (8, 0.0), (20, 0.0)])
def test_few_labels_are_answered_by_the_equal_mean_of_graphs(per_class, weight):
    assert module._equal_weight(
        as_labels(np.arange(3 * per_class), np.repeat([0, 1, 2], per_class), 3)
    ) == pytest.approx(weight)
    if weight == 1.0:
        X, truth, _ = blobs()
        rows = np.concatenate([np.flatnonzero(truth == k)[:per_class] for k in range(3)])
        labels = as_labels(rows, truth[rows], 3)
        members, _ = members_of(X, labels)
        mean = average(members, labels, 200, 0)
        graphs = [m for m in members if m.family == GRAPH and not m.config.is_balanced]
        expected = np.mean([m.scores for m in graphs], axis=0)
        expected = expected - expected.mean(axis=1, keepdims=True)
        np.testing.assert_allclose(mean.scores, expected / expected.std())


@pytest.mark.parametrize("c", [2, 3, 10])
@pytest.mark.parametrize("q", [0.6, 0.8, 0.95, 1.0])
def test_the_agreement_of_two_models_estimates_their_accuracy(c, q):
    """Models that are right on a share q of their own, and else answer any other class."""
    rng = np.random.default_rng(0)
    truth = rng.integers(0, c, 20_000)
    one, two = (
        np.where(rng.uniform(size=20_000) < q, truth, (truth + rng.integers(1, c, 20_000)) % c) for _ in range(2)
    )
    assert accuracy_of_agreement(float(np.mean(one == two)), c) == pytest.approx(q, abs=0.02)


def test_no_accuracy_is_estimated_below_chance():
    assert accuracy_of_agreement(0.0, 4) >= 0.25
    assert accuracy_of_agreement(0.1, 4) == pytest.approx(0.25, abs=0.01)


def simulated_kernel(noise, n=400, n_labels=60, c=3, seed=0):
    """Classes are equal or not, and so much noise: what the labels of one half get wrong, the other half may not."""
    rng = np.random.default_rng(seed)
    truth = rng.integers(0, c, n)
    K = (truth[:, None] == truth) + noise * rng.standard_normal((n, n))
    K = (K + K.T) / 2 + 3 * noise * np.sqrt(n) * np.eye(n)
    rows = np.concatenate([np.flatnonzero(truth == k)[: n_labels // c] for k in range(c)])
    labels = as_labels(rows, truth[rows], c)
    (member,) = kernel_members(Kernel(MemberConfig(KERNEL), ((1.0, K[:, rows]),)), labels, (1.0,))
    return truth, labels, Ensemble((member,), (KERNEL,), np.ones(1))


@pytest.mark.parametrize("noise", [1.0, 2.0, 4.0])
@pytest.mark.parametrize("has_unlabelled", [True, False])
def test_halves_of_the_labels_estimate_the_accuracy_of_models_of_half_of_them(noise, has_unlabelled):
    estimated, right = [], []
    for seed in range(6):
        truth, labels, ensemble = simulated_kernel(noise, seed=seed, n_labels=60 if has_unlabelled else 120)
        free = np.setdiff1d(np.arange(400), labels.rows)
        estimated.append(agreement(ensemble, labels, free if has_unlabelled else None, seed))
        half = np.flatnonzero(np.arange(labels.rows.size) % (2 if has_unlabelled else 3) == 0)
        (m,) = ensemble.members
        some = labels.subset(half)
        K = m.kernel.rows(some.rows)[:, half]
        q = some.Y.mean(axis=0)
        F = m.kernel.rows(free)[:, half] @ np.linalg.solve(K + np.eye(half.size), some.Y - q) + q
        right.append(np.mean(m.link(scale_of(F)(F)).argmax(axis=1) == truth[free]))
    assert np.mean([one.mean for one in estimated]) == pytest.approx(np.mean(right), abs=0.05)


def test_nothing_is_estimated_of_single_labels_or_of_forests_alone():
    _, labels, ensemble = simulated_kernel(1.0)
    first = np.unique(labels.Y.argmax(axis=1), return_index=True)[1]
    assert agreement(ensemble, labels.subset(first), np.arange(5), 0) is None
    tree = replace(ensemble.members[0], kernel=None, ridge=None, config=MemberConfig(FOREST))
    assert agreement(Ensemble((tree,), (FOREST,), np.ones(1)), labels, np.arange(5), 0) is None


@pytest.mark.parametrize("sharpness", [0.5, 2.0, 6.0])
def test_offsets_give_the_stated_mean_probabilities(sharpness):
    rng = np.random.default_rng(0)
    Z = rng.standard_normal((500, 4)) * [1, 2, 0.5, 1] + [3, 0, 0, -1]
    shares = np.array([0.1, 0.2, 0.3, 0.4])
    offsets = class_offsets(Z, shares, sharpness)
    np.testing.assert_allclose(softmax(Z + offsets, sharpness).mean(axis=0), shares, atol=1e-3)
    np.testing.assert_allclose(mean_probabilities(Z + offsets, sharpness), shares, atol=1e-3)
    assert offsets.sum() == pytest.approx(0, abs=1e-12)
    np.testing.assert_allclose(class_offsets(Z, mean_probabilities(Z, sharpness), sharpness), 0, atol=1e-3)


def test_the_graphs_to_try_keep_what_the_user_fixes():
    assert graphs_of("auto", "auto", 100) == [(5, "mutual"), (10, "mutual"), (20, "union")]
    assert graphs_of(7, "auto", 100) == [(7, "mutual"), (7, "union")]
    assert graphs_of(7, "union", 100) == [(7, "union")]
    assert graphs_of("auto", "union", 100) == [(5, "union"), (10, "union"), (20, "union")]
    assert graphs_of("auto", "auto", 8) == [(5, "mutual"), (7, "mutual"), (7, "union")]


def test_a_plan_without_graphs_is_averaged_with_few_labels():
    X, truth, _ = blobs()
    rows = np.concatenate([np.flatnonzero(truth == k)[:5] for k in range(3)])
    labels = as_labels(rows, truth[rows], 3)
    members = [m for m in members_of(X, labels)[0] if m.family == KERNEL]
    mean = average(members, labels, 200, 0)
    assert np.mean(mean.scores.argmax(axis=1) == truth) > 0.7


def test_a_weight_of_two_scores_vertices_as_the_label_twice():
    X, _, labels = blobs()
    twice = np.concatenate([np.arange(40), np.arange(0, 40, 3)])
    copies = labels.subset(twice)
    heavy = np.bincount(twice).astype(float)
    weighted = replace(labels, weights=heavy, counts=heavy)

    def kernel_of(X, at):
        return np.exp(-0.05 * cdist(X, X[at], "sqeuclidean"))

    for fidelity in (0.1, 10.0):
        one, two = (
            kernel_members(Kernel(MemberConfig(KERNEL, "a"), ((1.0, kernel_of(X, some.rows)),)), some, (fidelity,))[0]
            for some in (weighted, copies)
        )
        np.testing.assert_allclose(two.scores, one.scores, atol=1e-8)


def test_the_leading_graph_is_that_of_the_best_member_in_the_average():
    X, _, labels = blobs()
    members, _ = members_of(X, labels)
    alone = [m for m in members if m.family == GRAPH]
    best = max(alone, key=lambda m: m.link.score)
    other = next(m for m in members if m.family == SUM and m.config.graph != best.config.graph)
    for averaged in ((other, best), (other,)):
        ensemble = Ensemble(averaged, tuple(m.family for m in averaged), np.ones(len(averaged)) / len(averaged))
        leads = leading_graph(members, ensemble.plan, 200, {})
        graph = averaged[-1].config.graph
        assert leads == max((m for m in alone if m.config.graph == graph), key=lambda m: m.link.score).config
        assert leading_graph(members, ensemble.plan, 200, {graph[0]: True}).space == graph[0], "there is no other"
    short = Ensemble((best, other), (GRAPH, SUM), np.array([0.6, 0.4])).plan.shortened(1, 3)
    assert [c.graph for c in short.members] == [best.config.graph]


def test_the_order_of_the_examples_does_not_matter():
    X, y, *_ = labelled_digits(240, 100, 20)
    order = np.random.default_rng(1).permutation(240)
    one, two = SIISClassifier().fit(X, y), SIISClassifier().fit(X[order], y[order])
    np.testing.assert_allclose(two.label_distributions_, one.label_distributions_[order], atol=1e-9)
    np.testing.assert_allclose(two.label_quality_, one.label_quality_[order], atol=1e-9)
