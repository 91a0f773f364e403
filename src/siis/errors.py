"""Errors that carry more than their type, and messages that each interface words in its own names."""

from __future__ import annotations

import sys
import warnings
from collections.abc import Mapping
from typing import Any

import numpy as np


class NumericalError(RuntimeError):
    """A computation that rounding has defeated: nothing is wrong with the input, and other settings may succeed."""


class UnreachedWarning(UserWarning):
    """Some examples are connected to no label."""


FAILURES = (NumericalError, np.linalg.LinAlgError)  # what ends one attempt among several, and not the work


def warn(message: str, category: type[Warning] = UserWarning) -> None:
    """Warn at the first line outside siis that has led here, which is the user's own."""
    frame, level = sys._getframe(1), 2
    while frame.f_back is not None and frame.f_globals.get("__name__", "").partition(".")[0] == "siis":
        frame, level = frame.f_back, level + 1
    warnings.warn(message, category, stacklevel=level)


class Message(str):
    """The text of an error or warning; ``{tol}`` names a parameter, ``{metric:cosine}`` a parameter with its value.

    Other fields have their values by keyword. As a string it uses Python's names: ``metric='cosine'``.
    """

    template: str
    values: Mapping[str, Any]

    def __new__(cls, template: str, **values: Any) -> Message:
        """Write the message in Python's names."""
        message = super().__new__(cls, template.format_map(_Fields(values)))
        message.template, message.values = template, values
        return message

    def worded(self, names: Mapping[str, str]) -> str:
        """The message in other names, such as "--metric" for metric."""
        values = {k: v.worded(names) if isinstance(v, Message) else v for k, v in self.values.items()}
        return self.template.format_map(_Fields({**values, **{k: _Option(name) for k, name in names.items()}}))


class _Fields(dict[str, Any]):
    def __missing__(self, name: str) -> _Name:
        return _Name("affinity='precomputed'" if name == "precomputed" else name)


class _Name(str):
    """A parameter of Python: ``metric``, ``metric='cosine'``, ``tol=0.1``."""

    def __format__(self, value: str) -> str:
        is_bare = value[-1:].isdigit() or value in ("True", "False", "None")
        return f"{self}={value if is_bare else repr(value)}" if value else str(self)


class _Option(str):
    """An option of a command: ``--metric``, ``--metric cosine``."""

    def __format__(self, value: str) -> str:
        return f"{self} {value}" if value else str(self)
