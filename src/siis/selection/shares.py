"""Held-out labels weighed as the classes are in the population, however the labelled examples were drawn."""

import numpy as np
from scipy import special

from siis._types import Floats
from siis.evidence import READINGS, read
from siis.labels import Supervision

MOST = 10.0  # times that a held-out label may count more, or less, than one of its class would at random
EVEN = 0.9  # of the classes: the effective number of classes above which they are of like size
EVEN_LABELS = 0.7  # the same of the classes among the labels, by squares: a higher one would be met by chance only
BY_CHANCE = 0.02
LEAST_SLOPE = 0.3  # by which wrong labels shrink differences between frequencies at most, as far as it is undone
PSEUDO_COUNT = 10.0  # vertices of each class's given frequency: few vertices leave the shares as the labels have them


def answered_shares(evidence: list[Floats], given: Supervision) -> Floats:
    """Estimate the shares of the classes among all vertices by what is read there.

    Parameters
    ----------
    evidence : list of ndarray of shape (n, c)
        Of each fold.
    given : Supervision

    Returns
    -------
    ndarray of shape (c,)
        They sum to 1.
    """
    counts = PSEUDO_COUNT * given.n_classes * _frequencies(given)
    for F in evidence:
        counts = counts + np.bincount(np.argmax(read(F, READINGS[0]), axis=1), minlength=given.n_classes)
    return np.asarray(counts / counts.sum())


def usual_reading(evidence: Floats, given: Supervision, met: float) -> str:
    """How evidence is read before anything is known: standardised where the classes are of like size, (C4).

    They are not where what is read at all vertices says so, nor where the labels were not drawn evenly: wrong labels
    make frequencies more even than they are.

    Parameters
    ----------
    evidence : ndarray of shape (n, c)
    given : Supervision
    met : float
        Share of held-out labels that is met: about so many are right, at least.

    Returns
    -------
    {"standardized", "balanced"}
    """
    shares = answered_shares([evidence], given)
    n_effective = float(np.exp(-np.sum(shares * np.log(np.maximum(shares, 1e-300)))))
    is_even = n_effective >= EVEN * given.n_classes and labelled_evenness(given, met) >= EVEN_LABELS
    return "standardized" if is_even else READINGS[0]


def labelled_evenness(given: Supervision, met: float) -> float:
    """The effective number of classes among the labels, 1 / sum_k p_k^2, over c: 1 where all are alike.

    With a share e = 1 - met of wrong labels, uniform at random, frequencies are q = (1 - e) p + e (1 - p) / (c - 1);
    p is solved from it, and sum_k p_k^2 is less what chance adds to it, (C8b). 1 also where even classes would be as
    uneven by chance, in more than one of fifty draws.

    Parameters
    ----------
    given : Supervision
    met : float

    Returns
    -------
    float
    """
    c, q = given.n_classes, _frequencies(given)
    error = 1 - met
    slope = max(1 - error * c / (c - 1), LEAST_SLOPE)
    n_labels = float(given.votes.sum() ** 2 / np.sum(given.votes**2))
    uneven = float(np.sum((q - 1 / c) ** 2))
    if special.chdtrc(c - 1, n_labels * c * uneven) > BY_CHANCE:
        return 1.0
    excess = (uneven - float(np.sum(q * (1 - q))) / n_labels) / slope**2
    return 1 / (1 + c * max(excess, 0.0))


def population_weights(given: Supervision, shares: Floats) -> Floats:
    """Weigh labels so that each class counts by its share among all vertices, (C8).

    Parameters
    ----------
    given : Supervision
    shares : ndarray of shape (c,)

    Returns
    -------
    ndarray of shape (l,)
    """
    frequencies = _frequencies(given)
    ratio = np.divide(shares, frequencies, out=np.ones_like(shares), where=frequencies > 0)
    return np.asarray(given.votes * (given.Y @ np.clip(ratio, 1 / MOST, MOST)))


def _frequencies(given: Supervision) -> Floats:
    """Frequencies of the classes among the labels as they count in comparisons, shape (c,)."""
    return np.asarray(given.votes @ given.Y / given.votes.sum())
