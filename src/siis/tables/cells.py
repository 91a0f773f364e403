"""Columns of cells -> text, numbers, or nothing."""

from __future__ import annotations

import re
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from siis._types import Bools, Floats

MISSING = ("", "na", "n/a", "nan", "null", "none")  # in any case
NUMBER = r"^\s*[+-]?(\d+[{0}]?\d*|[{0}]\d+)([eE][+-]?\d+)?\s*$"  # {0}: what separates decimals
DATE = r"^\s*(\d{4}[-/]\d{1,2}[-/]\d{1,2}|\d{1,2}[-/.]\d{1,2}[-/.]\d{4})([T ][0-9:.,+Z -]*)?\s*$"
LARGEST_WHOLE = 2.0**63


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


def is_time(column: Any) -> bool:
    """Tell whether a column holds dates or times, by its type or by how its cells look.

    Parameters
    ----------
    column : pyarrow.ChunkedArray

    Returns
    -------
    bool
    """
    if not is_text(column):
        return bool(pa.types.is_temporal(column.type))
    said = column.filter(pc.invert(missing(column)))
    if not len(said) or not pc.match_substring_regex(said[0], DATE).as_py():  # most columns end here
        return False
    return bool(pc.all(pc.match_substring_regex(said, DATE)).as_py())


def missing(texts: Any) -> Any:
    """Tell which texts are missing: empty, NA, N/A, NaN, null or None in any case.

    Parameters
    ----------
    texts : pyarrow.ChunkedArray of strings

    Returns
    -------
    pyarrow.ChunkedArray of bool
    """
    words = pa.array(MISSING, type=texts.type)
    folded = pc.ascii_lower(pc.utf8_trim_whitespace(texts))
    return pc.or_(pc.is_null(texts), pc.is_in(folded, value_set=words))


def as_texts(column: Any) -> Any:
    """Write the cells of a column as stripped text; whole numbers have no decimals, so that 3.0 is 3.

    Parameters
    ----------
    column : pyarrow.ChunkedArray

    Returns
    -------
    pyarrow.ChunkedArray of strings, or None
        Null where a cell is. None where the column holds lists, bytes or the like.
    """
    if is_text(column):
        return pc.utf8_trim_whitespace(column)
    if pa.types.is_floating(column.type):
        values = [None if value is None else _float_text(value) for value in column.to_pylist()]
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
    ndarray of float64, shape (n,), or None
        NaN where a cell is missing; infinities stay. None where a cell is no number.
    """
    kind = column.type
    if pa.types.is_boolean(kind) or pa.types.is_integer(kind) or pa.types.is_floating(kind):
        return _array(column.cast(pa.float64(), safe=False))  # whole numbers beyond 2^53 are rounded
    if pa.types.is_null(kind):
        return np.full(len(column), np.nan)
    if not is_text(column):
        return None
    try:
        return _array(column.cast(pa.float64()))  # nothing missing, nothing to strip: the quick way
    except pa.ArrowInvalid:
        pass
    said = pc.if_else(missing(column), pa.scalar(None, column.type), pc.utf8_trim_whitespace(column))
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
    return np.array(column.to_numpy(), dtype=np.float64)  # a copy: Arrow's memory is read-only


def first_bad_cell(column: Any, decimal: str = ".") -> tuple[int, str, int]:
    """Find the first cell that is neither missing nor a number.

    Parameters
    ----------
    column : pyarrow.ChunkedArray of strings, one of them no number
    decimal : {".", ","}

    Returns
    -------
    row : int
        Counted from 1.
    cell : str
    n_numbers : int
        How many cells are numbers.
    """
    is_number = pc.fill_null(pc.match_substring_regex(column, NUMBER.format(re.escape("." + decimal))), False)
    good = _bools(pc.or_(missing(column), is_number))
    row = int(np.argmin(good))
    return row + 1, str(column[row].as_py()), int(np.count_nonzero(_bools(is_number)))


def _bools(column: Any) -> Bools:
    return np.asarray(column.to_numpy(), dtype=np.bool_)
