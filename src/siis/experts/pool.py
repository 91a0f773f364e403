"""One voice out of several: class scores added up with weights that make the held-out labels likeliest."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy.optimize import minimize
from scipy.special import expit, log_softmax

from siis._types import Floats
from siis.labels import Supervision

USUAL, SPREAD = 2.0, 1.0  # prior of the weights: their sum, and the deviation of their logarithms
USUAL_ODDS, ODDS_SPREAD = -1.5, 1.5  # prior of the logarithm of the odds that a label is wrong
STARTS = (-3.0, -0.5)
BLOCK = 2**22  # numbers at once


@dataclass(frozen=True, eq=False)
class Pool:
    """s(x) = sum_e weight_e s_e(x), (C10).

    Attributes
    ----------
    names : tuple of str
        Of the experts.
    weights : ndarray of shape (e,)
        On their scores as they come; what is pooled has a deviation of 1.
    """

    names: tuple[str, ...]
    weights: Floats

    def __call__(self, scores: list[Floats]) -> Floats:
        """Add up the experts' scores.

        Parameters
        ----------
        scores : list of e ndarrays of shape (n, c)

        Returns
        -------
        ndarray of shape (n, c)
            Without a mean over the classes.
        """
        total = np.zeros_like(scores[0])
        for weight, found in zip(self.weights.tolist(), scores, strict=True):
            total += weight * found
        total -= np.mean(total, axis=1, keepdims=True)
        return total

    def among(self, names: tuple[str, ...]) -> Pool:
        """The same pool among more experts, who have no weight."""
        weight = dict(zip(self.names, self.weights, strict=True))
        return Pool(names, np.array([weight.get(name, 0.0) for name in names]))


def fit_pool(
    names: tuple[str, ...], held_out: list[Floats], final: list[Floats], given: Supervision, weights: Floats
) -> Pool:
    """Weigh experts by maximum likelihood of the held-out labels, some of which are wrong.

    A label j is given with probability (1 - r) p_j + r (1 - p_j) / (c - 1), where p is the softmax of the pooled
    scores and r the share of wrong labels, whichever is likeliest. Scores are in units of their deviation over all
    examples; the logarithms of the weights there are normal about log(2 / e), so that few labels leave the experts
    equal and none can be left out by chance.

    Parameters
    ----------
    names : tuple of e str
    held_out : list of e ndarrays of shape (l, c)
        What each expert says of the labels that were held out from it.
    final : list of e ndarrays of shape (n, c)
        What it says of all examples.
    given : Supervision
        The held-out labels.
    weights : ndarray of shape (l,)
        Of these labels: a label of weight k counts as k labels.

    Returns
    -------
    Pool
    """
    units = np.array([_deviation(scores) for scores in final])
    c, n_experts = given.n_classes, len(names)
    if n_experts == 1:
        return Pool(names, 1 / units)
    S = np.stack([_centered(scores) / unit for scores, unit in zip(held_out, units, strict=True)])
    usual = np.log(USUAL / n_experts)

    def loss(parameters: Floats) -> float:
        logs, odds = parameters[:-1], parameters[-1]
        rate = expit(odds) * (c - 1) / c
        P = np.exp(log_softmax(np.tensordot(np.exp(logs), S, 1), axis=1))
        met = np.sum(P * given.Y, axis=1)
        likelihood = (1 - rate) * met + rate / (c - 1) * (1 - met)
        prior = np.sum(((logs - usual) / SPREAD) ** 2) + ((odds - USUAL_ODDS) / ODDS_SPREAD) ** 2
        return float(0.5 * prior - weights @ np.log(np.maximum(likelihood, 1e-12)))

    found = [minimize(loss, np.append(np.full(n_experts, usual), start), method="L-BFGS-B") for start in STARTS]
    best = min(found, key=lambda result: float(result.fun))
    pool = Pool(names, np.exp(best.x[:-1]) / units)
    return Pool(names, pool.weights / _deviation(pool(final)))


def _centered(scores: Floats) -> Floats:
    return np.asarray(scores - scores.mean(axis=1, keepdims=True))


def _deviation(scores: Floats) -> float:
    step = max(1, BLOCK // max(scores.shape[1], 1))
    total = sum(
        float(np.sum(_centered(scores[a : a + step]) ** 2, dtype=np.float64)) for a in range(0, len(scores), step)
    )
    return float(np.sqrt(total / max(scores.size, 1))) or 1.0
