"""Row norms and row shrinkage: the two non-linear maps of the core.

All take the namespace of their arrays' library as ``xp``.
"""

import numpy as np

from siis._types import Ints
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
    """Compute ||N_i||, shape (n,), for each row of N, shape (n, c)."""
    return xp.sqrt(dots(N, N, -1, xp))


def group_norms(N: Array, n_groups: int, xp: Namespace = np) -> Array:
    """Compute the norms of equal groups of columns of each row of N, shape (n, k c): shape (n, k)."""
    grouped = xp.reshape(N, (N.shape[0], n_groups, N.shape[1] // n_groups))
    return xp.sqrt(dots(grouped, grouped, -1, xp))


def shrink_factors(norms: Array, threshold: Array | float, xp: Namespace = np) -> Array:
    """Compute max(1 - t / ||N_i||, 0), and 0 where N_i = 0: row shrinkage is S_t(N)_i = factor_i N_i."""
    positive = norms > 0
    return xp.where(positive, xp.clip(1 - threshold / xp.where(positive, norms, 1.0), 0.0, None), 0.0)


def shrink_rows(N: Array, threshold: Array | float, xp: Namespace = np) -> Array:
    """Compute S_t(N), the proximal map of t ||.||_{2,1}: shape (n, c)."""
    return shrink_factors(row_norms(N, xp), threshold, xp)[:, None] * N


def project_rows(V: Array, radius: Array | float, xp: Namespace = np) -> Array:
    """Project each row of V to the ball of its radius: shape (n, c)."""
    return V * xp.clip(radius / xp.clip(row_norms(V, xp), 1e-300, None), None, 1.0)[:, None]
