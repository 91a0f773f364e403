"""Where arrays live and how blocks of columns are multiplied: the one place that knows an array library."""

from siis.engine.base import Engine, Operator
from siis.engine.numpy import NUMPY, NumpyEngine
from siis.engine.types import Array, Namespace, Precision

__all__ = ["NUMPY", "Array", "Engine", "Namespace", "NumpyEngine", "Operator", "Precision"]
