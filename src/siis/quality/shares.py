"""How large the classes are among all examples, whatever the labelled ones were drawn for."""

from __future__ import annotations

import numpy as np
import scipy.sparse as sp

from siis._types import Floats, Ints

ROUNDS = 100
DRAWS, MOST_WORK = 200, 20_000_000  # of labels anew, for the interval; fewer where there are many classes
LEAST_DRAWS = 20
LEVEL = (2.5, 97.5)
TRUST = 1.0  # labels of each class that are thought to have been answered rightly


def estimate_shares(
    answered: Ints, n_labelled: Floats, held_answers: Ints, truth: Floats, votes: Floats, seed: int
) -> tuple[Floats, Floats]:
    """Estimate the classes' shares among all examples, with 95 % intervals.

    The shares of the answers are wrong where one class is taken for another more often than the other way round. With
    C_jk the chance of the answer j where the class is k, from labels that were held out, the shares of the classes
    among unlabelled examples are the likeliest ones of sum_k C_jk share_k = answered share_j; labelled examples add
    what is known of them. The intervals come from labels and answers that are drawn anew.

    Parameters
    ----------
    answered : ndarray of shape (u,)
        Answers of the examples without a label.
    n_labelled : ndarray of shape (c,)
        Labelled examples of each class, by their answers.
    held_answers : ndarray of shape (h,)
        Answers while the label was held out.
    truth : ndarray of shape (h, c)
        Probabilities of the true classes of these.
    votes : ndarray of shape (h,)
        By how much each label counts.
    seed : int

    Returns
    -------
    shares : ndarray of shape (c,)
    intervals : ndarray of shape (c, 2)
    """
    c = n_labelled.size
    rng = np.random.default_rng(seed)
    counts = np.bincount(answered, minlength=c).astype(np.float64)
    shares = _total(counts, _confusion(held_answers, truth, votes), n_labelled)
    n_draws = int(np.clip(MOST_WORK // (ROUNDS * c * c), LEAST_DRAWS, DRAWS))
    drawn, n_held = [], held_answers.size
    for _ in range(n_draws):
        times = np.bincount(rng.integers(n_held, size=n_held), minlength=n_held) if n_held else votes
        found = _confusion(held_answers, truth, times * votes)
        n = int(counts.sum())
        seen = rng.multinomial(n, counts / n).astype(np.float64) if n else counts
        drawn.append(_total(seen, found, n_labelled))
    low, high = np.percentile(drawn, LEVEL, axis=0)
    return shares, np.column_stack([np.minimum(low, shares), np.maximum(high, shares)])


def _confusion(answers: Ints, truth: Floats, votes: Floats) -> Floats:
    """P(answer j | class k), shape (c, c)."""
    c = truth.shape[1]
    of_answer = sp.csr_array((votes, (answers, np.arange(answers.size))), shape=(c, answers.size))
    counts = TRUST * np.eye(c) + of_answer @ truth
    return np.asarray(counts / counts.sum(axis=0))


def _total(counts: Floats, confusion: Floats, n_labelled: Floats) -> Floats:
    """Shares among all examples: unlabelled ones by expectation-maximisation, and labelled ones as they are."""
    n = counts.sum()
    shares = (counts + 1) / (n + counts.size)
    for _ in range(ROUNDS if n else 0):
        shares = shares * (confusion.T @ (counts / n / np.maximum(confusion @ shares, 1e-300)))
        shares = shares / shares.sum()
    total = n * shares + n_labelled
    return np.asarray(total / total.sum())
