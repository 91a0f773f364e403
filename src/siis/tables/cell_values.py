"""Cells of columns as texts, numbers or missing values."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from siis._types import Bools, Floats
from siis.labels.unlabelled import MISSING, NO_ANSWER

LARGEST_WHOLE = 2.0**63
NO_NUMBER = (
    *MISSING,
    "na",
    "n/a",
    "null",
    "none",
)  # words for a missing number; where there are categories, one each


def is_text(column: Any) -> bool:
    """Whether a column holds strings."""
    return bool(pa.types.is_string(column.type) or pa.types.is_large_string(column.type))


def missing(texts: Any, words: Sequence[str] = MISSING) -> Any:
    """Whether each text is missing: null, or one of some lower-case words in any case."""
    folded = pc.ascii_lower(pc.utf8_trim_whitespace(texts))
    return pc.or_(pc.is_null(texts), pc.is_in(folded, value_set=pa.array(words, type=texts.type)))


def as_texts(column: Any) -> Any:
    """Cells as stripped texts, whole numbers without decimals, null if missing; None for lists, bytes or the like."""
    if is_text(column):
        return pc.utf8_trim_whitespace(column)
    if pa.types.is_floating(column.type):
        values = [None if value is None or np.isnan(value) else _float_text(value) for value in column.to_pylist()]
        return pa.chunked_array([pa.array(values, pa.large_string())])
    try:
        return column.cast(pa.string())
    except pa.ArrowException:
        return None


def _float_text(value: float) -> str:
    return str(int(value)) if abs(value) < LARGEST_WHOLE and value == int(value) else str(value)


def as_numbers(column: Any, decimal: str = ".") -> Floats | None:
    """Cells as numbers, (n,), NaN if missing; None if a cell is none. With a decimal comma, a point works too."""
    kind = column.type
    if pa.types.is_boolean(kind) or pa.types.is_integer(kind) or pa.types.is_floating(kind):
        wanted = kind if pa.types.is_float32(kind) else pa.float64()
        return _array(column.cast(wanted, safe=False))  # whole numbers beyond 2^53 are rounded
    if pa.types.is_null(kind):
        return np.full(len(column), np.nan)
    if not is_text(column):
        return None
    try:
        return _array(column.cast(pa.float64()))  # nothing missing, nothing to strip: the quick way
    except pa.ArrowInvalid:
        pass
    present = pc.if_else(missing(column, NO_NUMBER), pa.scalar(None, column.type), pc.utf8_trim_whitespace(column))
    if decimal == ",":
        present = pc.replace_substring(present, ",", ".")  # 1.234,5 has two points then, and is no number
    try:
        return _array(present.cast(pa.float64()))
    except pa.ArrowInvalid:
        pass
    return _truth_values(present)


def _truth_values(present: Any) -> Floats | None:
    folded = pc.ascii_lower(present)
    is_true, is_false = pc.equal(folded, "true"), pc.equal(folded, "false")
    if not pc.all(pc.or_(is_true, is_false)).as_py():
        return None
    return _array(is_true.cast(pa.float64()))


def _array(column: Any) -> Floats:
    return np.array(column.to_numpy(), dtype=column.type.to_pandas_dtype())  # a copy: Arrow's memory is read-only


def marked(texts: Any) -> Any:
    """Whether each text is a mark for a missing number: ?, -, unknown, #N/A and the like."""
    folded = pc.ascii_lower(pc.utf8_trim_whitespace(texts))
    return pc.is_in(folded, value_set=pa.array(NO_ANSWER, type=texts.type))


def bools(column: Any) -> Bools:
    """Truth values as an array, shape (n,); null is false."""
    column = column.combine_chunks() if isinstance(column, pa.ChunkedArray) else column
    return np.array(pc.fill_null(column, False).to_numpy(zero_copy_only=False), dtype=np.bool_)


def floats(column: Any) -> Floats:
    """Numbers as float64, shape (n,); null is NaN."""
    column = column.combine_chunks() if isinstance(column, pa.ChunkedArray) else column
    return np.array(column.cast(pa.float64(), safe=False).to_numpy(zero_copy_only=False), dtype=np.float64)


def median_of(values: Floats) -> float:
    """Median of large numbers: the usual mean of the two in the middle may overflow. values: (n,)."""
    middle = [(values.size - 1) // 2, values.size // 2]
    low, high = map(float, np.partition(values, middle)[middle])
    return low if low == high else low / 2 + high / 2


def fits_single(values: Any) -> bool:
    """Whether finite numbers lie within the range of float32."""
    return bool((np.abs(values) <= np.finfo(np.float32).max).all())
