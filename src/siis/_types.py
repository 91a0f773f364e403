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
