"""What the pivots of a factorisation say about the spectrum."""

import numpy as np

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
    try:
        factor = factorize(S, -shift)
    except RuntimeError:  # exactly singular
        return None
    pivots = factor.U.diagonal()
    if not (np.isfinite(pivots).all() and np.array_equal(factor.perm_r, factor.perm_c)):
        return None
    return int(np.count_nonzero(pivots < 0))
