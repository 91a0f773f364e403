"""How accurate values, bounds and rows are in single and in double precision."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from siis.engine.types import Precision

SHORTEST_ROW = 1e-4  # of a label's length: lower bound of the length at which a row counts as short
ROW_ROUNDINGS = 3e4  # of the precision: rows count as no shorter, since multipliers carry rounding over length


@dataclass(frozen=True)
class Accuracy:
    """What rounding leaves of a solution; ``floor`` and ``rounding`` are shares of the value at A = 0."""

    eps: float  # distance from 1 to the next number
    floor: float  # how far rounding may have lowered a gap
    rounding: float  # how far rounding may lift the bound over the value

    @classmethod
    def of(cls, dtype: Precision) -> Accuracy:
        """The accuracy of work in one precision."""
        eps = float(np.finfo(dtype).eps)
        return cls(eps, 0.0, 1e-9) if dtype == np.float64 else cls(eps, 1e-6, 1e-5)

    @property
    def shortest_row(self) -> float:
        """Lower bound of the length of a row, over a label's length."""
        return max(SHORTEST_ROW, ROW_ROUNDINGS * self.eps)
