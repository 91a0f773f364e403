"""How well a graph carries the labels: do held-out labels agree with what their neighbourhoods say?"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from siis._types import Floats, Ints

WEAK = 0.05  # below, neighbourhoods say next to nothing about labels
CLEAR = 0.15  # above, labels are followed, however few have said so
VAGUE = 0.25  # below, blunt scores and wrong labels cannot be told apart
DOUBT = 2.5  # standard errors: the best of many candidates is ahead of chance by luck alone


@dataclass(frozen=True)
class LabelAgreement:
    """Cohen's kappa between held-out labels and predicted classes."""

    score: float  # (agreement - chance) / (1 - chance), lower with wrong labels; NaN where nothing was held out
    error: float  # standard error

    @property
    def is_weak(self) -> bool:
        """Whether the labels do not follow the neighbourhoods, as far as the held-out ones can tell."""
        return self.score < max(WEAK, min(DOUBT * self.error, CLEAR))


def label_agreement(readings: Floats, codes: Ints, weights: Floats) -> LabelAgreement:
    """Agreement of a graph with its held-out labels; readings: (l, c), codes and weights: (l,)."""
    if codes.size == 0:
        return LabelAgreement(float("nan"), float("nan"))
    c = readings.shape[1]
    share = weights / weights.sum()
    predicted = np.argmax(readings, axis=1)
    met = float(share @ (predicted == codes))
    chance = float(np.bincount(codes, share, c) @ np.bincount(predicted, share, c))
    chance = min(chance, 1 - 1e-9)
    return LabelAgreement(
        (met - chance) / (1 - chance), float(np.sqrt(max(met * (1 - met), 0.0) * np.sum(share**2))) / (1 - chance)
    )
