"""Amounts, dates and times as people write them: money, percents, thousands, units, zones, names of months."""

from __future__ import annotations

from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from siis._types import Bools, Floats
from siis.tables.cell_values import bools, floats

CODES = (
    "usd|eur|gbp|jpy|chf|cny|inr|aud|cad|nzd|sek|nok|dkk|pln|czk|huf|ron|bgn|brl|mxn|ars|clp|cop|zar|krw|rub|uah|try"
    "|ils|aed|sar|sgd|hkd|twd|thb|idr|myr|php|vnd|ngn|kes|egp|mad"
)
MONEY = rf"(?:[A-Z]{{0,3}}\p{{Sc}}|(?i:{CODES})|(?i:kr|zł|rs)\.?)"
UNIT = rf"(?:%|‰|{MONEY}|[^\d\s.,;:()?*#<>=+-][^\d\s,;:()?*#<>=+-]*)"
LONGEST_UNIT = 12
SCALES = {"k": 1e3, "K": 1e3, "M": 1e6, "bn": 1e9}
SHARES = ("%", "‰")  # in such columns a number without a unit may be 50 or 0.5
GROUPS = {".": r"[,' ]", ",": r"[.' ]"}  # what separates thousands, by what separates decimals
LONG_UNIT = 3  # letters of a unit from which on a final s makes its plural
ORDERS = {"ymd": "year-month-day", "mdy": "month/day/year", "dmy": "day/month/year", "named": "with names of months"}
CYCLES = {"day": 1.0, "week": 7.0, "year": 365.2425}  # in days
MONTHS = ("jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec")
PIVOT = 31  # years of two digits: 30 is 2030, 31 is 1931; fixed, so that a model reads the same next year
MOST_DAYS = 1e8  # either side of 1970, so that a stored date is one
CLOCK = (
    r"(?P<hour>\d{1,2}):(?P<minute>\d{2})(?::(?P<second>\d{2}(?:[.,]\d+)?))?\s*(?P<half>[ap]\.?m\.?)?"
    r"\s*(?P<zone>z|utc|gmt|[+-]\d{2}:?\d{2}|[+-]\d{2})?"
)
TAIL = rf"(?:(?:\s*t\s*|,?\s+){CLOCK})?$"
WEEKDAY = r"^(?:(?:mon|tue|wed|thu|fri|sat|sun)[a-z]*\.?,?\s+)?"
NAME = (  # in full or short; januar, juli and octobre too
    r"(?P<name>" + "|".join(MONTHS) + ")"
    r"(?:r?uary?|ch|il|e|i|l?y|ust|t|tembe?re?|obe?re?|embe?re?)?"
)
PATTERNS = {
    "ymd": r"^(?P<year>\d{4})[-/.](?P<month>\d{1,2})[-/.](?P<day>\d{1,2})" + TAIL,
    "mdy": r"^(?P<month>\d{1,2})[-/.](?P<day>\d{1,2})[-/.](?P<year>\d{4}|\d{2})" + TAIL,
    "dmy": r"^(?P<day>\d{1,2})[-/.](?P<month>\d{1,2})[-/.](?P<year>\d{4}|\d{2})" + TAIL,
    "named": WEEKDAY + r"(?P<day>\d{1,2})(?:st|nd|rd|th)?[-/. ]+" + NAME + r"[-/., ]+(?P<year>\d{4}|\d{2})" + TAIL,
}
NAMED_FIRST = WEEKDAY + NAME + r"\.?[- ]+(?P<day>\d{1,2})(?:st|nd|rd|th)?,?[- ]+(?P<year>\d{4})" + TAIL


