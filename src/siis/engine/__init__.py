"""Where arrays live and how blocks of columns are multiplied: the only package that knows array libraries."""

from siis.engine.base import Engine, Operator
from siis.engine.numpy import NUMPY, NumpyEngine

__all__ = ["NUMPY", "Engine", "NumpyEngine", "Operator"]
