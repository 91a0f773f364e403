"""From class scores to probabilities."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from siis._types import Floats
from siis.engine.threads import in_threads
from siis.evidence import softmax

BLOCK = 2**18  # numbers in one piece of work
LEAST = 1e-4  # of the weight: less is left out


@dataclass(frozen=True, eq=False)
class Calibration:
    """P(true k | z) = sum_m weight_m softmax(sharpness_m z)_k, (D3): as sure as held-out labels allow.

    Attributes
    ----------
    sharpness, weights : ndarray of shape (m,)
        The weights sum to 1.
    """

    sharpness: Floats
    weights: Floats

    def __call__(self, scores: Floats) -> Floats:
        """Probabilities of the classes from scores, both (n, c)."""
        P = np.zeros_like(scores)

        def piece(rows: slice) -> None:
            for sharpness, weight in zip(self.sharpness.tolist(), self.weights.tolist(), strict=True):
                P[rows] += weight * softmax(scores[rows], sharpness)
            P[rows] /= P[rows].sum(axis=1, keepdims=True)

        step = max(1, BLOCK // P.shape[1])
        in_threads(piece, [slice(a, a + step) for a in range(0, len(P), step)])
        return P

    @classmethod
    def of(cls, sharpness: Floats, weights: Floats) -> Calibration:
        """Gather equal sharpnesses, and leave out what has next to no weight.

        Parameters
        ----------
        sharpness, weights : ndarray of shape (m,)

        Returns
        -------
        Calibration
        """
        values, which = np.unique(sharpness, return_inverse=True)
        total = np.bincount(which, weights)
        kept = total > LEAST * total.sum()
        return cls(values[kept], total[kept] / total[kept].sum())
