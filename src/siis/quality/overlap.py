"""Classes that overlap: which pairs are taken for each other, by their examples and by their labels."""

from __future__ import annotations

from typing import Any

import numpy as np

from siis._types import Floats, Ints
from siis.quality.bootstrap import interval, n_draws, resampled_counts
from siis.result_table import Table

COLUMNS = ("first", "second", "overlap", "low", "high", "mislabelled")
DRAWS, LEAST_DRAWS, MOST_WORK = 500, 50, 100_000_000  # for the interval; fewer where there are many labels
TINY = 1e-300
LEAST = 1.0  # expected examples of a pair that are taken for the other class, below which it is left out


def overlap_table(answers: Ints, truth: Floats, votes: Floats, noise: Floats, classes: Any, seed: int) -> Table:
    """Rank the pairs of classes by the share of their examples that are taken for the other one, (C16).

    With t_ik the probability that the held-out example i is of class k, given its own label as far as it can be
    trusted, and b_i the answer without that label,

        overlap_jk = (sum_i t_ik [b_i = j] + sum_i t_ij [b_i = k]) / sum_i (t_ij + t_ik)                      (C16)

    answers, (h,): b; truth, (h, c): t; votes, (h,): weights of the labels; noise, (c, c): the noise matrix. Pairs of
    which less than one example is expected to be taken for the other are left out.
    """
    taken, total = _taken(answers, truth, votes), votes @ truth
    mixed = np.triu(taken + taken.T, 1)
    first, second = np.nonzero(mixed >= LEAST)
    both = total[first] + total[second]
    share = mixed[first, second] / both
    rng = np.random.default_rng(seed)
    drawn = []
    for _ in range(n_draws(truth.size, MOST_WORK, LEAST_DRAWS, DRAWS)):
        again = resampled_counts(rng, answers.size) * votes
        taken, size = _taken(answers, truth, again), again @ truth
        drawn.append((taken[first, second] + taken[second, first]) / np.maximum(size[first] + size[second], TINY))
    low, high = interval(np.array(drawn), share)
    renamed = (noise[first, second] * total[second] + noise[second, first] * total[first]) / both
    order = np.lexsort((second, first, -share))
    columns = (classes[first], classes[second], share, low, high, renamed)
    return Table(zip(COLUMNS, (column[order] for column in columns), strict=True))


def _taken(answers: Ints, truth: Floats, votes: Floats) -> Floats:
    """Expected examples of class k with the answer j, shape (c, c)."""
    counts = np.zeros((truth.shape[1], truth.shape[1]))
    np.add.at(counts, answers, votes[:, None] * truth)
    return counts
