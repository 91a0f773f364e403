"""The noise of the given labels, from what is read where each label was held out."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from siis._types import Floats, Ints
from siis.evidence import softmax

SHARPNESSES = np.geomspace(0.1, 20.0, 40)
N_RATES = 120
USUAL_SHARPNESS, SPREAD = 5.0, 1.5  # prior of log sharpness: few labels do not make it extreme
LEVEL_95 = 1.92  # half the 95 % quantile of chi-square with one degree of freedom
ROUNDS = 30
PSEUDO_COUNT = 5.0  # labels of each true class that are thought to follow the overall rate


@dataclass(frozen=True, eq=False)
class NoiseModel:
    """P(given j, true k | x) = matrix[j, k] softmax(sharpness z)_k.

    Attributes
    ----------
    rate : float
        Share of wrong labels, if wrong ones fall on all other classes alike.
    interval : tuple of two floats
        95 % profile likelihood.
    sharpness : float
        Of calibrated probabilities.
    matrix : ndarray of shape (c, c)
        Row: given class; column: true class; columns sum to 1.
    class_rates : ndarray of shape (c,)
        The share of wrong ones among the labels of each given class (NaN for a class without judged labels).
    """

    rate: float
    interval: tuple[float, float]
    sharpness: float
    matrix: Floats
    class_rates: Floats

    def probabilities(self, readings: Floats) -> Floats:
        """Calibrated probabilities of the true class, shape (n, c)."""
        return softmax(readings, self.sharpness)

    def posterior(self, readings: Floats, codes: Ints) -> Floats:
        """Probabilities of the true class where the label ``codes`` was given too, shape (n, c)."""
        joint = self.probabilities(readings) * self.matrix[codes]
        total = joint.sum(axis=1, keepdims=True)
        return np.asarray(np.divide(joint, total, out=np.full(joint.shape, 1 / joint.shape[1]), where=total > 0))


def fit_noise(readings: Floats, codes: Ints, weights: Floats) -> NoiseModel:
    """Estimate noise and sharpness by maximum likelihood.

    First with one rate r for all classes, P(given j | x) = (1 - r) p_j + r (1 - p_j) / (c - 1) with
    p = softmax(sharpness z), over a grid; then the full matrix by expectation-maximisation, with a few pseudo-labels
    that follow the one rate.

    Parameters
    ----------
    readings : ndarray of shape (l, c)
        Of held-out labels.
    codes : ndarray of shape (l,)
        The given classes.
    weights : ndarray of shape (l,)

    Returns
    -------
    NoiseModel
    """
    n_labels, c = readings.shape
    weights = weights / weights.mean() if n_labels else weights
    rates = np.linspace(0.0, (c - 1) / c, N_RATES + 1)[:-1]
    likelihood = np.empty((SHARPNESSES.size, rates.size))
    for row, sharpness in enumerate(SHARPNESSES):
        p = softmax(readings, sharpness)[np.arange(n_labels), codes][:, None]
        given = (1 - rates) * p + rates * (1 - p) / (c - 1)
        likelihood[row] = weights @ np.log(np.maximum(given, 1e-300))
        likelihood[row] -= 0.5 * (np.log(sharpness / USUAL_SHARPNESS) / SPREAD) ** 2
    s, r = divmod(int(np.argmax(likelihood)), rates.size)
    inside = rates[likelihood.max(axis=0) >= likelihood[s, r] - LEVEL_95]
    rate, sharpness = float(rates[r]), float(SHARPNESSES[s])
    symmetric = np.full((c, c), rate / (c - 1))
    np.fill_diagonal(symmetric, 1 - rate)
    model = NoiseModel(rate, (float(inside[0]), float(inside[-1])), sharpness, symmetric, np.full(c, np.nan))
    for _ in range(ROUNDS):
        posterior = weights[:, None] * model.posterior(readings, codes)
        counts = PSEUDO_COUNT * symmetric
        np.add.at(counts, codes, posterior)
        model = NoiseModel(rate, model.interval, sharpness, counts / counts.sum(axis=0), model.class_rates)
    wrong = weights * (1 - model.posterior(readings, codes)[np.arange(n_labels), codes])
    total = np.bincount(codes, weights, c)
    shares = np.divide(np.bincount(codes, wrong, c), total, out=np.full(c, np.nan), where=total > 0)
    return NoiseModel(rate, model.interval, sharpness, model.matrix, shares)