def read_amounts(texts: Any, decimal: str) -> tuple[Floats, Any]:
    """Amounts as numbers, NaN for other texts, and their units (currency, percent, other or empty), both (n,).

    The letters k, K, M and bn are factors. Spaces, apostrophes and the non-decimal mark may separate thousands.
    """
    found = pc.struct_field
    texts = _normalized(texts)
    parts = pc.extract_regex(texts, _pattern(decimal))
    sign, number = found(parts, "sign"), found(parts, "number")
    digits = pc.replace_substring_regex(number, GROUPS[decimal], "")
    digits = pc.replace_substring(digits, ",", ".") if decimal == "," else digits
    magnitude = floats(pc.cast(digits, pa.float64()))
    is_negative = bools(pc.match_substring(sign, "-"))
    is_endless = bools(pc.match_substring_regex(texts, r"^[+-]?(?i:inf|infinity)$"))
    magnitude[is_endless] = np.inf
    is_negative |= is_endless & bools(pc.match_substring(texts, "-"))
    after = found(parts, "after")
    with np.errstate(over="ignore"):  # 1e308k is endless
        for scale, factor in SCALES.items():
            magnitude[bools(pc.equal(after, scale))] *= factor
    after = pc.if_else(
        pc.is_in(after, value_set=pa.array(list(SCALES), after.type)), pa.scalar("", after.type), after
    )
    joined = pc.binary_join_element_wise(found(parts, "before"), after, pa.scalar("", texts.type))
    coded = pc.fill_null(joined, "").dictionary_encode()
    names = np.array([_unit(name) for name in coded.dictionary.to_pylist()], dtype=object)
    codes = coded.indices.to_numpy()
    magnitude[np.array([len(name) > LONGEST_UNIT for name in names], dtype=bool)[codes]] = np.nan
    units = names[codes]
    return np.where(is_negative, -magnitude, magnitude), units


def has_scales(texts: Any) -> bool:
    """Whether amounts are written in thousands, millions or billions."""
    return bool(pc.any(pc.match_substring_regex(texts, rf"\d\s*(?:{'|'.join(SCALES)})\s*$")).as_py())


def _normalized(texts: Any) -> Any:
    """Write minus signs and spaces in one way, and a minus for parentheses."""
    texts = texts.combine_chunks() if isinstance(texts, pa.ChunkedArray) else texts
    texts = pc.utf8_trim_whitespace(pc.replace_substring_regex(texts, "[\u00a0\u202f\u2009]", " "))
    texts = pc.replace_substring_regex(texts, "[\u2212\u2013]", "-")
    texts = pc.replace_substring(texts, "\u2019", "'")
    return pc.replace_substring_regex(texts, r"^\(([^()+-]*\d[^()+-]*)\)$", r"-\1")


def _pattern(decimal: str) -> str:
    group, point = GROUPS[decimal], "[.]" if decimal == "." else ","
    exponent = r"(?:[eE][+-]?\d+)?"
    whole = rf"(?:[1-9]\d{{0,2}}(?:{group}\d{{2,3}})*{group}\d{{3}}|\d+)"
    proven = rf"\d{{1,3}}(?:{group}\d{{3}})+{point}\d+"  # 0,512 has no thousands, but 0,512.5 does
    number = rf"(?:{proven}|{whole}(?:{point}\d*)?|{point}\d+){exponent}"
    return rf"^(?P<sign>[+-]?\s*(?P<before>{MONEY}?)\s*[+-]?)\s*(?P<number>{number})\s*(?P<after>{UNIT}?)$"


def _unit(text: str) -> str:
    """The unit in one spelling: "day" for "days", "EUR" for "eur"; m and ms, m and M are different units."""
    if text.lower() in CODES.split("|"):
        return text.upper()
    return text[:-1] if text.endswith("s") and len(text) > LONG_UNIT else text


def commonest_unit(units: Any) -> str:
    """The commonest unit of a column, shape (n,); empty if no cell has one."""
    names, counts = np.unique(units[units != ""].astype(str), return_counts=True)
    return str(names[np.argmax(counts)]) if names.size else ""


def typed_days(column: Any) -> Floats:
    """A temporal column in days (since 1970, since midnight, or of length), shape (n,); null is NaN."""
    kind = column.type
    if pa.types.is_date32(kind):
        return floats(column.cast(pa.int32()))
    per_day = {"s": 86400.0, "ms": 86400e3, "us": 86400e6, "ns": 86400e9}
    unit = "ms" if pa.types.is_date64(kind) else kind.unit
    whole = pa.int32() if pa.types.is_time32(kind) else pa.int64()
    return floats(column.cast(whole)) / per_day[unit]


def read_days(texts: Any, order: str) -> Floats:
    """Dates, with or without time, as days since 1970, (n,), NaN otherwise; zones become UTC; yyyy has any order."""
    folded = _folded(texts)
    days = _matched(folded, PATTERNS["ymd"])
    others = {"ymd": (), "named": (PATTERNS["named"], NAMED_FIRST)}
    for pattern in others.get(order, (PATTERNS[order],)):
        days = np.where(np.isnan(days), _matched(folded, pattern), days)
    return days


