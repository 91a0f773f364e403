"""Where arrays live and how blocks of columns are multiplied: the one place that knows an array library."""

from siis.engine.base import Engine, Operator
from siis.engine.numpy import NUMPY, NumpyEngine

__all__ = ["NUMPY", "Engine", "NumpyEngine", "Operator"]
