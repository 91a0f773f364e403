"""Results of solvers."""

from dataclasses import dataclass

import numpy as np

from siis._types import Floats, Ints
from siis.program import DualPoint


@dataclass(frozen=True, eq=False)
class History:
    """Measurements; all arrays have one entry for each.

    Attributes
    ----------
    iteration : ndarray of int
    objective : ndarray
        Value of (M1).
    dual_objective : ndarray
        The lower bound of each measurement (of the paper's solver: the largest so far).
    relative_gap : ndarray
        (M7).
    change : ndarray
        max |A_new - A| / max |A| over the last iteration; NaN where A was 0.
    """

    iteration: Ints
    objective: Floats
    dual_objective: Floats
    relative_gap: Floats
    change: Floats


@dataclass(frozen=True, eq=False)
class Solution:
    """Coefficients with a bound on their error.

    Attributes
    ----------
    coefficients : ndarray of shape (m, c)
        A.
    dual : DualPoint
        The multipliers that prove the gap.
    objective : float
        Value of (M1) at A.
    relative_gap : float
        (M7): the objective is at most this far, relatively, above the optimum.
    n_iter : int
    status : {"certified", "stopped", "max_iter"}
        "certified": the gap is below the tolerance. "stopped": the paper's step rule. "max_iter": neither in time.
    history : History
    """

    coefficients: Floats
    dual: DualPoint
    objective: float
    relative_gap: float
    n_iter: int
    status: str
    history: History


class Recorder:
    """Collects measurements."""

    def __init__(self) -> None:
        self.rows: list[tuple[int, float, float, float, float]] = []

    def add(self, iteration: int, objective: float, dual: float, gap: float, change: float) -> None:
        """Append one measurement."""
        self.rows.append((iteration, objective, dual, gap, change))

    def history(self) -> History:
        """Give the measurements as arrays."""
        columns = np.array(self.rows, dtype=np.float64).reshape(-1, 5).T
        return History(columns[0].astype(np.int64), *columns[1:])


def relative_change(A: Floats, before: Floats) -> float:
    """Compute max |A - before| / max |before|; NaN where before = 0 (the paper's ratio is undefined there)."""
    scale = np.abs(before).max()
    return float(np.abs(A - before).max() / scale) if scale > 0 else float("nan")
