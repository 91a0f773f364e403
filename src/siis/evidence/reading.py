"""Reading soft labels: which class a row speaks for, when noise and smoothing have shrunk the columns unequally."""

import numpy as np

from siis._types import Floats, Ints
from siis.engine import NUMPY, Engine

READINGS = ("balanced", "standardized", "centered")
SHARPNESS = 2.0  # of the distributions that enter the program, in standard deviations


def read(F: Floats, reading: str, rows: Ints | None = None, engine: Engine = NUMPY) -> Floats:
    """Put soft labels on one scale, so that the largest entry of a row is its class, (C4).

    Soft labels are what is smoothed of y - q, the labels less their frequencies q. "centered": as they are. Wrong
    labels and smoothing pull a column to its mean, and the columns of some classes more than others; "standardized"
    undoes this where classes are of like size: each column less its mean, over its standard deviation. Where they are
    not, the column of a large class varies more because there is more of it, and standardising would take that away;
    "balanced" divides by the root of the standard deviation alone and is seldom far behind the better of the others.
    All are over one scale in the end: the root mean square of the entries' deviations is 1.

    Parameters
    ----------
    F : ndarray of shape (n, c)
    reading : {"balanced", "standardized", "centered"}
    rows : ndarray of shape (h,), optional
        The rows that are wanted, put on the scale of all of them; all if left out.
    engine : Engine
        NumPy's, or of shards, where F holds the rows of one.

    Returns
    -------
    ndarray of shape (n, c) or (h, c)
    """
    mean, deviation = engine.mean(F), engine.deviation(F)
    flat = deviation <= 1e-6 * deviation.max(initial=0.0)  # a class that nothing speaks for
    wanted = F if rows is None else F[rows]
    if reading == "standardized":
        scale = np.where(flat, 1.0, deviation)
        Z: Floats = wanted - mean
        Z /= scale  # (C4)
        if flat.any():
            Z[:, flat] = np.min((engine.xp.min(F, axis=0) - mean) / scale, initial=0.0)
        return Z
    scale = np.where(flat, 1.0, np.sqrt(deviation)) if reading == "balanced" else np.ones_like(deviation)
    overall = float(np.sqrt(np.mean((deviation / scale) ** 2, dtype=np.float64)))
    return np.asarray(wanted / (scale * overall) if overall > 0 else wanted / scale)


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
    P = np.multiply(Z, sharpness, dtype=Z.dtype)
    P -= P.max(axis=1, keepdims=True, initial=-np.inf)
    np.exp(P, out=P)
    P /= P.sum(axis=1, keepdims=True)
    return P


def as_scores(P: Floats) -> Floats:
    """Turn distributions of ``softmax`` back into readings, but for a number that is the same in a row.

    Parameters
    ----------
    P : ndarray of shape (n, c)

    Returns
    -------
    ndarray of shape (n, c)
    """
    scores = np.log(np.maximum(P, np.finfo(P.dtype).tiny))  # what was rounded to 0 has a logarithm, too
    scores /= SHARPNESS
    return np.asarray(scores)


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
