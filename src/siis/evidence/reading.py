"""Reading soft labels: which class a row speaks for, when noise and smoothing have shrunk the columns unequally."""

import numpy as np
from scipy import special

from siis._types import Floats

READINGS = ("standardized", "plain")
SHARPNESS = 2.0  # of the distributions that enter the program, in standard deviations


def read(F: Floats, reading: str) -> Floats:
    """Put soft labels on one scale, so that the largest entry of a row is its class, (C4).

    "standardized": each column less its mean, over its standard deviation. Wrong labels and smoothing pull a column
    to its mean, and the columns of some classes more than others; the order within a column stays. "plain": all
    columns over one standard deviation.

    Parameters
    ----------
    F : ndarray of shape (n, c)
    reading : {"standardized", "plain"}

    Returns
    -------
    ndarray of shape (n, c)
    """
    deviation = F.std(axis=0)
    if reading == "plain":
        overall = float(np.sqrt(np.mean(deviation**2)))
        return F / overall if overall > 0 else F
    flat = deviation <= 1e-6 * deviation.max(initial=0.0)  # a class that nothing speaks for
    Z: Floats = (F - F.mean(axis=0)) / np.where(flat, 1.0, deviation)  # (C4)
    Z[:, flat] = Z.min(initial=0.0)
    return Z


def softmax(Z: Floats, sharpness: float = SHARPNESS) -> Floats:
    """Turn readings into distributions, exp(sharpness z) over its sum.

    Parameters
    ----------
    Z : ndarray of shape (n, c)
    sharpness : float

    Returns
    -------
    ndarray of shape (n, c)
    """
    return np.asarray(special.softmax(sharpness * Z, axis=1))


def as_distributions(F: Floats, n_classes: int) -> Floats:
    """Undo the paper's coding: one column f becomes ((1 - f) / 2, (1 + f) / 2).

    Parameters
    ----------
    F : ndarray of shape (n, 1) or (n, c)
    n_classes : int

    Returns
    -------
    ndarray of shape (n, c)
    """
    return np.hstack([1 - F, 1 + F]) / 2 if n_classes == 2 else F
