"""Columns of cells -> text, numbers, or nothing."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from siis._types import Bools, Floats
from siis.labels.traps import NO_ANSWER
from siis.labels.unlabelled import MISSING

LARGEST_WHOLE = 2.0**63
NO_NUMBER = (
    *MISSING,
    "na",
    "n/a",
    "null",
    "none",
)  # words for a missing number; where there are categories, one each


def is_text(column: Any) -> bool:
    """Tell whether a column holds strings.

    Parameters
    ----------
    column : pyarrow.ChunkedArray

    Returns
    -------
    bool
    """
    return bool(pa.types.is_string(column.type) or pa.types.is_large_string(column.type))


def missing(texts: Any, words: Sequence[str] = MISSING) -> Any:
    """Tell which texts are missing: null, or one of some words in any case.

    Parameters
    ----------
    texts : pyarrow.ChunkedArray of strings
    words : sequence of str
        In lower case; by default the empty text and the marks of programs.

    Returns
    -------
    pyarrow.ChunkedArray of bool
    """
    folded = pc.ascii_lower(pc.utf8_trim_whitespace(texts))
    return pc.or_(pc.is_null(texts), pc.is_in(folded, value_set=pa.array(words, type=texts.type)))


def as_texts(column: Any) -> Any:
    """Write the cells of a column as stripped text; whole numbers have no decimals, so that 3.0 is 3.

    Parameters
    ----------
    column : pyarrow.ChunkedArray

    Returns
    -------
    pyarrow.ChunkedArray of strings, or None
        Null where a cell is, or holds NaN. None where the column holds lists, bytes or the like.
    """
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
    """Convert a column to numbers.

    Parameters
    ----------
    column : pyarrow.ChunkedArray
    decimal : {".", ","}
        What separates decimals in strings. Where it is a comma, a point does too.

    Returns
    -------
    ndarray of shape (n,), or None
        Of float32 where the column is, else of float64. NaN where a cell is missing; infinities stay. None where a
        cell is no number.
    """
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
    said = pc.if_else(missing(column, NO_NUMBER), pa.scalar(None, column.type), pc.utf8_trim_whitespace(column))
    if decimal == ",":
        said = pc.replace_substring(said, ",", ".")  # 1.234,5 has two points then, and is no number
    try:
        return _array(said.cast(pa.float64()))
    except pa.ArrowInvalid:
        pass
    return _truth_values(said)


def _truth_values(said: Any) -> Floats | None:
    folded = pc.ascii_lower(said)
    is_true, is_false = pc.equal(folded, "true"), pc.equal(folded, "false")
    if not pc.all(pc.or_(is_true, is_false)).as_py():
        return None
    return _array(is_true.cast(pa.float64()))


def _array(column: Any) -> Floats:
    return np.array(column.to_numpy(), dtype=column.type.to_pandas_dtype())  # a copy: Arrow's memory is read-only


def marked(texts: Any) -> Any:
    """Tell which texts are marks that stand for a missing number: ?, -, unknown, #N/A and the like.

    Parameters
    ----------
    texts : pyarrow.Array or ChunkedArray of strings

    Returns
    -------
    pyarrow.Array or ChunkedArray of bool
    """
    folded = pc.ascii_lower(pc.utf8_trim_whitespace(texts))
    return pc.is_in(folded, value_set=pa.array(NO_ANSWER, type=texts.type))


def bools(column: Any) -> Bools:
    """Convert a column of truth values.

    Parameters
    ----------
    column : pyarrow.Array or ChunkedArray of bool
        Null is false.

    Returns
    -------
    ndarray of bool, shape (n,)
    """
    column = column.combine_chunks() if isinstance(column, pa.ChunkedArray) else column
    return np.array(pc.fill_null(column, False).to_numpy(zero_copy_only=False), dtype=np.bool_)


def floats(column: Any) -> Floats:
    """Convert a column of numbers.

    Parameters
    ----------
    column : pyarrow.Array or ChunkedArray of numbers

    Returns
    -------
    ndarray of float64, shape (n,)
        NaN where it is null.
    """
    column = column.combine_chunks() if isinstance(column, pa.ChunkedArray) else column
    return np.array(column.cast(pa.float64(), safe=False).to_numpy(zero_copy_only=False), dtype=np.float64)
