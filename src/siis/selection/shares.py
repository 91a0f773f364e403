"""Held-out labels weighed as the classes are in the population, however the labelled examples were drawn."""

import numpy as np

from siis._types import Floats
from siis.evidence import READINGS, read
from siis.labels import Supervision

MOST = 10.0  # times that a held-out label may count more, or less, than one of its class would at random
EVEN = 0.9  # of the classes: the effective number of classes above which they are of like size
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


def usual_reading(evidence: Floats, given: Supervision) -> str:
    """How evidence is read before anything is known: standardised where the classes are of like size, (C4).

    Parameters
    ----------
    evidence : ndarray of shape (n, c)
    given : Supervision

    Returns
    -------
    {"standardized", "balanced"}
    """
    shares = answered_shares([evidence], given)
    n_effective = float(np.exp(-np.sum(shares * np.log(np.maximum(shares, 1e-300)))))
    return "standardized" if n_effective >= EVEN * given.n_classes else READINGS[0]


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
