"""How large the classes are among the examples of a fit."""

from __future__ import annotations

import numpy as np

from siis.estimators.evidence import Evidence
from siis.estimators.pooling import Pooled
from siis.labels import GivenLabels
from siis.quality import Assessment
from siis.quality.shares import estimate_shares
from siis.result_table import Table


def class_shares(evidence: Evidence, pooled: Pooled, assessment: Assessment, labels: GivenLabels, seed: int) -> Table:
    """Estimate the shares of the classes among all examples, (C12).

    Parameters
    ----------
    evidence : Evidence
    pooled : Pooled
    assessment : Assessment
    labels : GivenLabels
    seed : int

    Returns
    -------
    Table
        Class, share, and the ends of a 95 % interval.
    """
    known, judged = labels.Y.copy(), np.flatnonzero(labels.used)[evidence.rows]
    truth = assessment.own[judged]
    if np.isnan(truth).any():  # all are certain: nothing was to be judged
        truth = labels.Y[evidence.rows]
    known[evidence.rows] = truth
    at = evidence.placed.vertex
    winners = np.argmax(assessment.probabilities, axis=1)[at[~labels.used & (at >= 0)]]
    held, votes = np.argmax(pooled.held_out, axis=1), labels.counts[evidence.rows]
    shares, intervals = estimate_shares(winners, known.sum(axis=0), held, truth, votes, seed)
    return Table({"class": labels.classes, "share": shares, "low": intervals[:, 0], "high": intervals[:, 1]})
