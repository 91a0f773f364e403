"""What the encoders share: plain data in and out, checked as if an enemy had written it."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from typing import Any, TypeAlias

import numpy as np

from siis._types import Floats

Plain: TypeAlias = tuple[dict[str, Any], dict[str, Any]]  # JSON-able settings, and arrays by name
DAMAGED = "The model file is damaged or was not written by siis: fit and save the model again."


def refused(what: str) -> ValueError:
    """Say what a stored recipe must be.

    Parameters
    ----------
    what : str

    Returns
    -------
    ValueError
    """
    return ValueError(f"the stored recipe must have {what}. {DAMAGED}")


def only_keys(mapping: Any, keys: Sequence[str], where: str) -> dict[str, Any]:
    """Check that a stored mapping has these keys and no others.

    Parameters
    ----------
    mapping : object
    keys : sequence of str
    where : str

    Returns
    -------
    dict
    """
    if type(mapping) is not dict or set(mapping) != set(keys):
        raise refused(f"exactly {', '.join(keys) or 'nothing'} in its {where}")
    return mapping


def distinct_texts(values: Any, where: str, most: int) -> tuple[str, ...]:
    """Check a stored list of different texts.

    Parameters
    ----------
    values : object
    where : str
    most : int
        The largest number of them.

    Returns
    -------
    tuple of str
    """
    if type(values) is not list or not 0 < len(values) <= most or any(type(value) is not str for value in values):
        raise refused(f"1 to {most:,} texts as its {where}")
    if len(set(values)) < len(values):
        raise refused(f"different texts as its {where}")
    return tuple(values)


def text(value: Any) -> str:
    """Check a stored text.

    Parameters
    ----------
    value : object

    Returns
    -------
    str
    """
    if type(value) is not str:
        raise refused("texts as names")
    return value


def one_of_texts(value: Any, known: Collection[str], where: str) -> str:
    """Check a stored text that must be one of several.

    Parameters
    ----------
    value : object
    known : collection of str
    where : str

    Returns
    -------
    str
    """
    if type(value) is not str or value not in known:
        raise refused(f"one of {', '.join(map(repr, known))} as {where}")
    return value


def finite_number(value: Any, where: str) -> float:
    """Check a stored number.

    Parameters
    ----------
    value : object
    where : str

    Returns
    -------
    float
    """
    if type(value) is not float or not np.isfinite(value):
        raise refused(f"a finite number as its {where}")
    return value


def whole_number(value: Any, where: str, most: int) -> int:
    """Check a stored whole number from 1 on.

    Parameters
    ----------
    value : object
    where : str
    most : int

    Returns
    -------
    int
    """
    if type(value) is not int or not 0 < value <= most:
        raise refused(f"a whole number from 1 to {most:,} as its {where}")
    return value


def finite_numbers(array: Any, size: int, where: str) -> Floats:
    """Check a stored array of float64.

    Parameters
    ----------
    array : object
    size : int
        How many there must be.
    where : str

    Returns
    -------
    ndarray of float64, shape (size,)
        Read-only.
    """
    if type(array) is not np.ndarray or array.dtype != np.float64 or array.shape != (size,):
        raise refused(f"{size:,} numbers as its {where}")
    if not np.isfinite(array).all():
        raise refused(f"finite numbers as its {where}")
    return frozen(array)


def frozen(array: Floats) -> Floats:
    """Copy an array and make the copy read-only.

    Parameters
    ----------
    array : ndarray

    Returns
    -------
    ndarray
    """
    copy = np.array(array, dtype=np.float64)
    copy.flags.writeable = False
    return copy


def median_of(values: Floats) -> float:
    """Median of numbers however large: the usual mean of the two in the middle may overflow.

    Parameters
    ----------
    values : ndarray of shape (n,), n > 0

    Returns
    -------
    float
    """
    middle = [(values.size - 1) // 2, values.size // 2]
    low, high = map(float, np.partition(values, middle)[middle])
    return low if low == high else low / 2 + high / 2


def fits_single(values: Any) -> bool:
    """Tell whether numbers lie within the range of single precision.

    Parameters
    ----------
    values : array-like of finite numbers

    Returns
    -------
    bool
    """
    return bool((np.abs(values) <= np.finfo(np.float32).max).all())
