"""Frozen dataclasses as plain data (values for JSON, and arrays by name), and back with every value checked."""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import fields, is_dataclass
from functools import cache
from pathlib import Path
from types import NoneType, UnionType
from typing import Any, get_args, get_origin, get_type_hints

import numpy as np

from siis._types import Floats


def to_plain(value: Any) -> tuple[dict[str, Any], dict[str, Any]]:
    """Settings for JSON, and arrays by the path of their field; an object whose class has a ``kind`` names it."""
    arrays: dict[str, Any] = {}
    return _plain(value, "", arrays), arrays


def from_plain(kind: Any, settings: Any, arrays: Any) -> Any:
    """Rebuild an object from ``to_plain``, with types checked by annotations; the constructors check the values."""
    if type(arrays) is not dict:
        raise ValueError("its arrays must have names")
    left = dict(arrays)
    found = _built(kind, settings, "", left)
    if left:
        raise ValueError(f"it must not have the arrays {', '.join(map(str, left))}")
    return found


def frozen(array: Floats) -> Floats:
    """A read-only copy of an array."""
    copy = np.array(array, dtype=np.float64)
    copy.flags.writeable = False
    return copy


def check(holds: bool, what: str) -> None:
    """Refuse to build an object unless a condition holds; ``what`` completes "must have"."""
    if not holds:
        raise ValueError(f"must have {what}")


def check_distinct(texts: Iterable[str], what: str) -> None:
    """Refuse an empty list of texts, and one that names something twice."""
    texts = list(texts)
    check(0 < len(texts) == len(set(texts)), f"one or more different {what}")


@cache
def _hints(kind: Any) -> dict[str, Any]:
    hints = get_type_hints(kind)
    return {field.name: hints[field.name] for field in fields(kind)}


def _plain(value: Any, path: str, arrays: dict[str, Any]) -> Any:
    if is_dataclass(value):
        found = {"kind": value.kind} if hasattr(value, "kind") else {}
        for name in _hints(value.__class__):
            item = getattr(value, name)
            if isinstance(item, np.ndarray):
                arrays[path + name] = item
            else:
                found[name] = _plain(item, f"{path}{name}.", arrays)
        return found
    if isinstance(value, tuple | list):
        return [_plain(one, f"{path}{k}.", arrays) for k, one in enumerate(value)]
    return str(value) if isinstance(value, Path) else value


def _built(hint: Any, found: Any, path: str, arrays: dict[str, Any]) -> Any:
    options = get_args(hint) if isinstance(hint, UnionType) else (hint,)
    if found is None and NoneType in options:
        return None
    for option in options:
        if is_dataclass(option) and type(found) is dict:
            if found.get("kind") == getattr(option, "kind", None):
                return _object(option, found, path, arrays)
        elif get_origin(option) in (tuple, list) and type(found) is list:
            items = (_built(get_args(option)[0], one, f"{path}{k}.", arrays) for k, one in enumerate(found))
            return get_origin(option)(items)
        elif option is Path and type(found) is str:
            return Path(found)
        elif option is float and type(found) in (int, float) and math.isfinite(found):
            return float(found)
        elif type(found) in (str, int, bool, dict) and (get_origin(option) or option) is type(found):
            return found
    raise ValueError(f"its {path.rstrip('.') or 'content'} has the wrong type")


def _object(kind: Any, found: dict[str, Any], path: str, arrays: dict[str, Any]) -> Any:
    hints = _hints(kind)
    named = {name for name, hint in hints.items() if hint != Floats}
    if set(found) != named | ({"kind"} if hasattr(kind, "kind") else set()):
        raise ValueError(
            f"its {path.rstrip('.') or 'content'} must have exactly {', '.join(sorted(named)) or 'nothing'}"
        )
    values = {name: _built(hints[name], found[name], f"{path}{name}.", arrays) for name in named}
    return kind(**values, **{name: _array(path + name, arrays) for name in hints if name not in named})


def _array(name: str, arrays: dict[str, Any]) -> Floats:
    array = arrays.pop(name, None)
    if type(array) is not np.ndarray or array.dtype != np.float64 or array.ndim != 1 or not np.isfinite(array).all():
        raise ValueError(f"{name} must be an array of finite numbers")
    return frozen(array)