def read_clock(texts: Any) -> Floats:
    """Times of day in days since midnight, shape (n,); NaN if a text is none."""
    parts = pc.extract_regex(_folded(texts), rf"^{CLOCK}$")
    return _of_day(parts, ~bools(parts.is_null()))


def cycles_of(days: Floats) -> tuple[str, ...]:
    """Names of the cycles that finite times, shape (n,), run through more than once."""
    extent = float(days.max() - days.min())
    return tuple(
        name for name, period in CYCLES.items() if extent > period and np.ptp(np.floor(days % period * 24)) > 0
    )


def written(days: float) -> str:
    """Days since 1970 as a date for people, with a time if it has one."""
    moment = np.datetime64(round(min(max(days, -MOST_DAYS), MOST_DAYS) * 86400), "s")
    text = str(moment)
    return text.removesuffix("T00:00:00").replace("T", " ")


def _folded(texts: Any) -> Any:
    texts = texts.combine_chunks() if isinstance(texts, pa.ChunkedArray) else texts
    return pc.ascii_lower(pc.utf8_trim_whitespace(texts))


def _matched(folded: Any, pattern: str) -> Floats:
    parts = pc.extract_regex(folded, pattern)
    good = ~bools(parts.is_null())
    if not good.any():
        return np.full(good.size, np.nan)
    year, day = _part(parts, "year"), _part(parts, "day")
    is_short = bools(pc.less(pc.utf8_length(pc.struct_field(parts, "year")), 4))
    year = np.where(is_short, year + np.where(year < PIVOT, 2000, 1900), year)
    if "<name>" in pattern:
        found = pc.index_in(pc.struct_field(parts, "name"), value_set=pa.array(MONTHS, folded.type))
        month = floats(found) + 1
    else:
        month = _part(parts, "month")
    good &= (month >= 1) & (month <= 12) & (day >= 1)
    months = (np.where(good, (year - 1970) * 12 + month - 1, 0)).astype(np.int64).astype("datetime64[M]")
    first = months.astype("datetime64[D]").astype(np.int64)
    length = (months + 1).astype("datetime64[D]").astype(np.int64) - first
    good &= day <= length
    has_time = bools(pc.not_equal(pc.struct_field(parts, "hour"), ""))
    time = np.where(has_time, _of_day(parts, good & has_time), 0.0)
    return np.where(good, first + day - 1.0 + time, np.nan)


def _of_day(parts: Any, good: Bools) -> Floats:
    """Share of the day, in UTC if a zone is written; NaN if it is no time."""
    hour, minute, second = _part(parts, "hour"), _part(parts, "minute"), _part(parts, "second", 0.0)
    half = pc.struct_field(parts, "half")
    is_half, is_late = _starts(half, "[ap]"), _starts(half, "p")
    good = good & (minute < 60) & (second < 61) & np.where(is_half, (hour >= 1) & (hour <= 12), hour <= 24)
    good &= (hour < 24) | ((minute == 0) & (second == 0))
    hour = np.where(is_half, hour % 12 + np.where(is_late, 12, 0), hour)
    zone = pc.extract_regex(pc.struct_field(parts, "zone"), r"^(?P<sign>[+-])(?P<hours>\d{2}):?(?P<minutes>\d{0,2})$")
    sign = np.where(_starts(pc.struct_field(zone, "sign"), "-"), -1.0, 1.0)
    shift = sign * (_part(zone, "hours", 0.0) + _part(zone, "minutes", 0.0) / 60)
    return np.where(good, (hour - shift) / 24 + minute / 1440 + second / 86400, np.nan)


def _starts(texts: Any, pattern: str) -> Bools:
    return bools(pc.match_substring_regex(texts, f"^{pattern}"))


def _part(parts: Any, name: str, default: float = np.nan) -> Floats:
    texts = pc.replace_substring(pc.struct_field(parts, name), ",", ".")
    texts = pc.if_else(pc.equal(texts, ""), pa.scalar(None, texts.type), texts)
    numbers = floats(pc.cast(texts, pa.float64()))
    return np.where(np.isnan(numbers), default, numbers)
