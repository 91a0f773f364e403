"""The share of wrong labels, and probabilities of the classes, estimated from held-out labels."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import scipy.sparse as sp

from siis._types import Bools, Floats, Ints
from siis.labels import one_hot
from siis.model.link import BLUNTER, SHARPNESS, ExpectedAccuracy, MemberLabels, fit_link
from siis.model.scores import mean_softmax
from siis.model.vertices import USUAL_QUANTILE

LEVEL = 0.95
MOST_COPIES = 10.0  # that a label of large weight counts as, in the total
ROUNDS = 25
PSEUDO_COUNT = 20.0  # labels of each true class that are thought to follow the rate
MOST_IN_ONE = 0.8  # of the labels that are predicted as one class, so that the others are not
LEAST_KNOWN, LEAST_PREDICTED = 6.0, 0.5  # labels of a class, and predictions over labels, for scores to know it
VAGUE_RATE = 0.05  # of wrong labels that is assumed at most where nothing predicts labels
LEAST_RATE = 0.002  # in quality and answers of labelled examples: a rate of 0 would make every label certain
LEAST_WEIGHT = 1e-4  # of a calibration: components of less are left out


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
        kept = total > LEAST_WEIGHT * total.sum()
        return cls(values[kept], total[kept] / total[kept].sum())


@dataclass(frozen=True, eq=False)
class NoiseModel:
    """Share of wrong labels and calibration of the scores, estimated from held-out labels."""

    rate: float  # share of wrong labels; NaN where unknown
    interval: tuple[float, float]  # 95 %
    doubt: float  # the rate that judges labels: ``rate``, or a small one where that is unknown
    calibration: Calibration  # probabilities of the true class, without the label
    matrix: Floats  # (c, c), row: given class, column: true class; columns sum to 1
    class_rates: Floats  # (c,), shares of wrong labels in each given class; NaN without judged labels

    @property
    def likely(self) -> Floats:
        """The matrix without zeros, so that no label is certain."""
        c = len(self.matrix)
        return np.asarray((1 - LEAST_RATE) * self.matrix + LEAST_RATE / c)

    def probabilities(self, scores: Floats) -> Floats:
        """Calibrated probabilities of the true class, shape (n, c)."""
        return self.calibration(scores)

    def posterior(self, scores: Floats, Y: Floats) -> Floats:
        """Probabilities of the true class where the labels Y, shape (n, c), were given too, shape (n, c).  (D4)"""
        P = self.probabilities(scores)
        P *= np.asarray(Y @ self.likely, P.dtype)
        P /= np.maximum(P.sum(axis=1, keepdims=True), np.finfo(P.dtype).tiny)
        return P


def fit_noise(
    scores: Floats,
    codes: Ints,
    weights: Floats,
    is_weak: bool = False,
    is_verified: Bools | None = None,
    before: Ints | None = None,
    rows: Floats | None = None,
    estimated: ExpectedAccuracy | None = None,
) -> NoiseModel:
    """Average over sharpness of the scores and noise rate, by the likelihood of the held-out labels.

    The label j is given with probability (1 - r) p_j + r (1 - p_j) / (c - 1), p = softmax(a z).          (D2)
    Blunt scores and wrong labels explain the same disagreement; the accuracy that halves of the labels estimate
    distinguishes them, as far as it is known.

    scores, (l, c): z of held-out labels; codes, weights, is_verified, before: (l,); rows, (m, c): scores of
    unlabelled examples, where the accuracy ``estimated`` is expected. A label of weight k counts as k labels; all
    together as no more than ten for each. If ``is_weak``, labels are predicted hardly better than by chance, and the
    rate is unknown. ``before`` holds verified labels before they were checked, -1 where unknown; they show how often
    labels were wrong. The rate, its interval, the matrix and the rates of classes are those of unverified labels.
    """
    c = scores.shape[1]
    is_verified = np.zeros(len(codes), dtype=bool) if is_verified is None else is_verified
    before = np.full(len(codes), -1) if before is None else before
    if len(codes):
        least = max(1.0, float(np.quantile(weights, USUAL_QUANTILE)))
        weights = weights * (np.minimum(weights / least, MOST_COPIES).sum() / weights.sum())
    known = is_verified & (before >= 0)
    changed = float(weights[known & (before != codes)].sum())
    labels = MemberLabels(
        np.arange(len(codes)), one_hot(codes, c), weights, weights, is_verified, np.ones(len(codes), bool)
    )
    checked = (float(weights[known].sum()) - changed, changed)
    is_blunt = is_weak and _is_spread(scores, weights)
    largest, grid = (VAGUE_RATE, BLUNTER) if is_blunt else (1.0, SHARPNESS)
    link = fit_link(
        np.asarray(scores, dtype=np.float64),
        labels,
        rows=rows,
        estimated=None if is_blunt else estimated,
        checked=checked,
        largest_rate=largest,
        sharpness=grid,
    )
    rate, low, high = _of_unchecked(np.array([link.rate, *link.interval(LEVEL)]), codes, weights, is_verified, before)
    calibration = Calibration.of(link.sharpness, link.weights)
    doubt = rate
    if is_weak or is_verified.all():
        rate, low, high = float("nan"), 0.0, 1.0
    if is_verified.any():
        scores, codes, weights = scores[~is_verified], codes[~is_verified], weights[~is_verified]
    low = max(0.0, low - _missed_in_unknown_classes(scores, codes, weights))
    high = max(high, _missed(scores, codes, weights))
    matrix, wrong = _fit_matrix(calibration(scores), codes, weights, doubt)
    total = np.bincount(codes, weights, c)
    shares = np.divide(np.bincount(codes, weights * wrong, c), total, out=np.full(c, np.nan), where=total > 0)
    if not len(codes):  # nothing was held out
        matrix = np.full_like(matrix, np.nan)
    return NoiseModel(rate, (low, high), doubt, calibration, matrix, shares)


def _of_unchecked(
    rates: Floats, codes: Ints, weights: Floats, is_verified: Bools, before: Ints
) -> tuple[float, float, float]:
    """Rates among the labels that nobody has checked: without those that were, where it is known what they were."""
    was_known = is_verified & (before >= 0)
    checked = float(weights[was_known].sum())
    left = float(weights[~is_verified].sum())
    if not checked or not left:
        return float(rates[0]), float(rates[1]), float(rates[2])
    found = float(weights[was_known & (before != codes)].sum())
    rate, low, high = np.clip((rates * (checked + left) - found) / left, 0.0, 1.0)
    return float(rate), float(low), float(high)


def _is_spread(scores: Floats, weights: Floats) -> bool:
    """Whether several classes are predicted; else scores may be right, and many labels of small classes be wrong."""
    shares = np.bincount(np.argmax(scores, axis=1), weights, scores.shape[1]) / max(float(weights.sum()), 1e-300)
    return bool(shares.max(initial=0.0) < MOST_IN_ONE)


def _missed(scores: Floats, codes: Ints, weights: Floats) -> float:
    """Upper limit (97.5 %) of the share of labels not predicted: so many may be wrong if mistakes follow borders."""
    if not len(codes):
        return 0.0
    share = float(weights @ (np.argmax(scores, axis=1) != codes) / weights.sum())
    return min(1.0, share + 1.96 * float(np.sqrt(share * (1 - share) / len(codes))))


def _missed_in_unknown_classes(scores: Floats, codes: Ints, weights: Floats) -> float:
    """Share of labels that are not predicted, in classes of few labels or that are predicted less than half as often.

    Scores that do not know a small class miss its labels, whether they are right or wrong.
    """
    if not len(codes):
        return 0.0
    predicted, c = np.argmax(scores, axis=1), scores.shape[1]
    given = np.bincount(codes, weights, c)
    is_unknown = (given < LEAST_KNOWN) | (np.bincount(predicted, weights, c) < LEAST_PREDICTED * given)
    return float(weights @ (is_unknown[codes] & (predicted != codes)) / weights.sum())


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
