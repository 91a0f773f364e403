"""Clear differences between examples in one column, read as features are."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow.compute as pc

from siis.tables.cell_formats import learn_format
from siis.tables.cell_values import missing, without

CLEARLY = 1.0  # standard deviations: numbers that are no farther apart are not called different
ONE_IS_MISSING = 2 * CLEARLY  # what counts where one example has a number and the other has none
FEW = 10  # different texts, that a column of categories may have however few examples there are
MARKED = (
    "another text, or a number, an amount or a date more than one standard deviation away; columns of texts that "
    "nearly all differ are not marked"
)


@dataclass(frozen=True, eq=False)
class Contrast:
    """The values of some examples in a column, and when they clearly differ."""

    values: Mapping[int, Any]  # the number of each example, or its text; None where a cell is missing
    spread: float | None  # standard deviation of the numbers in the whole column; None for a column of texts
    is_truth: bool  # its numbers are truth values
    # of a different text, from 1 if few texts repeat to 0 if all cells differ; 1 for numbers
    weight: float
    is_marked: bool  # false for texts that nearly all differ: a difference means nothing

    def apart(self, i: int, j: int) -> float:
        """Distance of two examples: numbers in standard deviations (2 if one is missing), texts 0 or 1."""
        a, b = self.values[i], self.values[j]
        if self.spread is None:
            return float(a != b)
        if a is None or b is None:
            return 0.0 if a is b else ONE_IS_MISSING
        return abs(a - b) / self.spread if self.spread > 0 else 0.0

    def differs(self, i: int, j: int) -> bool:
        """Whether two examples differ clearly, as ``MARKED`` says."""
        return self.is_marked and self.apart(i, j) > (0.0 if self.spread is None else CLEARLY)


def contrast(column: Any, decimal: str, examples: Iterable[int]) -> Contrast:
    """Some examples of a column of n strings, parsed as features are: by the form that the whole column has."""
    found = learn_format(column, decimal)
    if found is not None:
        cell_format, cells = found
        numbers = cells.numbers.astype(np.float64, copy=False)
        known = np.isfinite(numbers)
        if known.any():
            largest = float(np.abs(numbers[known]).max()) or 1.0  # numbers however large
            scaled = numbers / largest
            values = {i: float(scaled[i]) if known[i] else None for i in examples}
            return Contrast(values, float(np.std(scaled[known])), cell_format.form == "truth", 1.0, True)
    present = without(column, missing(column))
    n_present, n_distinct = len(present) - present.null_count, len(pc.unique(present.drop_null()))
    is_marked = n_distinct <= max(FEW, n_present / 2)
    weight = 1 - max(n_distinct - 1, 0) / max(len(present) - 1, 1)
    return Contrast({i: present[i].as_py() for i in examples}, None, False, weight, is_marked)
