"""Row norms and row shrinkage: the two non-linear maps of the core."""

import numpy as np

from siis._types import Floats


def row_norms(N: Floats) -> Floats:
    """Compute ||N_i||, shape (n,), for each row of N, shape (n, c)."""
    norms: Floats = np.sqrt(np.einsum("ij,ij->i", N, N))
    return norms


def group_norms(N: Floats, n_groups: int) -> Floats:
    """Compute the norms of equal groups of columns of each row of N, shape (n, k c): shape (n, k)."""
    grouped = N.reshape(len(N), n_groups, N.shape[1] // n_groups)
    norms: Floats = np.sqrt(np.einsum("igj,igj->ig", grouped, grouped))
    return norms


def shrink_factors(norms: Floats, threshold: Floats | float) -> Floats:
    """Compute max(1 - t / ||N_i||, 0), and 0 where N_i = 0: row shrinkage is S_t(N)_i = factor_i N_i.

    Parameters
    ----------
    norms : ndarray of shape (n,)
    threshold : float or ndarray of shape (n,)
        t.

    Returns
    -------
    ndarray of shape (n,)
    """
    positive = norms > 0
    return np.where(positive, np.maximum(1 - threshold / np.where(positive, norms, 1.0), 0.0), 0.0)


def shrink_rows(N: Floats, threshold: Floats | float) -> Floats:
    """Compute S_t(N), the proximal map of t ||.||_{2,1}: shape (n, c).

    Parameters
    ----------
    N : ndarray of shape (n, c)
    threshold : float or ndarray of shape (n,)
        t.

    Returns
    -------
    ndarray of shape (n, c)
    """
    return shrink_factors(row_norms(N), threshold)[:, None] * N


def project_rows(V: Floats, radius: Floats | float) -> Floats:
    """Project each row of V to the ball of its radius: shape (n, c).

    Parameters
    ----------
    V : ndarray of shape (n, c)
    radius : float or ndarray of shape (n,)

    Returns
    -------
    ndarray of shape (n, c)
    """
    return V * np.minimum(1.0, radius / np.maximum(row_norms(V), 1e-300))[:, None]
