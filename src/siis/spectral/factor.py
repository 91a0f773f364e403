"""What a sparse factorisation costs, and what its pivots say about the spectrum."""

import warnings

import numpy as np
import scipy.sparse as sp
from scipy.sparse.csgraph import reverse_cuthill_mckee
from scipy.sparse.linalg import SuperLU, splu

from siis._types import Sparse

THIN = 0.05  # mean width of the envelope, as a share of n


def envelope_share(S: Sparse) -> float:
    """Measure how far a symmetric matrix is from a narrow band, between 0 and 1.

    The mean distance from the diagonal to the first entry of a row after reverse Cuthill-McKee reordering, over n.
    The envelope bounds the fill of a factorisation. Chains and low-dimensional manifolds are near 0;
    neighbourhood graphs of high-dimensional data are not.

    Parameters
    ----------
    S : csr_array of shape (n, n)

    Returns
    -------
    float
    """
    n = S.shape[0]
    order = reverse_cuthill_mckee(S, symmetric_mode=True)
    place = np.empty(n, dtype=np.int64)
    place[order] = np.arange(n)
    rows = np.repeat(np.arange(n), np.diff(S.indptr))
    first = np.arange(n)
    np.minimum.at(first, place[rows], place[S.indices])
    return float(np.mean(np.arange(n) - first) / n)


def factorize(S: Sparse, shift: float) -> SuperLU:
    """Factorise S + shift I with symmetric pivoting.

    Parameters
    ----------
    S : csr_array of shape (n, n)
    shift : float

    Returns
    -------
    SuperLU
    """
    shifted = sp.csc_array(S + shift * sp.eye_array(S.shape[0]))
    options = {"SymmetricMode": True}
    return splu(shifted, permc_spec="MMD_AT_PLUS_A", diag_pivot_thresh=0.0, options=options)


def count_below(S: Sparse, shift: float) -> int | None:
    """Count the eigenvalues of S below a shift, by Sylvester's law of inertia.

    Parameters
    ----------
    S : csr_array of shape (n, n), symmetric
    shift : float

    Returns
    -------
    int or None
        The number of negative pivots of S - shift I; None where the factorisation had to pivot off the diagonal,
        so that its pivots are no inertia.
    """
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        try:
            factor = factorize(S, -shift)
        except (RuntimeError, sp.linalg.MatrixRankWarning):
            return None
    if not np.array_equal(factor.perm_r, factor.perm_c):
        return None
    return int(np.count_nonzero(factor.U.diagonal() < 0))
