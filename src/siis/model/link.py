"""From class scores to probabilities, by held-out labels of which some are wrong."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, fields

import numpy as np
from scipy.special import logsumexp

from siis._types import Bools, Floats, Ints
from siis.engine.rows import evenly
from siis.model.scores import exponentials, mean_softmax

SHARPNESS = np.geomspace(0.05, 40.0, 17)
BLUNTER = np.concatenate([[0.02, 0.03], SHARPNESS])  # where next to nothing predicts labels
USUAL_SHARPNESS, SPREAD = 3.0, 1.5  # prior of the sharpness: log-normal
N_RATES, LARGEST_RATE = 24, 0.95  # grid of noise rates; the largest over that of random labels, (c - 1) / c
FEWER_WRONG = 2.0  # prior (1 - r / largest)^2 of the rate
FEWER_WRONG_ESTIMATED = 0.5  # the same where the accuracy is estimated
AGREEMENT_SD = 0.072  # of the accuracy that the agreement of halves estimates, over the share that is not by chance
LEAST_BY_SKILL = 0.02  # of that share
AGAIN = 0.25  # of the errors that are estimated, which further passes are expected to mend
FLOOR = 1e-3  # of probabilities whose logarithms are averaged
LEAST_WEIGHT = 1e-4  # of a sharpness that is used
MOST_LABELS = 5000  # by which a link is fitted
SHARES = (0.0, 0.5, 1.0)  # of the logarithm of the class prior, in a member's scores


@dataclass(frozen=True, eq=False)
class MemberLabels:
    """Given labels at vertices, as members are fitted to them and judged by them."""

    rows: np.ndarray  # (l,), vertex
    Y: Floats  # (l, c), class distribution, one-hot in most cases
    weights: Floats  # (l,), in a regression, about 1
    counts: Floats  # (l,), in a likelihood, at most 1 in the mean
    verified: Bools  # (l,), somebody has checked the label
    judged: Bools  # (l,), False for the only label of a class: without it nothing predicts the class

    @property
    def n_classes(self) -> int:
        """Number of classes, c."""
        return int(self.Y.shape[1])

    @property
    def prior(self) -> Floats:
        """Frequencies of the given classes."""
        return np.asarray(self.counts @ self.Y / self.counts.sum())

    @property
    def log_prior(self) -> Floats:
        """Logarithms of the frequencies of the given classes, with one label more of each."""
        counts = self.counts @ self.Y + 1
        return np.asarray(np.log(counts / counts.sum()))

    def subset(self, which: np.ndarray) -> MemberLabels:
        """Keep some of the labels."""
        return MemberLabels(*(getattr(self, f.name)[which] for f in fields(self)))


@dataclass(frozen=True)
class ExpectedAccuracy:
    """Accuracy that the agreement of models of disjoint halves of the labels estimates, and its deviation.  (D6)"""

    mean: float
    deviation: float

    @classmethod
    def of(cls, answers: Sequence[tuple[Ints, Ints]], n_classes: int) -> ExpectedAccuracy:
        """From the classes that pairs of models predict for the same vertices.

        Models agree as often as both are right, or err alike. Two models that predict the large class everywhere
        agree, too: the more agreement the shares of their classes explain, the less is known.
        """
        same = float(np.mean([np.mean(a == b) for a, b in answers]))
        shares = [[np.bincount(a, minlength=n_classes) / a.size for a in pair] for pair in answers]
        by_chance = float(np.mean([a @ b for a, b in shares]))
        deviation = AGREEMENT_SD / max(1 - by_chance, LEAST_BY_SKILL)  # (D6b)
        return cls(accuracy_of_agreement(same, n_classes), deviation)

    def after_passes(self) -> ExpectedAccuracy:
        """What further passes are expected to reach."""
        return ExpectedAccuracy(self.mean + AGAIN * (1 - self.mean), self.deviation)


def accuracy_of_agreement(same: float, c: int) -> float:
    """The accuracy q at which two models agree on that share, q^2 + (1 - q)^2 / (c - 1), at least chance.  (D6)"""
    q = np.linspace(1 / c, 1, 400)
    return float(q[np.abs(q * q + (1 - q) ** 2 / max(c - 1, 1) - same).argmin()])


@dataclass(frozen=True, eq=False)
class Link:
    """p = sum_m weight_m softmax(sharpness_m z + share_m log prior), with the posterior of the noise rate.  (D3)"""

    sharpness: Floats  # (m,)
    shares: Floats  # (m,)
    weights: Floats  # (m,)
    log_prior: Floats  # (c,)
    rates: Floats  # (r,), grid of noise rates
    rate_weights: Floats  # (r,), its posterior
    points: Floats  # (l,), logarithm of the posterior mean likelihood of each held-out label

    def __call__(self, scores: Floats) -> Floats:
        """Class probabilities, shape (n, c)."""
        used, log_prior = np.flatnonzero(self.weights > LEAST_WEIGHT), self.log_prior.astype(scores.dtype)
        sharpness, weights = self.sharpness[used].tolist(), self.weights[used].tolist()
        offsets = [b * log_prior if b else None for b in self.shares[used].tolist()]
        return mean_softmax(scores, sharpness, weights, offsets)

    def logarithms(self, scores: Floats) -> Floats:
        """Logarithms of the probabilities, bounded below, shape (n, c)."""
        return np.asarray(np.log(self(scores) + scores.dtype.type(FLOOR)))

    @property
    def rate(self) -> float:
        """Mean noise rate."""
        return float(self.rates @ self.rate_weights)

    @property
    def mean_sharpness(self) -> float:
        """Geometric mean of the sharpness."""
        return float(np.exp(self.weights @ np.log(self.sharpness)))

    def interval(self, level: float) -> tuple[float, float]:
        """Ends of the central interval of the noise rate."""
        below = np.cumsum(self.rate_weights)
        low, high = np.searchsorted(below, ((1 - level) / 2, (1 + level) / 2))
        half = 0.5 * float(self.rates[1] - self.rates[0])  # a rate of the grid stands for those around it
        upper = float(self.rates[min(high, below.size - 1)])
        return max(float(self.rates[low]) - half, 0.0), max(upper, self.rate)

    @property
    def score(self) -> float:
        """Log-likelihood of the held-out labels."""
        return float(self.points.sum())


def fit_link(
    held_out: Floats,
    labels: MemberLabels,
    shares: tuple[float, ...] = (0.0,),
    rows: Floats | None = None,
    estimated: ExpectedAccuracy | None = None,
    checked: tuple[float, float] = (0.0, 0.0),
    largest_rate: float = 1.0,
    sharpness: Floats = SHARPNESS,
) -> Link:
    """Average sharpness, share of the prior and noise rate over their posterior, given held-out scores.

    The likelihood of a label j is (1 - r) p_j + r (1 - p_j) / (c - 1), and p_j where it is verified.          (D2)
    ``estimated`` is the mean confidence that is expected on the scores ``rows``; None expects nothing. ``checked``:
    how many labels were found right and wrong by somebody. ``largest_rate``: rates above are not
    considered.
    """
    n_labels, c = held_out.shape
    some = evenly(n_labels, MOST_LABELS)
    z, Y, verified = held_out[some], labels.Y[some], labels.verified[some]
    counts = np.where(labels.judged[some], labels.counts[some], 0.0)
    top = LARGEST_RATE * (c - 1) / c
    rates, log_prior = np.linspace(0.002, top, N_RATES), labels.log_prior
    grid = [(a, b) for a in sharpness.tolist() for b in shares]
    ones, below = np.ones(c), z - z.max(axis=1, keepdims=True, initial=-np.inf)
    powers = [exponentials(below, a, b * log_prior if b else None) for a, b in grid]
    own = np.array([(E * Y) @ ones / (E @ ones) for E in powers])
    like = own[:, None] * (1 - rates)[:, None] + (1 - own[:, None]) * (rates / max(c - 1, 1))[:, None]
    like[:, :, verified] = own[:, None, verified]
    logs = np.log(like + 1e-12)
    if estimated is None or rows is None:
        prior = np.array([-0.5 * (np.log(a / USUAL_SHARPNESS) / SPREAD) ** 2 for a, _ in grid])
        fewer = FEWER_WRONG
    else:
        sure = np.array([mean_softmax(rows, [a], [1.0], [b * log_prior]).max(axis=1).mean() for a, b in grid])
        prior = -0.5 * ((sure - estimated.mean) / estimated.deviation) ** 2
        fewer = FEWER_WRONG_ESTIMATED
    scale = n_labels / max(some.size, 1)
    log_post = scale * (logs @ counts) + prior[:, None] + fewer * np.log(1 - rates / (1.02 * top))
    right, wrong = checked
    log_post = log_post + right * np.log(1 - rates) + wrong * np.log(rates)
    log_post[:, rates > max(largest_rate, rates[0])] = -np.inf
    post = np.exp(log_post - logsumexp(log_post))
    points = np.log(np.einsum("gr,grl->l", post, like) + 1e-12) * counts
    return Link(
        np.array([a for a, _ in grid]),
        np.array([b for _, b in grid]),
        post.sum(axis=1),
        log_prior,
        rates,
        post.sum(axis=0),
        points,
    )


def label_posterior(P: Floats, labels: MemberLabels, rate: float) -> Floats:
    """Probabilities of the true class of each label, from those without it, shape (l, c).  (D4)"""
    c = labels.n_classes
    Q = P * ((1 - rate) * labels.Y + rate / max(c - 1, 1) * (1 - labels.Y))
    Q = Q / np.maximum(Q.sum(axis=1, keepdims=True), 1e-300)
    return np.where(labels.verified[:, None], labels.Y, Q)
