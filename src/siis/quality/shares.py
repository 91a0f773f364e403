"""How large the classes are among all examples, whatever the labelled ones were drawn for."""

from __future__ import annotations

import numpy as np

from siis._types import Floats, Ints
from siis.labels import GivenLabels
from siis.quality.assess import Assessment
from siis.quality.bootstrap import WIDTH, interval, n_draws, resampled_counts
from siis.result_table import Table

ROUNDS = 100
DRAWS, LEAST_DRAWS, MOST_WORK = 200, 20, 20_000_000  # for the interval; fewer where there are many classes
MOST_AT_ONCE = 2**20  # chances of answers, or labels, of all draws that are computed together
TRUST = 1.0  # pseudo-count of right answers for each class


def class_shares(
    which: Ints, vertex: Ints, scores: Floats, assessment: Assessment, labels: GivenLabels, seed: int
) -> Table:
    """Shares of the classes among all examples: their mean probabilities, (C12), with 95 % intervals.

    The interval is that of shares by a confusion matrix of held-out labels, wider where both estimates differ.
    which: (h,), labelled examples whose labels were held out, by their place among the labelled ones; scores: (h, c),
    theirs; vertex: (n,), of each example.
    """
    truth = assessment.own[which]
    if np.isnan(truth).any():  # all are verified: none was judged
        truth = labels.Y[which]
    known = labels.Y.astype(np.float64)
    known[which] = truth
    unlabelled = assessment.probabilities[vertex[~labels.used & (vertex >= 0)]]
    winners, held, counts = unlabelled.argmax(axis=1), scores.argmax(axis=1), labels.counts[which]
    corrected, intervals = estimate_shares(winners, known.sum(axis=0), held, truth, counts, seed)
    shares = (unlabelled.sum(axis=0) + known.sum(axis=0)) / (len(unlabelled) + len(known))
    apart = np.abs(shares - corrected)  # two estimates of one quantity: their difference is an error of either
    half = np.sqrt((np.diff(intervals, axis=1)[:, 0] / 2) ** 2 + (WIDTH * apart) ** 2)
    low, high = np.maximum(shares - half, 0.0), np.minimum(shares + half, 1.0)
    return Table({"class": labels.classes, "share": shares, "low": low, "high": high})


def estimate_shares(
    answered: Ints, n_labelled: Floats, held_answers: Ints, truth: Floats, votes: Floats, seed: int
) -> tuple[Floats, Floats]:
    """Estimate the classes' shares among all examples, (c,), with 95 % bootstrap intervals, (c, 2).

    The shares of the answers are wrong where one class is taken for another more often than the other way round. With
    C_jk the chance of the answer j where the class is k, from labels that were held out (``held_answers``, (h,), true
    classes ``truth``, (h, c), weights ``votes``), the shares of the classes among unlabelled examples are the most
    likely ones of sum_k C_jk share_k = share of ``answered`` j; labelled examples (``n_labelled``, (c,)) add theirs.
    """
    c, n_held = n_labelled.size, held_answers.size
    rng = np.random.default_rng(seed)
    counts = np.bincount(answered, minlength=c).astype(np.float64)
    shares = _total(counts[None], _confusion(held_answers, truth, votes[None]), n_labelled)[0]
    n = int(counts.sum())
    step = max(1, min(MOST_AT_ONCE // c**2, MOST_AT_ONCE // max(n_held, 1)))
    drawn = np.empty((n_draws(ROUNDS * c * c, MOST_WORK, LEAST_DRAWS, DRAWS), c))
    for a in range(0, len(drawn), step):
        some = drawn[a : a + step]
        times, seen = np.ones((len(some), n_held)), np.tile(counts, (len(some), 1))
        for i in range(len(some)):
            if n_held:
                times[i] = resampled_counts(rng, n_held)
            if n:
                seen[i] = rng.multinomial(n, counts / n)
        times *= votes
        some[:] = _total(seen, _confusion(held_answers, truth, times), n_labelled)
    return shares, np.column_stack(interval(drawn, shares))


def _confusion(answers: Ints, truth: Floats, votes: Floats) -> Floats:
    """P(answer j | class k) by the votes of each draw, shape (draws, h): shape (draws, c, c)."""
    c = truth.shape[1]
    counts = np.tile(TRUST * np.eye(c), (len(votes), 1, 1))
    for j in np.unique(answers):
        of_answer = np.flatnonzero(answers == j)
        counts[:, j] += votes[:, of_answer] @ truth[of_answer]
    return np.asarray(counts / counts.sum(axis=1, keepdims=True))


def _total(counts: Floats, confusion: Floats, n_labelled: Floats) -> Floats:
    """Shares among all examples, (draws, c): unlabelled ones by expectation-maximisation, labelled as they are."""
    n = counts.sum(axis=1, keepdims=True)
    shares = (counts + 1) / (n + counts.shape[1])
    for _ in range(ROUNDS if n.all() else 0):
        ratio = counts / n / np.maximum((confusion @ shares[:, :, None])[:, :, 0], 1e-300)
        shares = shares * (ratio[:, None] @ confusion)[:, 0]
        shares /= shares.sum(axis=1, keepdims=True)
    total = n * shares + n_labelled
    return np.asarray(total / total.sum(axis=1, keepdims=True))
