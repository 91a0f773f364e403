"""Checks of stored encoders, which may be damaged or hostile."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from typing import Any, TypeAlias

import numpy as np

from siis._types import Floats

Plain: TypeAlias = tuple[dict[str, Any], dict[str, Any]]  # JSON-able settings, and arrays by name
DAMAGED = "The model file is damaged or was not written by siis: fit and save the model again."


def refused(what: str) -> ValueError:
    """The error that a stored recipe lacks something."""
    return ValueError(f"the stored recipe must have {what}. {DAMAGED}")


def only_keys(mapping: Any, keys: Sequence[str], where: str) -> dict[str, Any]:
    """Check that a stored mapping has exactly these keys."""
    if type(mapping) is not dict or set(mapping) != set(keys):
        raise refused(f"exactly {', '.join(keys) or 'nothing'} in its {where}")
    return mapping


def distinct_texts(values: Any, where: str, most: int) -> tuple[str, ...]:
    """Check a stored list of 1 to ``most`` different texts."""
    if type(values) is not list or not 0 < len(values) <= most or any(type(value) is not str for value in values):
        raise refused(f"1 to {most:,} texts as its {where}")
    if len(set(values)) < len(values):
        raise refused(f"different texts as its {where}")
    return tuple(values)


def text(value: Any) -> str:
    """Check a stored text."""
    if type(value) is not str:
        raise refused("texts as names")
    return value


def one_of_texts(value: Any, known: Collection[str], where: str) -> str:
    """Check a stored text that must be one of several."""
    if type(value) is not str or value not in known:
        raise refused(f"one of {', '.join(map(repr, known))} as {where}")
    return value


def finite_number(value: Any, where: str) -> float:
    """Check a stored number."""
    if type(value) is not float or not np.isfinite(value):
        raise refused(f"a finite number as its {where}")
    return value


def whole_number(value: Any, where: str, most: int) -> int:
    """Check a stored whole number from 1 on."""
    if type(value) is not int or not 0 < value <= most:
        raise refused(f"a whole number from 1 to {most:,} as its {where}")
    return value


def finite_numbers(array: Any, size: int, where: str) -> Floats:
    """Check a stored array of float64; returns a read-only copy of shape (size,)."""
    if type(array) is not np.ndarray or array.dtype != np.float64 or array.shape != (size,):
        raise refused(f"{size:,} numbers as its {where}")
    if not np.isfinite(array).all():
        raise refused(f"finite numbers as its {where}")
    return frozen(array)


def frozen(array: Floats) -> Floats:
    """A read-only copy of an array."""
    copy = np.array(array, dtype=np.float64)
    copy.flags.writeable = False
    return copy


def median_of(values: Floats) -> float:
    """Median of large numbers: the usual mean of the two in the middle may overflow. values: (n,)."""
    middle = [(values.size - 1) // 2, values.size // 2]
    low, high = map(float, np.partition(values, middle)[middle])
    return low if low == high else low / 2 + high / 2


def fits_single(values: Any) -> bool:
    """Whether finite numbers lie within the range of float32."""
    return bool((np.abs(values) <= np.finfo(np.float32).max).all())
