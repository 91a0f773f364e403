"""Signs of eigenvectors and singular vectors, which are arbitrary."""

import numpy as np

from siis._types import Floats


def fix_signs(V: Floats) -> Floats:
    """Make the (first) entry of largest magnitude of each column positive; V and the result: (n, k)."""
    largest = V[np.argmax(np.abs(V), axis=0), np.arange(V.shape[1])]
    return np.asarray(V * np.where(largest < 0, -1, 1).astype(V.dtype))
