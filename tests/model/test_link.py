"""Sharpness, share of the prior and noise rate, averaged over their posterior."""

import numpy as np
import pytest
from scipy.special import logsumexp

import siis.model.link as module
import siis.model.scores as scores_module
from siis.model.link import FLOOR, SHARES, ExpectedAccuracy, Link, MemberLabels, fit_link, label_posterior

N_ROWS = 50


def softmax(z):
    e = np.exp(z - z.max())
    return e / e.sum()


def drawn(n, c, rate, seed=0, sharpness=4.0):
    """Scores, the truth that is drawn from their softmax, and labels of which a share is wrong."""
    rng = np.random.default_rng(seed)
    Z = rng.standard_normal((n, c))
    truth = np.array([rng.choice(c, p=softmax(sharpness * z)) for z in Z])
    given = np.where(rng.uniform(size=n) < rate, (truth + rng.integers(1, c, n)) % c, truth)
    return Z, truth, given


def as_labels(codes, c, votes=None, verified=None, judged=None):
    n = codes.size
    one = np.ones(n)
    return MemberLabels(
        np.arange(n),
        np.eye(c)[codes],
        one,
        one if votes is None else votes,
        np.zeros(n, bool) if verified is None else verified,
        np.ones(n, bool) if judged is None else judged,
    )


def by_loops(held_out, labels, shares, rows, estimated, checked):
    """Posterior of (sharpness, share) and rate, and the likelihood of each label, written as plain loops."""
    n, c = held_out.shape
    top = 0.95 * (c - 1) / c
    rates = np.linspace(0.002, top, 24)
    counts = (labels.counts[:, None] * labels.Y).sum(axis=0) + 1
    log_prior = np.log(counts / counts.sum())
    log_post, like, grid = {}, {}, []
    for a in np.geomspace(0.05, 40.0, 17):
        for b in shares:
            g = len(grid)
            grid.append((a, b))
            if estimated is None:
                log_prior_of_grid, fewer = -0.5 * (np.log(a / 3.0) / 1.5) ** 2, 2.0
            else:
                sure = np.mean([softmax(a * z + b * log_prior).max() for z in rows])
                log_prior_of_grid, fewer = -0.5 * ((sure - estimated.mean) / estimated.deviation) ** 2, 0.5
            for k, r in enumerate(rates):
                total = log_prior_of_grid + fewer * np.log(1 - r / (1.02 * top))
                total += checked[0] * np.log(1 - r) + checked[1] * np.log(r)
                for i in range(n):
                    p = softmax(a * held_out[i] + b * log_prior) @ labels.Y[i]
                    like[g, k, i] = p if labels.verified[i] else (1 - r) * p + r * (1 - p) / (c - 1)
                    if labels.judged[i]:
                        total += labels.counts[i] * np.log(like[g, k, i] + 1e-12)
                log_post[g, k] = total
    norm = logsumexp(list(log_post.values()))
    post = np.array([[np.exp(log_post[g, k] - norm) for k in range(24)] for g in range(len(grid))])
    points = np.zeros(n)
    for i in range(n):
        if labels.judged[i]:
            mean = sum(post[g, k] * like[g, k, i] for g in range(len(grid)) for k in range(24))
            points[i] = labels.counts[i] * np.log(mean + 1e-12)
    return grid, rates, log_prior, post, points


@pytest.mark.parametrize("shares", [(0.0,), SHARES])
@pytest.mark.parametrize("estimated", [None, ExpectedAccuracy(0.8, 0.08)])
def test_a_link_is_that_of_plain_loops(shares, estimated):
    rng = np.random.default_rng(1)
    Z, _, given = drawn(14, 3, 0.2)
    verified, judged = np.arange(14) % 5 == 0, np.arange(14) != 3
    labels = as_labels(given, 3, rng.uniform(0.2, 1.5, 14), verified, judged)
    labels.Y[7] = [0.6, 0.3, 0.1]
    rows = rng.standard_normal((N_ROWS, 3))
    found = fit_link(Z, labels, shares, rows, estimated, (3.0, 2.0))
    grid, rates, log_prior, post, points = by_loops(Z, labels, shares, rows, estimated, (3.0, 2.0))
    np.testing.assert_allclose(found.sharpness, [a for a, _ in grid])
    np.testing.assert_allclose(found.shares, [b for _, b in grid])
    np.testing.assert_allclose(found.rates, rates)
    np.testing.assert_allclose(found.weights, post.sum(axis=1), atol=1e-10)
    np.testing.assert_allclose(found.rate_weights, post.sum(axis=0), atol=1e-10)
    np.testing.assert_allclose(found.points, points, atol=1e-10)
    assert found.score == pytest.approx(points.sum())
    expected = sum(w * softmax(a * Z[0] + b * log_prior) for (a, b), w in zip(grid, post.sum(axis=1), strict=True))
    np.testing.assert_allclose(found(Z[:1])[0], expected, atol=5e-3)  # what has next to no weight is left out
    np.testing.assert_allclose(found(Z).sum(axis=1), 1)
    np.testing.assert_allclose(found.logarithms(Z), np.log(found(Z) + FLOOR))


@pytest.mark.parametrize("rate", [0.0, 0.15, 0.4])
def test_the_noise_rate_of_simulated_scores_is_recovered(rate):
    """At the estimated accuracy of the scores, within 0.05 of the share of wrong labels in each of four draws."""
    for seed in range(4):
        Z, truth, given = drawn(800, 5, rate, seed)
        accuracy = float(np.mean(Z.argmax(axis=1) == truth))
        link = fit_link(Z, as_labels(given, 5), rows=Z, estimated=ExpectedAccuracy(accuracy, 0.08))
        share = float(np.mean(given != truth))
        assert abs(link.rate - share) < 0.05
        low, high = link.interval(0.95)
        assert low - 0.02 <= share <= high + 0.02
        assert high - low < 0.25


