"""95 % intervals of estimates from held-out labels, by drawing these anew."""

from __future__ import annotations

import numpy as np

from siis._types import Floats, Ints

LEVEL = (2.5, 97.5)  # percentiles
WIDTH = 1.96  # their distance from the mean in standard deviations


def n_draws(work: int, most_work: int, least: int, most: int) -> int:
    """How many draws: fewer where one takes much work."""
    return int(np.clip(most_work // max(work, 1), least, most))


def resampled_counts(rng: np.random.Generator, n: int) -> Ints:
    """How often each of n labels is drawn, (n,), in n draws with replacement."""
    return np.bincount(rng.integers(n, size=n), minlength=n)


def interval(drawn: Floats, estimate: Floats | float) -> tuple[Floats, Floats]:
    """Ends of the interval, from draws, (draws, ...); the estimate itself is never outside."""
    low, high = np.percentile(drawn, LEVEL, axis=0)
    return np.minimum(low, estimate), np.maximum(high, estimate)
