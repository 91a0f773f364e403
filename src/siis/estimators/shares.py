"""How large the classes are among the examples of a fit."""

from __future__ import annotations

import numpy as np

from siis._types import Floats, Ints
from siis.labels import GivenLabels
from siis.quality import Assessment
from siis.quality.shares import estimate_shares
from siis.result_table import Table

WIDTH = 1.96  # standard deviations of a 95 % interval


def class_shares(
    which: Ints, vertex: Ints, scores: Floats, assessment: Assessment, labels: GivenLabels, seed: int
) -> Table:
    """Estimate the shares of the classes among all examples: their mean probabilities, (C12).

    The interval is that of shares by a confusion matrix of held-out labels, wider where both estimates differ.

    Parameters
    ----------
    which : ndarray of shape (h,)
        Labelled examples whose labels were held out, by their place among the labelled ones.
    vertex : ndarray of shape (n,)
        Of each example.
    scores : ndarray of shape (h, c)
        Class scores of held-out labels.
    assessment : Assessment
    labels : GivenLabels
    seed : int

    Returns
    -------
    Table
        Class, share, and the ends of a 95 % interval.
    """
    truth = assessment.own[which]
    if np.isnan(truth).any():  # all are verified: nothing was to be judged
        truth = labels.Y[which]
    known = labels.Y.astype(np.float64)
    known[which] = truth
    winners = np.argmax(assessment.probabilities, axis=1)[vertex[~labels.used & (vertex >= 0)]]
    held, votes = np.argmax(scores, axis=1), labels.counts[which]
    corrected, intervals = estimate_shares(winners, known.sum(axis=0), held, truth, votes, seed)
    unlabelled = assessment.probabilities[vertex[~labels.used & (vertex >= 0)]]
    shares = (unlabelled.sum(axis=0) + known.sum(axis=0)) / (len(unlabelled) + len(known))
    apart = np.abs(shares - corrected)  # two estimates of one quantity: their difference is an error of either
    half = np.sqrt((np.diff(intervals, axis=1)[:, 0] / 2) ** 2 + (WIDTH * apart) ** 2)
    low, high = np.maximum(shares - half, 0.0), np.minimum(shares + half, 1.0)
    return Table({"class": labels.classes, "share": shares, "low": low, "high": high})
