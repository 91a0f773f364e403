"""Labels of examples -> label terms at vertices."""

from dataclasses import dataclass

import numpy as np

from siis._types import Floats, Ints


@dataclass(frozen=True, eq=False)
class Supervision:
    """The distinct (vertex, class) pairs that were given, each with its weight.

    Attributes
    ----------
    rows : ndarray of shape (l,)
        Vertex.
    codes : ndarray of shape (l,)
        Class.
    weights : ndarray of shape (l,)
        Sum of the sample weights of the examples behind it.
    """

    rows: Ints
    codes: Ints
    weights: Floats


def gather(vertex: Ints, codes: Ints, weights: Floats, n_classes: int) -> Supervision:
    """Merge the labels of examples that share vertex and class: their terms in (M1) add up.

    Parameters
    ----------
    vertex : ndarray of shape (l,)
    codes : ndarray of shape (l,)
    weights : ndarray of shape (l,)
    n_classes : int

    Returns
    -------
    Supervision
    """
    pairs, index = np.unique(vertex * n_classes + codes, return_inverse=True)
    return Supervision(pairs // n_classes, pairs % n_classes, np.bincount(index, weights).astype(np.float64))
