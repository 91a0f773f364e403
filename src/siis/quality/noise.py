"""The noise of the given labels, from what is read where each label was held out."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from siis._types import Floats, Ints
from siis.evidence import softmax

SHARPNESSES = np.geomspace(0.25, 20.0, 16)
STARTS = (0.03, 0.3, 0.6)  # shares of wrong labels from which the matrix is sought
USUAL_SHARPNESS, SPREAD = 5.0, 1.0  # prior of log sharpness: few labels do not make it extreme
LEVEL_95 = 1.92  # half the 95 % quantile of chi-square with one degree of freedom
ROUNDS = 25
PSEUDO_COUNT = 5.0  # labels of each true class that are thought to follow the starting share
LEAST_RATE = 0.01  # in quality and answers of labelled examples: a rate of 0 would vouch for every label


@dataclass(frozen=True, eq=False)
class NoiseModel:
    """P(given j, true k | x) = matrix[j, k] softmax(sharpness z)_k.

    Attributes
    ----------
    rate : float
        Share of wrong labels.
    interval : tuple of two floats
        95 %: the rates at all sharpnesses that the profile likelihood allows, and the sampling error of a share.
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

    def quality(self, readings: Floats, codes: Ints) -> Floats:
        """Probability that each given label is right, shape (n,).

        A label j is right with odds (1 - rate) : rate before anything is read. Where it is right, the reading is one
        of class j, which is p_j / share_j times as likely as any reading; where it is wrong, (1 - p_j) / (1 -
        share_j) times.
        """
        P = self.probabilities(readings)
        share = np.clip(P.mean(axis=0), 1e-3, 1 - 1e-3)[codes]
        p, rate = P[np.arange(codes.size), codes], max(self.rate, LEAST_RATE)
        right, wrong = (1 - rate) * p / share, rate * (1 - p) / (1 - share)  # (C6)
        return np.asarray(right / (right + wrong))

    @property
    def cautious(self) -> NoiseModel:
        """The same with as few wrong labels as the interval allows: a label is given up only for a reason."""
        least = max(self.interval[0], LEAST_RATE)
        share = min(least / self.rate, 1.0) if self.rate > 0 else 1.0
        matrix = share * self.matrix
        np.fill_diagonal(matrix, 1 - share * (1 - np.diagonal(self.matrix)))
        return replace(self, rate=self.rate * share, matrix=matrix)

    def posterior(self, readings: Floats, Y: Floats) -> Floats:
        """Probabilities of the true class where the labels Y, shape (n, c), were given too, shape (n, c)."""
        joint = self.probabilities(readings) * (Y @ self.matrix)
        total = joint.sum(axis=1, keepdims=True)
        return np.asarray(np.divide(joint, total, out=np.full(joint.shape, 1 / joint.shape[1]), where=total > 0))


def fit_noise(readings: Floats, codes: Ints, weights: Floats) -> NoiseModel:
    """Estimate noise and sharpness by maximum likelihood.

    For each sharpness of a grid, expectation-maximisation finds the matrix T that makes the given labels likeliest,
    P(given j | x) = sum_k T_jk softmax(sharpness z)_k, from several starts, with a few pseudo-labels that follow the
    start; the likeliest pair is taken.

    Parameters
    ----------
    readings : ndarray of shape (l, c)
        Of held-out labels.
    codes : ndarray of shape (l,)
        The given classes.
    weights : ndarray of shape (l,)
        A label of weight k counts as k labels.

    Returns
    -------
    NoiseModel
    """
    n_labels, c = readings.shape
    fits = [
        _fit_matrix(softmax(readings, sharpness), codes, weights, min(start, 0.9 * (c - 1) / c))
        for sharpness in SHARPNESSES
        for start in STARTS
    ]
    prior = np.repeat(-0.5 * (np.log(SHARPNESSES / USUAL_SHARPNESS) / SPREAD) ** 2, len(STARTS))
    likelihood = np.array([fit[0] for fit in fits]) + prior
    best = int(np.argmax(likelihood))
    _, matrix, wrong = fits[best]
    total = np.bincount(codes, weights, c)
    shares = np.divide(np.bincount(codes, weights * wrong, c), total, out=np.full(c, np.nan), where=total > 0)
    rates = np.array([np.average(fit[2], weights=weights) if n_labels else 0.0 for fit in fits])
    error = 1.96 * np.sqrt(rates[best] * (1 - rates[best]) / max(float(weights.sum()), 1.0))
    allowed = rates[likelihood >= likelihood[best] - LEVEL_95]
    interval = (max(float(allowed.min() - error), 0.0), min(float(allowed.max() + error), 1.0))
    return NoiseModel(float(rates[best]), interval, float(SHARPNESSES[best // len(STARTS)]), matrix, shares)


def _fit_matrix(P: Floats, codes: Ints, weights: Floats, start: float) -> tuple[float, Floats, Floats]:
    """Log-likelihood, noise matrix, and the probability that each label is wrong."""
    n_labels, c = P.shape
    usual = np.full((c, c), start / (c - 1))
    np.fill_diagonal(usual, 1 - start)
    matrix, posterior = usual, P
    for _ in range(ROUNDS):
        joint = np.maximum(P * matrix[codes], 1e-300)  # the terms of (C5)
        posterior = joint / joint.sum(axis=1, keepdims=True)
        counts = PSEUDO_COUNT * usual
        np.add.at(counts, codes, weights[:, None] * posterior)
        matrix = counts / counts.sum(axis=0)
    likelihood = weights @ np.log(np.maximum(np.sum(P * matrix[codes], axis=1), 1e-300))
    likelihood += PSEUDO_COUNT * np.sum(usual * np.log(matrix))
    return float(likelihood), matrix, 1 - posterior[np.arange(n_labels), codes]
