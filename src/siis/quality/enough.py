"""Whether there are labels enough: what further ones would gain in accuracy, read off a learning curve."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from siis._types import Bools, Floats

LEAST_LABELS = 30  # held out, below which a curve is chance
LEAST_SPREAD = 1.3  # of the largest over the smallest number of labels on the curve
LEAST_SIGNAL = 0.2  # by how much likelier a label must be met by its true class than by another
REPLICATES = 500
LEVEL, LEVEL_WIDTH = (2.5, 97.5), 1.96  # percentiles, and their distance from the mean in standard deviations
TINY = 1e-9
TOO_FEW = "fewer than {least} labels can be held out ({found} can; a class needs two of them)"
TOO_THIN = "classes have too few labels each to leave some out"
TOO_NOISY = "too many labels are wrong to estimate accuracy from held-out labels"


@dataclass(frozen=True)
class LabelGain:
    """Gain in accuracy that further labels would bring; shares of right predictions of unlabelled examples."""

    n_labels: int  # further labels
    accuracy: float  # now, with its 95 % interval
    accuracy_low: float
    accuracy_high: float
    after: float  # with the further labels
    gain: float  # with its 95 % interval; negative where accuracy may fall
    low: float
    high: float
    reason: str = ""  # why nothing is known, and all numbers are NaN; empty otherwise


def unknown_gain(n_labels: int, why: str) -> LabelGain:
    """A gain of NaN, with the reason."""
    unknown = float("nan")
    return LabelGain(n_labels, unknown, unknown, unknown, unknown, unknown, unknown, unknown, why)


def label_gain(
    met: Floats,
    sizes: Floats,
    now: Floats,
    is_verified: Bools,
    noise: tuple[float, float, float],
    n_classes: int,
    n_given: int,
    n_labels: int,
    seed: int,
) -> LabelGain:
    """Estimate what further labels would gain, (C19).

    met, (h, s, r): whether each held-out label was predicted from each number of the others, in each draw;
    sizes, (s,): these numbers, falling; now, (h,): whether the fit without the label predicts it; is_verified: (h,);
    noise: the share of wrong labels among those that are not verified, and its 95 % interval.
    """
    h, _, r = met.shape
    if sizes[0] < LEAST_SPREAD * sizes[-1]:
        return unknown_gain(n_labels, TOO_THIN)
    rate, rate_low, rate_high = (0.0, 0.0, 0.0) if is_verified.all() else noise
    if not 1 - rate * n_classes / (n_classes - 1) >= LEAST_SIGNAL:
        return unknown_gain(n_labels, TOO_NOISY)
    rng = np.random.default_rng(seed)
    again = rng.multinomial(h + 1, np.full(h + 1, 1 / (h + 1)), REPLICATES)  # of one label more, which nothing meets:
    again = np.vstack([np.append(np.ones(h), 0), again])  # all may be met by chance. The first row: as it is
    labels = again / again.sum(axis=1, keepdims=True)
    met, now = np.concatenate([met, np.zeros_like(met[:1])]), np.append(now, 0.0)
    is_verified = np.append(is_verified, True)
    draws = np.vstack([np.ones(r), rng.multinomial(r, np.full(r, 1 / r), REPLICATES)]) / r
    away = rng.standard_normal(REPLICATES) / LEVEL_WIDTH
    rates = np.append(rate, rate + away * np.where(away > 0, rate_high - rate, rate - rate_low))
    rates = np.clip(rates, 0, (1 - LEAST_SIGNAL) * (n_classes - 1) / n_classes)

    def right(hit: Floats) -> Floats:
        """Shares of right answers in each replicate, allowing for wrong labels."""
        chance = rates / (n_classes - 1)
        doubtful = (labels * ~is_verified).sum(axis=1)
        shape = (-1,) + (1,) * (hit.ndim - 1)
        plain = np.tensordot(labels * is_verified, hit, 1)
        noisy = np.tensordot(labels * ~is_verified, hit, 1) - (chance * doubtful).reshape(shape)
        return np.asarray(plain + noisy / (1 - rates - chance).reshape(shape))

    by_draw = right(met)
    curve = np.einsum("ksr,kr->ks", by_draw, draws)
    at, weights = np.log(sizes), np.sqrt(sizes)
    lever = weights * (at - np.average(at, weights=weights))
    slope = curve @ lever / (lever @ at)
    behind = 1 - right(now)  # errors by the labels that stay while others are held out
    error = behind - _step(slope, behind, n_given / sizes[0])[0]
    accuracy = np.clip(1 - error, 0, 1)
    accuracy_low, accuracy_high = np.percentile(accuracy, LEVEL)
    by_error, by_log = _step(slope, error, 1 + n_labels / n_given)
    between = rng.random(REPLICATES + 1)  # nobody knows by which law accuracy goes on
    by_chance = by_draw[0].var(axis=1, ddof=1).mean() if r > 1 else 0.0  # others are labelled, in both fits
    luck = np.sqrt(2 * by_chance + 1 / h**2)  # nor is less than one label seen
    possible = between * by_error + (1 - between) * by_log + luck * rng.standard_normal(REPLICATES + 1)
    possible = np.clip(possible, -accuracy, 1 - accuracy_low)
    gain, found = float(min(by_error[0], 1 - accuracy[0])), float(accuracy[0])
    low, high = np.percentile(possible[1:], LEVEL)
    return LabelGain(
        n_labels,
        found,
        min(float(accuracy_low), found),
        max(float(accuracy_high), found),
        found + gain,
        gain,
        min(float(low), gain),
        max(float(high), gain),
    )


def _step(slope: Floats, error: Floats, ratio: float) -> tuple[Floats, Floats]:
    """Gain of so many times as many labels: a power law of errors, and a log law of accuracy, with the same slope."""
    by_log = slope * np.log(ratio)
    power = np.maximum(slope, 0) / np.maximum(error, TINY)
    by_error = np.maximum(error, 0) * -np.expm1(-power * np.log(ratio))
    return np.where(slope > 0, by_error, by_log), by_log
