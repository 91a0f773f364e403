"""Predicted probabilities compared with the agreement with held-out labels."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from siis._types import Bools, Floats
from siis.app.report.data import Reliability
from siis.estimators.classifier import SIISClassifier
from siis.labels.unlabelled import coded_rows

EDGES = (0.0, 0.5, 0.6, 0.7, 0.8, 0.9, 1.0)
LEAST_LABELS = 20  # held out
LEAST_IN_BIN = 5  # of fewer, a share is noise
NORMAL = 1.959964  # 97.5 % of a normal distribution lies below


def reliability(model: SIISClassifier) -> Reliability | None:
    """Held-out labels against predictions by probability; None under 20 labels or without a noise rate."""
    rate = getattr(model, "noise_rate_", math.nan)
    if math.isnan(rate):
        return None
    P, codes = model.held_out_distributions_, model.result_.codes
    which = np.flatnonzero(np.isfinite(P).all(axis=1) & coded_rows(codes))
    if which.size < LEAST_LABELS:
        return None
    P, codes = P[which], codes[which]
    probability, agrees = P.max(axis=1), np.argmax(P, axis=1) == codes
    others = P.shape[1] - 1
    expected = probability * (1 - rate) + (1 - probability) * rate / others
    bins = _bins(probability)
    labels = np.array([np.count_nonzero(rows) for _, _, rows in bins])
    share = np.array([agrees[rows].mean() for _, _, rows in bins])
    low, high = wilson(share, labels)
    return Reliability(
        low=[low for low, _, _ in bins],
        high=[high for _, high, _ in bins],
        labels=labels.tolist(),
        probability=[round(float(probability[rows].mean()), 6) for _, _, rows in bins],
        agreement=share.round(6).tolist(),
        agreement_low=low.round(6).tolist(),
        agreement_high=high.round(6).tolist(),
        expected=[round(float(expected[rows].mean()), 6) for _, _, rows in bins],
    )


def wilson(share: Floats, n: Any) -> tuple[Floats, Floats]:
    """Wilson's 95 % interval of shares observed in n cases."""
    z2 = NORMAL**2
    centre = (share + z2 / (2 * n)) / (1 + z2 / n)
    half = NORMAL * np.sqrt(share * (1 - share) / n + z2 / (4 * n * n)) / (1 + z2 / n)
    return np.maximum(centre - half, 0.0), np.minimum(centre + half, 1.0)


def _bins(probability: Floats) -> list[tuple[float, float, Bools]]:
    """Lower edge, upper edge and members of each bin, from the bottom up; small ones join the next."""
    place = np.digitize(probability, EDGES[1:-1])
    bins: list[tuple[float, float, Bools]] = []
    for k in np.unique(place).tolist():
        low, high, rows = EDGES[k], EDGES[k + 1], place == k
        if bins and bins[-1][2].sum() < LEAST_IN_BIN:
            low, _, smaller = bins.pop()
            rows |= smaller
        bins.append((low, high, rows))
    if len(bins) > 1 and bins[-1][2].sum() < LEAST_IN_BIN:
        _, high, smaller = bins.pop()
        low, _, rows = bins.pop()
        bins.append((low, high, rows | smaller))
    return bins