def test_an_estimated_accuracy_tells_blunt_scores_from_wrong_labels():
    """All scores are equally clear and a third of the labels is not predicted: labels alone cannot tell."""
    rng = np.random.default_rng(0)
    predicted = rng.integers(0, 4, 300)
    given = np.where(np.arange(300) % 3 == 0, (predicted + 1) % 4, predicted)
    Z, labels = np.eye(4)[predicted], as_labels(given, 4)
    clear, blunt = (
        fit_link(Z, labels, rows=Z, estimated=ExpectedAccuracy(accuracy, 0.08)) for accuracy in (0.97, 0.7)
    )
    assert blunt.rate < 0.15 < 0.25 < clear.rate < 0.4
    assert clear(Z).max(axis=1).mean() > 0.9 > 0.8 > blunt(Z).max(axis=1).mean()


def test_checked_labels_move_the_rate():
    Z, _, given = drawn(60, 4, 0.3)
    labels = as_labels(given, 4)
    right, wrong = (fit_link(Z, labels, checked=checked).rate for checked in ((40.0, 0.0), (0.0, 40.0)))
    assert right < 0.1 < 0.5 < wrong


def test_labels_that_are_not_judged_do_not_count():
    Z, _, given = drawn(40, 3, 0.2)
    other = np.where(np.arange(40) < 5, (given + 1) % 3, given)
    judged = np.arange(40) >= 5
    kept = as_labels(given, 3, judged=judged).subset(judged)
    one, two = (fit_link(Z, as_labels(codes, 3, judged=judged)) for codes in (given, other))
    np.testing.assert_allclose(one.weights, two.weights)
    np.testing.assert_allclose(one.rate_weights, fit_link(Z[judged], kept).rate_weights)
    assert not one.points[:5].any()


def test_a_vote_of_two_counts_as_two_labels():
    Z, _, given = drawn(40, 3, 0.2)
    votes = np.where(np.arange(40) < 10, 2.0, 1.0)
    twice = np.repeat(np.arange(40), votes.astype(int))
    one = fit_link(Z, as_labels(given, 3, votes), SHARES)
    two = fit_link(Z[twice], as_labels(given[twice], 3), SHARES)
    np.testing.assert_allclose(one.weights, two.weights)
    np.testing.assert_allclose(one.rate_weights, two.rate_weights)
    assert one.score == pytest.approx(two.score)


def test_of_many_labels_some_fit_the_link_and_count_as_all(monkeypatch):
    """Each label three times, of which every third is taken: the posterior is the same."""
    Z, _, given = drawn(100, 3, 0.2)
    Z, labels = np.repeat(Z, 3, axis=0), as_labels(np.repeat(given, 3), 3)
    exact = fit_link(Z, labels)
    monkeypatch.setattr(module, "MOST_LABELS", 100)
    rough = fit_link(Z, labels)
    assert rough.points.size == 100
    np.testing.assert_allclose(rough.rate_weights, exact.rate_weights, atol=1e-9)
    np.testing.assert_allclose(rough.weights, exact.weights, atol=1e-9)


def test_probabilities_are_the_same_in_blocks(monkeypatch):
    Z, _, given = drawn(200, 3, 0.2)
    link = fit_link(Z, as_labels(given, 3), SHARES)
    whole = link(Z)
    monkeypatch.setattr(scores_module, "BLOCK", 21)
    np.testing.assert_array_equal(link(Z), whole)
    assert link(Z.astype(np.float32)).dtype == np.float32
    np.testing.assert_allclose(link(Z.astype(np.float32)), whole, atol=1e-5)


def test_an_interval_holds_its_share_of_the_posterior():
    rates = np.linspace(0.0, 0.9, 10)
    weights = np.array([0.01, 0.04, 0.1, 0.2, 0.3, 0.2, 0.1, 0.03, 0.01, 0.01])
    link = Link(np.ones(1), np.zeros(1), np.ones(1), np.zeros(2), rates, weights, np.zeros(1))
    assert link.interval(0.8) == pytest.approx((0.15, 0.6)), "the lower end is that of its cell of the grid"
    assert link.interval(0.999) == pytest.approx((0.0, 0.9))
    assert link.rate == pytest.approx(weights @ rates)


def test_the_posterior_of_a_label_follows_bayes_rule():
    P = np.array([[0.2, 0.5, 0.3], [0.9, 0.05, 0.05], [0.1, 0.1, 0.8]])
    labels = as_labels(np.array([0, 1, 2]), 3, verified=np.array([False, False, True]))
    Q = label_posterior(P, labels, 0.3)
    for i in range(2):
        like = np.where(np.arange(3) == i, 0.7, 0.15)
        np.testing.assert_allclose(Q[i], P[i] * like / (P[i] @ like))
    np.testing.assert_array_equal(Q[2], [0, 0, 1])


def test_agreement_that_class_sizes_explain_says_little():
    """Two models that predict one class nearly everywhere agree, whatever they know."""
    rng = np.random.default_rng(0)
    even = [(a, np.where(rng.random(2000) < 0.9, a, rng.integers(0, 10, 2000))) for a in [rng.integers(0, 10, 2000)]]
    flat = [(np.zeros(2000, int), (np.arange(2000) % 11 == 0).astype(int))]
    clear, vague = ExpectedAccuracy.of(even, 10), ExpectedAccuracy.of(flat, 2)
    assert clear.mean == pytest.approx(vague.mean, abs=0.02)
    assert clear.deviation == pytest.approx(0.08, abs=0.002)
    assert vague.deviation > 0.5
    assert clear.after_passes().mean == pytest.approx(clear.mean + 0.25 * (1 - clear.mean))
