"""From class scores to probabilities."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from siis._types import Floats
from siis.model.scores import mean_softmax

LEAST = 1e-4  # of the weight: less is left out


@dataclass(frozen=True, eq=False)
class Calibration:
    """P(true k | z) = sum_m weight_m softmax(sharpness_m z)_k, (D3): as sure as held-out labels allow."""

    sharpness: Floats
    weights: Floats  # (m,) like the sharpness, sum 1

    def __call__(self, scores: Floats) -> Floats:
        """Probabilities of the classes, shape (n, c), by their scores."""
        return mean_softmax(scores, self.sharpness.tolist(), self.weights.tolist(), [None] * len(self.weights))

    @classmethod
    def of(cls, sharpness: Floats, weights: Floats) -> Calibration:
        """Gather equal sharpnesses, and leave out what has next to no weight; both: (m,)."""
        values, which = np.unique(sharpness, return_inverse=True)
        total = np.bincount(which, weights)
        kept = total > LEAST * total.sum()
        return cls(values[kept], total[kept] / total[kept].sum())
