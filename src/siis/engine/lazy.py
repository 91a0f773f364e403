"""A property that is computed once, without a lock.

``functools.cached_property`` of Python 3.11 locks a property of all objects of a class: shards in one process, which
wait for each other while they compute theirs, would wait for ever.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Generic, TypeVar, overload

Value = TypeVar("Value")


class cached_property(Generic[Value]):
    """A property that is computed at its first use, and then kept."""

    def __init__(self, compute: Callable[[Any], Value]) -> None:
        self.compute, self.__doc__ = compute, compute.__doc__

    def __set_name__(self, owner: type, name: str) -> None:
        self.name = name

    @overload
    def __get__(self, instance: None, owner: type) -> cached_property[Value]: ...
    @overload
    def __get__(self, instance: object, owner: type) -> Value: ...
    def __get__(self, instance: object | None, owner: type) -> cached_property[Value] | Value:
        if instance is None:
            return self
        kept = instance.__dict__  # looked up before this, from now on
        if self.name not in kept:
            kept[self.name] = self.compute(instance)
        return kept[self.name]  # type: ignore[no-any-return]
