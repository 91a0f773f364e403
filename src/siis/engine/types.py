"""Type aliases of the engines."""

from collections.abc import Callable
from typing import Any, TypeAlias

import numpy as np

Array: TypeAlias = Any  # an array of the engine's library: NumPy, PyTorch, ...
Report: TypeAlias = Callable[[float], None]  # takes the share of the work that is done
Namespace: TypeAlias = Any  # a module that follows the Python array API standard
Precision: TypeAlias = type[np.floating[Any]]  # np.float64 or np.float32, whatever the library calls them
