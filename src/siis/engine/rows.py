"""Norms and dot products of rows and columns, for any array library: ``xp`` is its namespace."""

import numpy as np

from siis._types import Floats, Ints
from siis.engine.types import Array, Namespace


def evenly(n: int, most: int) -> Ints:
    """At most so many of the rows 0 to n - 1, evenly spread and ascending."""
    return np.unique(np.linspace(0, n - 1, min(n, most)).astype(np.int64))


def dots(X: Array, Y: Array, axis: int, xp: Namespace = np) -> Array:
    """Dot products of rows (axis -1) or columns (axis -2) of X and Y, (n, c) or (n, k, c), without that axis."""
    if xp is np:  # one pass and no temporary array, for any strides
        return np.einsum("...i,...i->..." if axis == -1 else "ij,ij->j", X, Y)
    return xp.vecdot(X, Y, axis=axis)


def column_norms(X: Array, xp: Namespace = np) -> Array:
    """Compute the norm, shape (c,), of each column of X, shape (n, c)."""
    return xp.sqrt(dots(X, X, -2, xp))


def row_norms(N: Array, xp: Namespace = np) -> Array:
    """Compute the norm, shape (...), of each row of N, shape (..., c)."""
    return xp.sqrt(dots(N, N, -1, xp))


def group_norms(N: Array, n_groups: int, xp: Namespace = np) -> Array:
    """Compute the norms of equal groups of columns of each row of N, shape (n, k c): shape (n, k)."""
    return row_norms(xp.reshape(N, (N.shape[0], n_groups, N.shape[1] // n_groups)), xp)


def fix_signs(V: Floats) -> Floats:
    """Make the (first) entry of largest magnitude of each column positive, as signs of eigenvectors are arbitrary."""
    largest = V[np.argmax(np.abs(V), axis=0), np.arange(V.shape[1])]
    return np.asarray(V * np.where(largest < 0, -1, 1).astype(V.dtype))
