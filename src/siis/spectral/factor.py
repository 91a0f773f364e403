"""What the pivots of a factorisation say about the spectrum."""

import warnings

import numpy as np
import scipy.sparse as sp

from siis._types import Sparse
from siis.linear import factorize


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
