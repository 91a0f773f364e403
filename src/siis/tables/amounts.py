"""Written amounts as numbers: money, percents, thousands, units, negative amounts in parentheses."""

from __future__ import annotations

from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from siis._types import Floats
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
