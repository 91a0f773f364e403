"""What one column becomes: a measure with its gaps and cycles, or a choice between categories."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar, Self, TypeAlias

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from siis._types import Floats, Ints
from siis.plain_data import check, check_distinct
from siis.tables.cell_formats import CellFormat
from siis.tables.cell_values import median_of, missing
from siis.tables.times import CYCLES, cycles_of, written

MOST_CATEGORIES = 50
HANDFUL = 3  # cells: a category of that many is frequent, and so many gaps are worth a feature
NOTABLE = 0.05  # share of gaps that is


@dataclass(frozen=True)
class Measure:
    """A number, truth value, date or time of day: one feature as it is, and two for each cycle."""

    kind: ClassVar[str] = "measure"
    name: str
    cell_format: CellFormat
    median: float  # for missing values
    start: float = 0.0  # is subtracted: the first date, in days since 1970
    cycles: tuple[str, ...] = ()  # "day", "week", "year": sine and cosine of each; 0 if the value is missing
    # entry of one more feature for missing values, the standard deviation of the others; 0: no such feature
    gap: float = 0.0

    def __post_init__(self) -> None:
        check(self.gap >= 0, "no negative gap")
        check(len(set(self.cycles)) == len(self.cycles) and set(self.cycles) <= set(CYCLES), "different known cycles")

    @classmethod
    def learn(cls, name: str, cell_format: CellFormat, numbers: Floats) -> Self:
        """Learn from the numbers of a column, shape (n,), at least one finite."""
        known = numbers[np.isfinite(numbers)].astype(np.float64, copy=False)
        is_date = cell_format.form == "date"
        start = float(known.min()) if is_date else 0.0
        cycles = cycles_of(known) if is_date else ("day",) if cell_format.form == "clock" else ()
        n_gaps = numbers.size - known.size
        is_notable = n_gaps >= HANDFUL and n_gaps >= NOTABLE * numbers.size
        return cls(
            name, cell_format, median_of(known - start), start, cycles, _deviation(known) if is_notable else 0.0
        )

    @property
    def feature_names(self) -> tuple[str, ...]:
        """Names of the features."""
        turns = tuple(f"{self.name} {cycle} {turn}" for cycle in self.cycles for turn in ("sin", "cos"))
        return (self.name, *turns, *((f"{self.name} missing",) if self.gap else ()))

    def encode(self, numbers: Floats) -> Floats:
        """Features of numbers of shape (n,); returns (n, len(feature_names))."""
        numbers = numbers.astype(np.float64, copy=False)  # of one column
        gaps = ~np.isfinite(numbers)
        features = [np.where(gaps, self.median, numbers - self.start)]
        for cycle in self.cycles:
            angle = 2 * np.pi * np.where(gaps, 0.0, numbers) / CYCLES[cycle]
            features += [np.where(gaps, 0.0, np.sin(angle)), np.where(gaps, 0.0, np.cos(angle))]
        if self.gap:
            features.append(np.where(gaps, self.gap, 0.0))
        return np.column_stack(features)

    @property
    def shown_median(self) -> str:
        """The median as a person writes it."""
        value = self.median
        if self.cell_format.form == "truth" and value in (0.0, 1.0):
            return "yes" if value else "no"
        if self.cell_format.form == "date":
            return written(value + self.start)
        if self.cell_format.form == "clock":
            minutes = round(value * 1440)
            return f"{minutes // 60:02d}:{minutes % 60:02d}"
        return f"{value:.6g}"


@dataclass(frozen=True)
class Choice:
    """A category: one feature for each, with variances that add up to 1, as those of one standardized number."""

    kind: ClassVar[str] = "choice"
    name: str
    values: tuple[str, ...]
    scale: float  # the entry of a category in its feature
    # whether rare and unseen categories form one category; otherwise they are treated as missing
    other: bool = False

    def __post_init__(self) -> None:
        check_distinct(self.values, "categories")
        check(len(self.values) <= MOST_CATEGORIES and self.scale > 0, "a positive scale, and not too many categories")

    @property
    def feature_names(self) -> tuple[str, ...]:
        """Names of the features."""
        return (*(f"{self.name}={value}" for value in self.values), *((f"{self.name} other",) if self.other else ()))

    def codes(self, texts: Any) -> tuple[Ints, Any]:
        """Categories of cells, shape (n,), -1 if none; and the texts, null if missing."""
        present = pc.if_else(missing(texts), pa.scalar(None, texts.type), texts)
        found = pc.fill_null(pc.index_in(present, value_set=pa.array(self.values, type=texts.type)), -1)
        codes = np.array(found.to_numpy(), dtype=np.int64)
        return codes, present

    def encode(self, codes: Ints) -> Floats:
        """Features of codes of shape (n,); returns (n, len(feature_names))."""
        X = np.zeros((codes.size, len(self.feature_names)))
        rows = np.flatnonzero(codes >= 0)
        X[rows, codes[rows]] = self.scale
        return X


Part: TypeAlias = Measure | Choice


def category_scale(counts: Floats, n: int) -> float:
    """Entry of a one-hot column at which all variances add up to 1. counts: rows of each category, (c,)."""
    share = np.asarray(counts, dtype=np.float64) / n
    return float(1 / np.sqrt(np.sum(share * (1 - share))))


def _deviation(values: Floats) -> float:
    """Standard deviation without overflow."""
    largest = float(np.abs(values).max()) or 1.0
    return float(np.std(values / largest) * largest)
