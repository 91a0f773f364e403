"""How the cells of a column become numbers: learned from the whole column, and applied to new files."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from siis._types import Bools, Floats
from siis.plain_data import check
from siis.tables.amounts import SHARES, commonest_unit, read_amounts
from siis.tables.cell_values import as_numbers, bools, is_text, marked, missing
from siis.tables.times import ORDERS, read_clock, read_days, typed_days

TRUTH = {"true": 1.0, "yes": 1.0, "y": 1.0, "t": 1.0, "false": 0.0, "no": 0.0, "n": 0.0, "f": 0.0}
PAIRS = ({"true", "false"}, {"yes", "no"}, {"y", "n"}, {"t", "f"})
STYLES = {"number": ("", ".", ","), "truth": ("",), "date": ("", *ORDERS), "clock": ("",)}  # by form
LOOKS = {"number": r"\d", "date": r"\d[-/.]\d+[-/.]\d|[A-Za-z]{3}.*\d\d|\d.*[A-Za-z]{3}.*\d\d", "clock": r"\d:\d\d"}
SHORT_YEAR = r"^\d{1,2}[-.]\d{1,2}[-.]\d{2}(?:\D|$)"
SAMPLE = 100  # texts that are looked at first
LONGEST = 64  # characters of a text that may be a number or a date
FEW = 0.1  # share of cells that may be no numbers in a column of numbers
ONE_WORD = 1 / 3  # the same, where one word without digits stands in all of them


@dataclass(frozen=True, eq=False)
class ParsedCells:
    """A column as numbers."""

    numbers: Floats  # (n,): NaN if missing; infinities stay
    unread: Bools  # (n,): cells with a text that is no number: a mark for missing, or an error
    n_strange: int = 0  # number of them that are no known marks


@dataclass(frozen=True)
class CellFormat:
    """How cells become numbers."""

    # {"number", "truth", "date", "clock"}: truth values are 0 and 1, dates are days since 1970, times of day are
    # shares of it
    form: str
    # numbers: the decimal mark, "." or ","; empty: that of the file. Dates: their order, a key of ORDERS; empty: as
    # the column shows.
    style: str = ""
    unit: str = ""  # that may precede or follow a number

    def __post_init__(self) -> None:
        check(self.style in STYLES.get(self.form, ()), "a known form and style")

    def read(self, column: Any, decimal: str) -> ParsedCells | None:
        """Read a column; None if its type cannot hold such values. decimal: the mark of the file."""
        if pa.types.is_null(column.type):
            return _plain(np.full(len(column), np.nan))
        if not is_text(column):
            return self._typed(column, decimal)
        if self.form == "number" and not self.style and not self.unit:
            numbers = as_numbers(column, decimal)
            if numbers is not None:
                return _plain(numbers)
        return _cells(_present(column), self._values(_present(column), decimal))

    def _typed(self, column: Any, decimal: str) -> ParsedCells | None:
        if pa.types.is_temporal(column.type):
            is_clock = pa.types.is_time(column.type)
            form = "clock" if is_clock else "number" if pa.types.is_duration(column.type) else "date"
            return _plain(typed_days(column)) if form == self.form else None
        numbers = as_numbers(column, decimal) if self.form in ("number", "truth") else None
        return None if numbers is None else _plain(numbers)

    def _values(self, present: Any, decimal: str) -> Floats:
        """Numbers of texts, NaN for missing and other texts."""
        if self.form == "clock":
            return read_clock(present)
        if self.form == "date":
            return read_days(present, self.style or _order(present))
        if self.form == "truth":
            words = np.array(list(TRUTH.values()))
            at = pc.index_in(pc.ascii_lower(present), value_set=pa.array(list(TRUTH), present.type))
            values = words[np.array(pc.fill_null(at, 0).to_numpy(zero_copy_only=False), dtype=np.int64)]
            return np.where(bools(at.is_valid()), values, _in_unit(*read_amounts(present, "."), ""))
        return _in_unit(*read_amounts(present, self.style or decimal), self.unit)


def learn_format(column: Any, decimal: str) -> tuple[CellFormat, ParsedCells] | None:
    """How to read a column as numbers, with its cells; None if most cells are no numbers, dates or truth values."""
    if is_text(column):
        return _learn_texts(column, decimal)
    usual = "truth" if pa.types.is_boolean(column.type) else "number"
    for cell_format in (CellFormat(usual), CellFormat("date"), CellFormat("clock")):
        cells = cell_format.read(column, decimal)
        if cells is not None:
            return cell_format, cells
    return None


def _learn_texts(column: Any, decimal: str) -> tuple[CellFormat, ParsedCells] | None:
    present = _present(column)
    if _are_truth_values(present):
        return _checked_format(CellFormat("truth"), present, decimal)
    numbers = as_numbers(column, decimal)
    if numbers is not None:
        return CellFormat("number"), _plain(numbers)
    if pc.any(pc.match_substring_regex(present, r"\d")).as_py():
        for form in _possible_forms(present):
            found = _checked_format(_styled(form, present, decimal), present, decimal)
            if found is not None:
                return found
    return None


def ambiguous(column: Any, cell_format: CellFormat) -> bool:
    """Whether days and months of a column could be exchanged."""
    if cell_format.style not in ("mdy", "dmy") or not is_text(column):
        return False
    one, other = (read_days(_present(column), order) for order in ("mdy", "dmy"))
    read_alike = np.array_equal(np.isnan(one), np.isnan(other))
    return bool(read_alike) and not np.array_equal(one, other, equal_nan=True)


def _present(column: Any) -> Any:
    """Stripped texts; null where one is missing."""
    column = column.combine_chunks() if isinstance(column, pa.ChunkedArray) else column
    return pc.if_else(missing(column), pa.scalar(None, column.type), pc.utf8_trim_whitespace(column))


def _plain(numbers: Floats) -> ParsedCells:
    return ParsedCells(numbers, np.zeros(numbers.size, dtype=bool))


def _cells(present: Any, values: Floats) -> ParsedCells:
    unread = bools(present.is_valid()) & np.isnan(values)
    n_strange = int(np.count_nonzero(unread & ~bools(marked(present)))) if unread.any() else 0
    return ParsedCells(values, unread, n_strange)


def _checked_format(cell_format: CellFormat, present: Any, decimal: str) -> tuple[CellFormat, ParsedCells] | None:
    """The format with its cells if it reads nearly all of them, else None."""
    cells = _cells(present, cell_format._values(present, decimal))
    n_read = int(np.count_nonzero(~np.isnan(cells.numbers)))
    if n_read == 0:
        return None
    if cells.n_strange:
        if cell_format.form == "date" and pc.any(pc.match_substring_regex(present, SHORT_YEAR)).as_py():
            return None  # versions such as 1.10.22 are dates only where all of them could be
        share = cells.n_strange / (n_read + cells.n_strange)
        strange = pc.unique(present.filter(pa.array(cells.unread & ~bools(marked(present))))).to_pylist()
        is_one_word = len(strange) == 1 and cells.n_strange > 1 and not any(c.isdigit() for c in strange[0])
        if share > (ONE_WORD if is_one_word else FEW):
            return None
    return cell_format, cells


def _possible_forms(present: Any) -> list[str]:
    """Forms that a sample of texts could have; patterns of dates are slow, and few columns need them."""
    is_short = pc.less_equal(pc.utf8_length(present), LONGEST)
    telling = present.filter(pc.and_(is_short, pc.invert(marked(present))))  # where it is null, the filter drops it
    spread = np.unique(np.linspace(0, max(len(telling) - 1, 0), min(SAMPLE, len(telling))).astype(np.int64))
    some = telling.take(pa.array(spread))
    return [form for form, look in LOOKS.items() if pc.any(pc.match_substring_regex(some, look)).as_py()]


def _are_truth_values(present: Any) -> bool:
    words = pc.unique(pc.ascii_lower(present).drop_null())
    return 0 < len(words) <= 2 and any(set(words.to_pylist()) <= pair for pair in PAIRS)


def _in_unit(numbers: Floats, units: Any, unit: str) -> Floats:
    """Amounts in one unit or without; NaN for others, and for numbers but 0 without a percent sign."""
    is_bare = (units == "") & ((numbers == 0) | (unit not in SHARES))
    return np.where(is_bare | (units == unit), numbers, np.nan)


def _styled(form: str, present: Any, decimal: str) -> CellFormat:
    if form == "number":
        return _number_reading(present, decimal)
    return CellFormat(form, _order(present) if form == "date" else "")


def _number_reading(present: Any, decimal: str) -> CellFormat:
    """The decimal mark and unit that read most cells; the mark of the file if both read as many."""
    readings = []
    for mark in (decimal, "," if decimal == "." else "."):
        numbers, units = read_amounts(present, mark)
        found = {
            u: int(np.count_nonzero(~np.isnan(_in_unit(numbers, units, u)))) for u in (commonest_unit(units), "")
        }
        unit = max(found, key=lambda u: found[u])
        readings.append((found[unit], mark, unit))
    (n_usual, usual, unit), (n_other, other, other_unit) = readings
    if n_other == n_usual:
        return CellFormat("number", "", unit)  # nothing shows it: as in the file, and in new files as there
    return CellFormat("number", other, other_unit) if n_other > n_usual else CellFormat("number", usual, unit)


def _order(present: Any) -> str:
    """The order of day, month and year that reads most dates; points mean day.month, else the month is first."""
    n_read = {"ymd": int(np.count_nonzero(~np.isnan(read_days(present, "ymd"))))}
    if n_read["ymd"] == len(present) - present.null_count:
        return "ymd"
    n_read |= {order: int(np.count_nonzero(~np.isnan(read_days(present, order)))) for order in ORDERS}
    best = max(n_read.values())
    has_points = pc.any(pc.match_substring_regex(present, r"^\d{1,2}[.-]")).as_py()
    orders = ("ymd", "dmy", "mdy", "named") if has_points else ("ymd", "mdy", "dmy", "named")
    return next(order for order in orders if n_read[order] == best)
