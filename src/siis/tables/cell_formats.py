"""How the cells of a column become numbers: learned from the whole column, and applied to new files."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from siis._types import Bools, Floats
from siis.plain_data import check
from siis.tables.cell_values import as_numbers, bools, is_text, marked, missing, without
from siis.tables.written_values import ORDERS, SHARES, commonest_unit, read_amounts, read_clock, read_days, typed_days

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
        kind = column.type
        if pa.types.is_null(kind):
            return _plain(np.full(len(column), np.nan))
        if pa.types.is_temporal(kind):
            form = "clock" if pa.types.is_time(kind) else "number" if pa.types.is_duration(kind) else "date"
            return _plain(typed_days(column)) if form == self.form else None
        if not is_text(column):
            numbers = as_numbers(column, decimal) if self.form in ("number", "truth") else None
            return None if numbers is None else _plain(numbers)
        if self == CellFormat("number") and (numbers := as_numbers(column, decimal)) is not None:
            return _plain(numbers)
        present = _present(column)
        return _cells(present, self._values(present, decimal))

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
    if not is_text(column):
        usual = "truth" if pa.types.is_boolean(column.type) else "number"
        formats = (CellFormat(usual), CellFormat("date"), CellFormat("clock"))
        return next(((one, cells) for one in formats if (cells := one.read(column, decimal)) is not None), None)
    present = _present(column)
    words = set(pc.unique(pc.ascii_lower(present).drop_null()).to_pylist())
    if words and any(words <= pair for pair in PAIRS):
        return _checked_format(CellFormat("truth"), present, decimal)
    numbers = as_numbers(column, decimal)
    if numbers is not None:
        return CellFormat("number"), _plain(numbers)
    for form in possible_forms(present):
        cell_format = _number_format(present, decimal) if form == "number" else CellFormat(form)
        cell_format = CellFormat("date", _order(present)) if form == "date" else cell_format
        if (found := _checked_format(cell_format, present, decimal)) is not None:
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
    return without(pc.utf8_trim_whitespace(column), missing(column))


def _plain(numbers: Floats) -> ParsedCells:
    return ParsedCells(numbers, np.zeros(numbers.size, dtype=bool))


def _cells(present: Any, values: Floats) -> ParsedCells:
    unread = bools(present.is_valid()) & np.isnan(values)
    n_strange = int(np.count_nonzero(unread & ~bools(marked(present)))) if unread.any() else 0
    return ParsedCells(values, unread, n_strange)


def _checked_format(cell_format: CellFormat, present: Any, decimal: str) -> tuple[CellFormat, ParsedCells] | None:
    """The format with its cells if it reads nearly all of them, else None."""
    cells = _cells(present, cell_format._values(present, decimal))
    n_read = _n_read(cells.numbers)
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


def possible_forms(present: Any) -> list[str]:
    """Forms that a sample of texts could have; patterns of dates are slow, and few columns need them."""
    is_short = pc.less_equal(pc.utf8_length(present), LONGEST)
    telling = present.filter(pc.and_(is_short, pc.invert(marked(present))))  # where it is null, the filter drops it
    spread = np.unique(np.linspace(0, max(len(telling) - 1, 0), min(SAMPLE, len(telling))).astype(np.int64))
    some = telling.take(pa.array(spread))
    return [form for form, look in LOOKS.items() if pc.any(pc.match_substring_regex(some, look)).as_py()]


def _in_unit(numbers: Floats, units: Any, unit: str) -> Floats:
    """Amounts in one unit or without; NaN for others, and for numbers but 0 without a percent sign."""
    is_bare = (units == "") & ((numbers == 0) | (unit not in SHARES))
    return np.where(is_bare | (units == unit), numbers, np.nan)


def _number_format(present: Any, decimal: str) -> CellFormat:
    """The decimal mark and unit that read most cells; the mark of the file if both read as many."""
    found = []
    for mark in (decimal, "," if decimal == "." else "."):
        numbers, units = read_amounts(present, mark)
        n_read = {unit: _n_read(_in_unit(numbers, units, unit)) for unit in (commonest_unit(units), "")}
        unit = max(n_read, key=lambda unit: n_read[unit])
        found.append((n_read[unit], mark, unit))
    if found[0][0] == found[1][0]:  # nothing shows the mark: as in the file, and in new files as there
        return CellFormat("number", "", found[0][2])
    return CellFormat("number", *max(found)[1:])


def _order(present: Any) -> str:
    """The order of day, month and year that reads most dates; points mean day.month, else the month is first."""
    n_read = {"ymd": _n_read(read_days(present, "ymd"))}
    if n_read["ymd"] == len(present) - present.null_count:
        return "ymd"
    n_read |= {order: _n_read(read_days(present, order)) for order in ORDERS}
    has_points = pc.any(pc.match_substring_regex(present, r"^\d{1,2}[.-]")).as_py()
    orders = ("ymd", "dmy", "mdy", "named") if has_points else ("ymd", "mdy", "dmy", "named")
    return max(orders, key=lambda order: n_read[order])


def _n_read(values: Floats) -> int:
    return int(np.count_nonzero(~np.isnan(values)))
