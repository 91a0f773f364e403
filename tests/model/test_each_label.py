"""Each labelled example has a label of its own: equal examples, checked labels, and the answers where labels are."""

from functools import partial

import numpy as np
from sklearn.datasets import make_blobs

from siis import SIISClassifier
from siis.labels import VertexLabels, read_labels
from siis.model.average import average

Settled = partial(
    SIISClassifier, n_neighbors=10, metric="euclidean", n_components=20, alpha=1.0, beta=1.0, laplacian="normalized"
)


def test_equal_examples_with_contradicting_labels_are_answered_by_the_majority():
    """14 distinct rows and 400 labels: what most labels of a row say is the best that can be known."""
    rng = np.random.default_rng(0)
    kinds = rng.permutation(np.unravel_index(np.arange(16), (2, 2, 4)), axis=1).T[:14].astype(float)
    truth_of = rng.integers(0, 3, 14)
    which = np.concatenate([np.arange(14), rng.integers(0, 14, 586)])
    truth = truth_of[which]
    y = np.where(rng.uniform(size=600) < 0.35, rng.integers(0, 3, 600), truth)
    y[400:] = -1
    majority = np.array([np.bincount(y[:400][which[:400] == k], minlength=3).argmax() for k in range(14)])
    model = SIISClassifier().fit(kinds[which], y)
    assert np.mean(model.transduction_[400:] == truth[400:]) >= np.mean(majority[which[400:]] == truth[400:])
    assert np.mean(model.transduction_ == truth) >= np.mean(majority[which] == truth) - 0.02
    assert not np.isnan(model.label_quality_[:400]).any()
    assert abs(model.noise_rate_ - np.mean(y[:400] != truth[:400])) < 0.1


def test_equal_examples_with_different_labels_are_judged_apart():
    X, truth = make_blobs(120, 3, centers=2, cluster_std=0.3, random_state=0)
    y = np.where(np.arange(120) < 40, truth, -1)
    X[1], y[1] = X[0], 1 - truth[0]
    model = Settled().fit(X, y)
    assert model.label_quality_[0] > 0.5 > model.label_quality_[1]
    assert model.label_distributions_[0, truth[0]] > model.label_distributions_[1, truth[0]]


def test_verified_labels_weigh_three_in_answers_and_count_as_one_in_comparisons():
    given = np.repeat([0, 1], 10)
    labels = read_labels(given, None, np.arange(20) < 2)
    each = VertexLabels(np.arange(20), labels.Y, labels.weights, labels.counts)
    np.testing.assert_array_equal(each.weights, np.where(np.arange(20) < 2, 3.0, 1.0))
    np.testing.assert_array_equal(each.counts, 1.0)
    np.testing.assert_array_equal(each.subset(np.array([0, 5])).counts, 1.0)
    np.testing.assert_array_equal(each.relabel(np.arange(20)[::-1]).counts, 1.0)
    np.testing.assert_array_equal(VertexLabels(each.rows, each.Y, each.weights).counts, each.weights)


def test_members_are_compared_with_verified_labels_counted_once(monkeypatch):
    """In the regression a verified label weighs three, in the likelihood of held-out labels one."""
    used = []

    def recorded(members, labels, *rest, **more):
        used.append(labels)
        return average(members, labels, *rest, **more)

    monkeypatch.setattr("siis.model.choose.average", recorded)
    X, truth = make_blobs(150, 4, centers=3, cluster_std=1.0, random_state=0)
    y = np.where(np.arange(150) < 60, truth, -1)
    Settled().fit(X, y, verified=np.arange(150) < 20)
    (labels,) = used
    assert np.count_nonzero(labels.verified) == 20
    np.testing.assert_allclose(labels.counts, 1.0)
    np.testing.assert_allclose(labels.weights, np.where(labels.verified, 3.0, 1.0))
