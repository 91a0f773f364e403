"""Array types that cross module boundaries."""

from collections.abc import Callable
from typing import Any, TypeAlias

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

Floats: TypeAlias = NDArray[np.floating[Any]]  # double precision, or single where X is
Ints: TypeAlias = NDArray[np.int64]
Bools: TypeAlias = NDArray[np.bool_]
Sparse: TypeAlias = sp.csr_array
Features: TypeAlias = Any  # an array or a csr_array, shape (n, d)
BlockProduct: TypeAlias = Callable[[Floats], Floats]

MOST_IN_DOUBLE = 20_000_000  # numbers, in an array of examples x classes


def answer_type(n_rows: int, n_classes: int) -> type[np.floating[Any]]:
    """The precision of an array of n_rows examples x n_classes: single where double would fill the memory."""
    return np.float32 if n_rows * n_classes > MOST_IN_DOUBLE else np.float64
