"""The noise of the given labels and the model's own doubt, told apart as far as held-out labels can tell."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
import scipy.sparse as sp

from siis._types import Bools, Floats, Ints
from siis.engine.threads import FEW, in_threads, one_blas_thread
from siis.evidence import softmax
from siis.quality.calibration import Calibration

SHARPNESSES = np.geomspace(0.25, 20.0, 16)
WORTH_THREADS = 2000  # labels, below which one thread is faster
USUAL_SHARPNESS, SPREAD = 3.0, 1.0  # prior of log sharpness: few labels do not make it extreme
UNCLEAR, LEAST_ERROR = 0.5, 0.003  # prior of the model's own errors: margins below half of the full one, and a few
DOUBTS = {0.0: 0.3, 0.05: 0.25, 0.1: 0.2, 0.2: 0.15, 0.4: 0.1}  # shares that the model is blunt about; their prior
CONFUSIONS = {0.0: 0.4, 0.25: 0.3, 0.5: 0.2, 0.75: 0.1}  # shares of wrong labels that follow the scores; their prior
BLUNT = 1.0  # sharpness of what the model is blunt about, and of confusions
N_RATES, DECAY = 61, 5.0  # prior of the rate r where some labels are wrong: exp(-5 r)
ALL_RIGHT = 0.02  # prior probability that no label at all is wrong, where the model's own errors are few
FEW_ERRORS = 0.2  # shares of examples
MOST_LABELS = 5000  # by which all of this is estimated
ROUNDS = 25
BLOCK = 2**22  # numbers of a posterior at once
PSEUDO_COUNT = 5.0  # labels of each true class that are thought to follow the rate
LEAST_RATE = 0.002  # in quality and answers of labelled examples: a rate of 0 would vouch for every label
VAGUE_RATE = 0.01  # the same where labels follow loosely, and nothing is known of the rate
LEAST_WEIGHT = 1e-3  # of an explanation: less is left out


@dataclass(frozen=True, eq=False)
class NoiseModel:
    """Explanations of the held-out labels, each with its weight, (C5).

    Attributes
    ----------
    rate : float
        Share of wrong labels.
    interval : tuple of two floats
        95 %; it reaches the share of labels that are not met.
    least : float
        What the rate hardly is below: its lower quartile.
    calibration : Calibration
        Probabilities of the true class, without the label.
    matrix : ndarray of shape (c, c)
        Row: given class; column: true class; columns sum to 1.
    class_rates : ndarray of shape (c,)
        The share of wrong ones among the labels of each given class (NaN for a class without judged labels).
    explanations : ndarray of shape (k, 4)
        Sharpness, doubt, confusion and rate of each.
    weights : ndarray of shape (k,)
        They sum to 1.
    """

    rate: float
    interval: tuple[float, float]
    least: float
    calibration: Calibration
    matrix: Floats
    class_rates: Floats
    explanations: Floats
    weights: Floats

    def probabilities(self, scores: Floats) -> Floats:
        """Calibrated probabilities of the true class, shape (n, c)."""
        return self.calibration(scores)

    @property
    def cautious(self) -> NoiseModel:
        """The same with no more wrong labels than there are for sure: a label is doubted for a reason."""
        explanations = self.explanations.copy()
        explanations[:, 3] = np.clip(explanations[:, 3], LEAST_RATE, max(self.least, LEAST_RATE))
        return replace(self, explanations=explanations)

    def posterior(self, scores: Floats, Y: Floats) -> Floats:
        """Probabilities of the true class where the labels Y, shape (n, c), were given too, shape (n, c), (C6)."""
        step = max(1, BLOCK // scores.shape[1])
        parts = [self._posterior(scores[a : a + step], Y[a : a + step]) for a in range(0, len(scores), step)]
        return np.concatenate(parts) if parts else np.zeros(scores.shape)

    def _posterior(self, scores: Floats, Y: Floats) -> Floats:
        total, blunt = np.zeros(scores.shape), softmax(scores, BLUNT)
        wrong = {confusion: _wrong(blunt, Y, confusion) for confusion in np.unique(self.explanations[:, 2])}
        sharp = {sharpness: softmax(scores, sharpness) for sharpness in np.unique(self.explanations[:, 0])}
        for (sharpness, doubt, confusion, rate), weight in zip(self.explanations, self.weights, strict=True):
            P = (1 - doubt) * sharp[sharpness] + doubt * blunt
            joint = P * ((1 - rate) * Y + rate * wrong[confusion])
            total += weight * joint / np.maximum(joint.sum(axis=1, keepdims=True), 1e-300)
        return np.asarray(total / np.maximum(total.sum(axis=1, keepdims=True), 1e-300), scores.dtype)


def _wrong(blunt: Floats, Y: Floats, confusion: float) -> Floats:
    """The chance of the label Y where the class is k and the label wrong, shape (n, c)."""
    q = np.minimum(blunt, 1 - 1e-6)
    by_scores = (np.sum(q * Y, axis=1, keepdims=True) - q * Y) / (1 - q)
    return np.asarray((1 - confusion) * (1 - Y) / (Y.shape[1] - 1) + confusion * by_scores)


def fit_noise(
    scores: Floats,
    codes: Ints,
    weights: Floats,
    is_weak: bool = False,
    is_certain: Bools | None = None,
    before: Ints | None = None,
) -> NoiseModel:
    """Weigh explanations of the held-out labels by their likelihood, and average over them.

    An explanation has a sharpness a, a doubt e, a rate r and a confusion s. The true class is k with probability p_k,
    p = (1 - e) softmax(a z) + e softmax(z). The label is right with probability 1 - r; else it is another class, any
    with the share 1 - s, one that the scores take for likely with the share s:

        P(given j) = (1 - r) p_j + r sum_{k != j} p_k [ (1 - s) / (c - 1) + s q_j / (1 - q_k) ],  q = softmax(z)  (C5)

    Blunt scores and wrong labels explain the same disagreement where no scores are clear; then explanations of either
    kind keep their weight, probabilities are moderate and the interval of the rate is wide. Where all margins are
    those of a model that knows every class, c / sqrt(c - 1) in scores of unit deviation, its own errors are taken to
    be few.

    Parameters
    ----------
    scores : ndarray of shape (l, c)
        z of held-out labels.
    codes : ndarray of shape (l,)
        The given classes.
    weights : ndarray of shape (l,)
        A label of weight k counts as k labels; all together as no more than there are.
    is_weak : bool
        Whether labels are met hardly more often than by chance. Then wrong labels would explain that, too, and only
        the scores are doubted.
    is_certain : ndarray of bool, shape (l,), optional
        Labels that somebody has checked. They say how sure the scores may be.
    before : ndarray of shape (l,), optional
        What these were before; -1 where nobody knows. Then they say, too, how often labels were wrong: those that are
        checked first look worst, and what is left of the wrong ones, by itself, looks like borders between classes.
        The rate, its interval, the matrix and the rates of classes are those of the labels that nobody has checked.

    Returns
    -------
    NoiseModel
    """
    c = scores.shape[1]
    is_certain = np.zeros(len(codes), dtype=bool) if is_certain is None else is_certain
    before = np.full(len(codes), -1) if before is None else before
    weights = weights / max(float(weights.mean()), 1.0) if len(codes) else weights
    some = np.unique(np.linspace(0, len(codes) - 1, min(len(codes), MOST_LABELS)).astype(np.int64))
    rates, explanations, log_weights = _likelihoods(
        scores[some], codes[some], weights[some], is_weak, is_certain[some], before[some]
    )
    posterior = np.exp(log_weights - log_weights.max())
    posterior /= posterior.sum()
    of_each, of_rate = posterior.sum(axis=1), posterior.sum(axis=0)
    rate, below = float(of_rate @ rates), np.cumsum(of_rate) - of_rate / 2
    low, quartile, high = (float(np.interp(share, below, rates)) for share in (0.025, 0.25, 0.975))
    rate, low, high = _of_unchecked(np.array([rate, low, high]), codes, weights, is_certain, before)
    if is_certain.any():
        scores, codes, weights = scores[~is_certain], codes[~is_certain], weights[~is_certain]
    low, high = min(low, rate), max(high, rate, _missed(scores, codes, weights))
    kept = of_each > LEAST_WEIGHT * of_each.max()
    mean_rates = posterior[kept] @ rates / of_each[kept]
    doubts = explanations[:, 1]
    calibration = Calibration.of(
        np.append(explanations[:, 0], BLUNT), np.append(of_each * (1 - doubts), of_each @ doubts)
    )
    matrix, wrong = _fit_matrix(calibration(scores), codes, weights, rate)
    total = np.bincount(codes, weights, c)
    shares = np.divide(np.bincount(codes, weights * wrong, c), total, out=np.full(c, np.nan), where=total > 0)
    return NoiseModel(
        rate,
        (low, high),
        quartile,
        calibration,
        matrix,
        shares,
        np.column_stack([explanations[kept], mean_rates]),
        of_each[kept] / of_each[kept].sum(),
    )


def _of_unchecked(
    rates: Floats, codes: Ints, weights: Floats, is_certain: Bools, before: Ints
) -> tuple[float, float, float]:
    """Rates among the labels that nobody has checked: without those that were, where it is known what they were."""
    was_known = is_certain & (before >= 0)
    checked = float(weights[was_known].sum())
    left = float(weights[~is_certain].sum())
    if not checked or not left:
        return float(rates[0]), float(rates[1]), float(rates[2])
    found = float(weights[was_known & (before != codes)].sum())
    rate, low, high = np.clip((rates * (checked + left) - found) / left, 0.0, 1.0)
    return float(rate), float(low), float(high)


def _missed(scores: Floats, codes: Ints, weights: Floats) -> float:
    """Share of the labels that are not met, at most (97.5 %): so many may be wrong where mistakes follow borders.

    No score can tell a border between classes from a habit of those who gave the labels.
    """
    if not len(codes):
        return 0.0
    share = float(weights @ (np.argmax(scores, axis=1) != codes) / weights.sum())
    return min(1.0, share + 1.96 * float(np.sqrt(share * (1 - share) / len(codes))))


def _likelihoods(
    scores: Floats, codes: Ints, weights: Floats, is_weak: bool, is_certain: Bools, earlier: Ints
) -> tuple[Floats, Floats, Floats]:
    """Rates, shape (r,); sharpness, doubt and confusion, shape (k, 3); log posteriors of all pairs, shape (k, r)."""
    n_labels, c = scores.shape
    rates = np.linspace(0, 1, N_RATES) ** 1.5 * 0.9 * (c - 1) / c
    prior = np.log(np.gradient(rates)) - DECAY * rates
    if is_weak:
        prior[rates > VAGUE_RATE] = -np.inf
    all_right = prior.copy()
    all_right[0] = np.log(ALL_RIGHT / (1 - ALL_RIGHT) * np.sum(np.exp(prior[1:])))
    at = np.arange(n_labels)
    blunt = softmax(scores, BLUNT)
    q = np.minimum(blunt, 1 - 1e-6)
    inverse = 1 / (1 - q)
    known = np.flatnonzero(is_certain & (earlier >= 0))
    is_changed = earlier[known] != codes[known]
    unknown = is_certain & (earlier < 0)
    best = np.sort(scores, axis=1)[:, -2:]
    n_unclear = np.count_nonzero(best[:, 1] - best[:, 0] < UNCLEAR * c / np.sqrt(c - 1))
    usual_error = 1.0 if is_weak else LEAST_ERROR + n_unclear / max(n_labels, 1)

    def of_sharpness(sharpness: float) -> tuple[list[tuple[float, float, float]], list[Floats]]:
        explanations, found = [], []
        sharp = softmax(scores, sharpness)
        for doubt, of_doubt in DOUBTS.items():
            if doubt > 0 and sharpness <= 1.5 * BLUNT:
                continue  # they would hardly differ
            P = (1 - doubt) * sharp + doubt * blunt
            p = P[at, codes]
            by_scores = q[at, codes] * (np.sum(P * inverse, axis=1) - p * inverse[at, codes])
            error = 1 - float(P.max(axis=1).mean()) if n_labels else 0.0
            before = np.log(of_doubt) - 0.5 * (np.log(sharpness / USUAL_SHARPNESS) / SPREAD) ** 2
            before -= error / usual_error
            for confusion, of_confusion in CONFUSIONS.items():
                wrong = (1 - confusion) * (1 - p) / (c - 1) + confusion * by_scores
                right = p.copy()
                wrong[unknown] = p[unknown]  # whatever the rate
                by_class = q[known, earlier[known]] * inverse[known, codes[known]]
                wrong[known] = p[known] * is_changed * ((1 - confusion) / (c - 1) + confusion * by_class)
                right[known] = p[known] * ~is_changed
                likelihood = np.log(np.maximum((1 - rates)[:, None] * right + rates[:, None] * wrong, 1e-300))
                likelihood = likelihood @ weights
                explanations.append((sharpness, doubt, confusion))
                found.append(
                    likelihood + before + np.log(of_confusion) + (all_right if error <= FEW_ERRORS else prior)
                )
        return explanations, found

    worth = n_labels >= WORTH_THREADS
    with one_blas_thread():
        told = in_threads(of_sharpness, list(SHARPNESSES), FEW) if worth else [of_sharpness(s) for s in SHARPNESSES]
    explanations, found = zip(*told, strict=True)
    return rates, np.array([e for some in explanations for e in some]), np.array([f for some in found for f in some])


def _fit_matrix(P: Floats, codes: Ints, weights: Floats, rate: float) -> tuple[Floats, Floats]:
    """Noise matrix by expectation-maximisation, and the probability that each label is wrong."""
    n_labels, c = P.shape
    usual = np.full((c, c), rate / (c - 1))
    np.fill_diagonal(usual, 1 - rate)
    matrix, wrong = usual, np.zeros(n_labels)
    of_class = sp.csr_array((weights, (codes, np.arange(n_labels))), shape=(c, n_labels))
    least = np.finfo(P.dtype).tiny
    for _ in range(ROUNDS):
        posterior = P * matrix.astype(P.dtype)[codes]
        np.maximum(posterior, least, out=posterior)
        posterior /= posterior.sum(axis=1, keepdims=True)
        counts = PSEUDO_COUNT * usual + of_class @ posterior
        wrong = 1 - posterior[np.arange(n_labels), codes].astype(np.float64)
        matrix = counts / counts.sum(axis=0)
    return matrix, wrong
