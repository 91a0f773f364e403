"""Columns of a table as features: measures with their gaps and cycles, and choices between categories."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar, Self, TypeAlias

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from siis._types import Floats
from siis.plain_data import check, check_distinct
from siis.tables.cell_formats import CellFormat, ParsedCells
from siis.tables.cell_values import as_texts, bools, fits_single, is_text, marked, median_of, missing, without
from siis.tables.sheet import Sheet
from siis.tables.written_values import CYCLES, ORDERS, SHARES, cycles_of, written
from siis.texts import itemised, plural, quoted

MOST_CATEGORIES = 50
HANDFUL = 3  # cells: a category of that many is frequent, and so many gaps are worth a feature
NOTABLE = 0.05  # share of gaps that is
LARGEST_WHOLE = 2**24  # up to which single precision holds whole numbers
SHOWN_MARKS = 3  # of a column
TITLES = MARKS, INFINITE, FILLED, FLAGGED, ABSENT, UNSEEN = (
    "taken for missing",
    "infinite, taken for missing",
    "missing, filled with the median",
    "missing, filled with the median, and a feature that says so",
    "missing, no category there",
    "never seen when the model was fitted",
)
CORRECT = "Correct it, or leave the column out."
WANTED = {"number": "numbers", "truth": "yes or no", "date": "dates", "clock": "times of day"}


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
        gap = 0.0
        if n_gaps >= HANDFUL and n_gaps >= NOTABLE * numbers.size:
            largest = float(np.abs(known).max()) or 1.0  # a deviation without overflow
            gap = float(np.std(known / largest) * largest)
        return cls(name, cell_format, median_of(known - start), start, cycles, gap)

    @property
    def feature_names(self) -> tuple[str, ...]:
        """Names of the features."""
        turns = tuple(f"{self.name} {cycle} {turn}" for cycle in self.cycles for turn in ("sin", "cos"))
        return (self.name, *turns, *((f"{self.name} missing",) if self.gap else ()))

    @property
    def shown_median(self) -> str:
        """The median as a person writes it."""
        value = self.median
        if self.cell_format.form == "truth" and value in (0.0, 1.0):
            return "yes" if value else "no"
        if self.cell_format.form == "date":
            return written(value + self.start)
        if self.cell_format.form == "clock":
            hour, minute = divmod(round(value * 1440), 60)
            return f"{hour:02d}:{minute:02d}"
        return f"{value:.6g}"

    def precision(self, column: Any) -> type[np.floating[Any]] | None:
        """The precision that a column needs; None if either will do."""
        kind = column.type
        if fits_single([self.median, self.gap]):
            if pa.types.is_float32(kind):
                return np.float32
            ends = pc.min_max(column).as_py().values() if pa.types.is_integer(kind) else ()
            is_small = pa.types.is_integer(kind) and all(abs(end or 0) <= LARGEST_WHOLE for end in ends)
            if is_small or pa.types.is_boolean(kind) or pa.types.is_null(kind):
                return None
        return np.float64

    def read(self, sheet: Sheet) -> ParsedCells:
        """Read the column of a new file; a few strange cells are missing, but most must be of the learned kind."""
        style, unit = self.cell_format.style, self.cell_format.unit
        cells = self.cell_format.read(sheet.columns[self.name], sheet.decimal)
        if cells is None or cells.n_strange > np.count_nonzero(~np.isnan(cells.numbers)):
            order = f", written {ORDERS[style]}," if style in ORDERS else ""
            bare = "" if unit in SHARES else ", or without a unit"
            how = f" in {quoted(unit)}{bare}," if unit else order
            wanted = WANTED[self.cell_format.form] + (f"{how} as when the model was fitted" if how else "")
            raise unreadable(sheet, self.name, wanted, self.cell_format, "Convert the column.")
        return cells

    def encode(self, cells: ParsedCells, column: Any, notes: dict[str, list[str]]) -> Floats:
        """Features of a column as it was read, shape (n, len(feature_names)); notes gaps."""
        numbers = cells.numbers.astype(np.float64, copy=False)  # of one column
        gaps = ~np.isfinite(numbers)
        features = [np.where(gaps, self.median, numbers - self.start)]
        for cycle in self.cycles:
            angle = 2 * np.pi * np.where(gaps, 0.0, numbers) / CYCLES[cycle]
            features += [np.where(gaps, 0.0, np.sin(angle)), np.where(gaps, 0.0, np.cos(angle))]
        if self.gap:
            features.append(np.where(gaps, self.gap, 0.0))
        if cells.unread.any():
            unread = pc.value_counts(pc.utf8_trim_whitespace(column.filter(pa.array(cells.unread)))).to_pylist()
            pairs = sorted((-item["counts"], item["values"]) for item in unread)
            shown = [f"{quoted(text)} {-count:,} x" for count, text in pairs[:SHOWN_MARKS]]
            others = [f"{len(pairs) - SHOWN_MARKS:,} others"] if len(pairs) > SHOWN_MARKS else []
            notes[MARKS].append(f"{quoted(self.name)} ({', '.join(shown + others)})")
        if n_infinite := int(np.count_nonzero(np.isinf(numbers))):
            notes[INFINITE].append(f"{quoted(self.name)} ({n_infinite:,})")
        if n_gaps := int(np.count_nonzero(gaps)):
            filled = f"{quoted(self.name)} ({plural(n_gaps, 'cell')}, {self.shown_median})"
            notes[FLAGGED if self.gap else FILLED].append(filled)
        return np.column_stack(features)


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

    def encode(self, sheet: Sheet, notes: dict[str, list[str]]) -> Floats:
        """Features of the column, shape (n, len(feature_names)); notes missing and unseen categories."""
        column = sheet.columns[self.name]
        texts = as_texts(column)
        if texts is None:
            problem = f"feature {quoted(self.name)} must hold categories; it holds {column.type}. Convert the column."
            raise ValueError(f"{sheet.path}: {problem}")
        present = without(texts, missing(texts))
        found = pc.fill_null(pc.index_in(present, value_set=pa.array(self.values, type=texts.type)), -1)
        codes = np.array(found.to_numpy(), dtype=np.int64)
        is_present = bools(present.is_valid())
        strange = is_present & (codes < 0)
        if not is_present.all():
            notes[ABSENT].append(f"{quoted(self.name)} ({plural(int(np.count_nonzero(~is_present)), 'cell')})")
        if self.other:
            codes[strange] = len(self.values)
        elif strange.any():
            cell = quoted(str(present[int(np.argmax(strange))].as_py()))
            cells = plural(int(np.count_nonzero(strange)), "cell")
            notes[UNSEEN].append(f"{quoted(self.name)} ({cells}, {cell} for one: no category there)")
        X = np.zeros((codes.size, len(self.feature_names)))
        rows = np.flatnonzero(codes >= 0)
        X[rows, codes[rows]] = self.scale
        return X


Part: TypeAlias = Measure | Choice


def encode_parts(
    parts: Sequence[Part], sheet: Sheet, parsed: Mapping[str, ParsedCells] | None = None
) -> tuple[Floats, list[str]]:
    """Features, (n, d), float32 if no column needs float64, and notes; ``parsed`` holds columns read before."""
    needed = {part.precision(sheet.columns[part.name]) for part in parts if isinstance(part, Measure)}
    is_single = np.float32 in needed and np.float64 not in needed
    d = sum(len(part.feature_names) for part in parts)
    X = np.empty((sheet.n, d), dtype=np.float32 if is_single else np.float64)
    notes: dict[str, list[str]] = {title: [] for title in TITLES}
    at = 0
    for part in parts:
        if isinstance(part, Choice):
            block = part.encode(sheet, notes)
        else:
            cells = (parsed or {}).get(part.name) or part.read(sheet)
            block = part.encode(cells, sheet.columns[part.name], notes)
        X[:, at : at + block.shape[1]] = block
        at += block.shape[1]
    return X, [f"{title}: {itemised(items)}" for title, items in notes.items() if items]


def unreadable(sheet: Sheet, name: str, wanted: str, cell_format: CellFormat, remedy: str = CORRECT) -> ValueError:
    """The error that a column is not of the wanted kind, with the first cell that is not."""
    column = sheet.columns[name]
    found = f"it holds {column.type}"
    cells = cell_format.read(column, sheet.decimal) if is_text(column) else None
    if cells is not None:
        row = int(np.argmax(cells.unread & ~bools(marked(column))))
        found = f"row {row + 1:,} says {quoted(str(column[row].as_py()).strip())}"
    return ValueError(f"{sheet.path}: feature {quoted(name)} must hold {wanted}; {found}. {remedy}")
