"""Columns of a table as features."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from siis._types import Bools, Floats
from siis.plain_data import check_distinct
from siis.tables.amounts import SHARES
from siis.tables.cell_formats import CellFormat, ParsedCells
from siis.tables.cell_values import as_texts, bools, fits_single, is_text, marked
from siis.tables.parts import Choice, Measure, Part
from siis.tables.sheet import Sheet
from siis.tables.times import ORDERS
from siis.texts import itemised, plural, quoted

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
WANTED = {"number": "numbers", "truth": "yes or no", "date": "dates", "clock": "times of day"}


@dataclass(frozen=True, eq=False)
class Columns:
    """Encodes columns of a table as features."""

    kind: ClassVar[str] = "columns"
    parts: tuple[Part, ...]  # (k,): what each column becomes

    def __post_init__(self) -> None:
        check_distinct(self.names, "columns")

    @property
    def names(self) -> tuple[str, ...]:
        """The columns."""
        return tuple(part.name for part in self.parts)

    @property
    def feature_names(self) -> tuple[str, ...]:
        """Names of the features, d of them."""
        return tuple(name for part in self.parts for name in part.feature_names)

    @property
    def n_features(self) -> int:
        """Number of features, d."""
        return len(self.feature_names)

    def encode(self, sheet: Sheet, parsed: Mapping[str, ParsedCells] | None = None) -> tuple[Floats, list[str]]:
        """Features, (n, d), float32 if no column needs float64, and notes; ``parsed`` holds columns read before."""
        X = np.empty((sheet.n, self.n_features), dtype=_precision(sheet, self.parts))
        notes: dict[str, list[str]] = {title: [] for title in TITLES}
        parsed = parsed or {}
        at = 0
        for part in self.parts:
            column = sheet.column(part.name, "a feature")
            if isinstance(part, Choice):
                block = part.encode(_codes(sheet, part, column, notes))
            else:
                cells = parsed.get(part.name)
                cells = _cells(sheet, part, column) if cells is None else cells
                block = part.encode(cells.numbers)
                _note_gaps(part, cells, column, notes)
            X[:, at : at + block.shape[1]] = block
            at += block.shape[1]
        return X, [f"{title}: {itemised(items)}" for title, items in notes.items() if items]


def _note_gaps(part: Measure, cells: ParsedCells, column: Any, notes: dict[str, list[str]]) -> None:
    """Note what a column of numbers lacks."""
    n_gaps = int(np.count_nonzero(~np.isfinite(cells.numbers)))
    if cells.unread.any():
        notes[MARKS].append(f"{quoted(part.name)} ({_counted(column, cells.unread)})")
    if n_infinite := int(np.count_nonzero(np.isinf(cells.numbers))):
        notes[INFINITE].append(f"{quoted(part.name)} ({n_infinite:,})")
    if n_gaps:
        notes[FLAGGED if part.gap else FILLED].append(
            f"{quoted(part.name)} ({plural(n_gaps, 'cell')}, {part.shown_median})"
        )


def _counted(column: Any, at: Bools) -> str:
    """The texts of some cells with their numbers, the commonest first."""
    found = pc.utf8_trim_whitespace(column.filter(pa.chunked_array([pa.array(at)])))
    pairs = [(item["values"], item["counts"]) for item in pc.value_counts(found).to_pylist()]
    pairs.sort(key=lambda pair: (-pair[1], pair[0]))
    shown = [f"{quoted(text)} {count:,} x" for text, count in pairs[:SHOWN_MARKS]]
    return ", ".join(shown + ([f"{len(pairs) - SHOWN_MARKS:,} others"] if len(pairs) > SHOWN_MARKS else []))


def _precision(sheet: Sheet, parts: Iterable[Part]) -> type[np.floating[Any]]:
    """float32 if a column is and none needs float64; categories and small whole numbers fit either."""
    measured = [part for part in parts if isinstance(part, Measure)]
    needed = {_needed(sheet.column(part.name, "a feature"), part) for part in measured}
    return np.float32 if np.float32 in needed and np.float64 not in needed else np.float64


def _needed(column: Any, part: Measure) -> type[np.floating[Any]] | None:
    """The precision that a column of numbers needs; None if either will do."""
    kind = column.type
    if not fits_single([part.median, part.gap]):
        return np.float64
    if pa.types.is_float32(kind):
        return np.float32
    if pa.types.is_boolean(kind) or pa.types.is_null(kind):
        return None
    if pa.types.is_integer(kind):
        ends = [end for end in pc.min_max(column).as_py().values() if end is not None]
        return None if all(abs(end) <= LARGEST_WHOLE for end in ends) else np.float64
    return np.float64


def _cells(sheet: Sheet, part: Measure, column: Any) -> ParsedCells:
    """Read a column of a new file; a few strange cells are missing, but most must be of the learned kind."""
    cells = part.cell_format.read(column, sheet.decimal)
    if cells is None or cells.n_strange > np.count_nonzero(~np.isnan(cells.numbers)):
        raise unreadable(sheet, part.name, _as_fitted(part.cell_format), part.cell_format, "Convert the column.")
    return cells


def _as_fitted(cell_format: CellFormat) -> str:
    """What the column held when the model was fitted."""
    bare = "" if cell_format.unit in SHARES else ", or without a unit"
    unit = f" in {quoted(cell_format.unit)}{bare}," if cell_format.unit else ""
    order = f", written {ORDERS[cell_format.style]}," if cell_format.style in ORDERS else ""
    how = unit or order
    return f"{WANTED[cell_format.form]}{how} as when the model was fitted" if how else WANTED[cell_format.form]


def unreadable(
    sheet: Sheet,
    name: str,
    wanted: str,
    cell_format: CellFormat,
    remedy: str = "Correct it, or leave the column out.",
) -> ValueError:
    """The error that a column is not of the wanted kind, with the first cell that is not."""
    column = sheet.columns[name]
    found = f"it holds {column.type}"
    cells = cell_format.read(column, sheet.decimal) if is_text(column) else None
    if cells is not None:
        row = int(np.argmax(cells.unread & ~bools(marked(column))))
        found = f"row {row + 1:,} says {quoted(str(column[row].as_py()).strip())}"
    return ValueError(f"{sheet.path}: feature {quoted(name)} must hold {wanted}; {found}. {remedy}")


def _codes(sheet: Sheet, part: Choice, column: Any, notes: dict[str, list[str]]) -> Any:
    """The category of each row, shape (n,); -1 if missing, or unseen without a category for others."""
    texts = as_texts(column)
    if texts is None:
        raise ValueError(
            f"{sheet.path}: feature {quoted(part.name)} must hold categories; it holds {column.type}. Convert the "
            "column."
        )
    codes, present = part.codes(texts)
    is_present = bools(present.is_valid())
    n_missing = int(np.count_nonzero(~is_present))
    if n_missing:
        notes[ABSENT].append(f"{quoted(part.name)} ({plural(n_missing, 'cell')})")
    strange = is_present & (codes < 0)
    if part.other:
        codes[strange] = len(part.values)
    elif strange.any():
        cell = quoted(str(present[int(np.argmax(strange))].as_py()))
        cells = plural(int(np.count_nonzero(strange)), "cell")
        notes[UNSEEN].append(f"{quoted(part.name)} ({cells}, {cell} for one: no category there)")
    return codes
