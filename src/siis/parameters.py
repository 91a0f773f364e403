"""Constraints on an estimator's parameters, declared with the class and checked at fit."""

from collections.abc import Callable
from dataclasses import dataclass
from numbers import Integral, Real
from typing import Any

import numpy as np

from siis.errors import Message


@dataclass(frozen=True)
class Rule:
    """A condition on a parameter; ``text`` says it in words, such as "a positive number"."""

    holds: Callable[[Any], bool]
    text: str

    def __or__(self, other: "Rule") -> "Rule":
        return Rule(lambda value: self.holds(value) or other.holds(value), f"{self.text} or {other.text}")


LARGEST = 2**63  # what an array can hold


def _is_number(value: Any, kind: type) -> bool:
    if not isinstance(value, kind) or isinstance(value, bool | np.bool_):
        return False
    return bool(abs(int(value)) < LARGEST if isinstance(value, Integral) else np.isfinite(value))  # type: ignore[call-overload]


def one_of(*choices: str) -> Rule:
    """Allow one of some words."""
    return Rule(
        lambda value: isinstance(value, str) and value in choices, "one of " + ", ".join(repr(c) for c in choices)
    )


def metrics(*choices: str) -> Rule:
    """Allow one of some metrics; a ready-made graph is none."""
    rule = one_of(*choices)
    return Rule(rule.holds, Message("{rule} (for a ready-made graph of weights, set {precomputed})", rule=rule.text))


FLAG = Rule(lambda value: isinstance(value, bool | np.bool_), "True or False")
POSITIVE = Rule(lambda value: _is_number(value, Real) and value > 0, "a positive number")
NON_NEGATIVE = Rule(lambda value: _is_number(value, Real) and value >= 0, "a non-negative number")
COUNT = Rule(lambda value: _is_number(value, Integral) and value >= 1, "an integer of at least 1")
LEVEL = Rule(
    lambda value: isinstance(value, bool) or (_is_number(value, Integral) and value >= 0), "a non-negative integer"
)
SEED = Rule(lambda value: value is None or (_is_number(value, Integral) and value >= 0), "None, an integer") | Rule(
    lambda value: isinstance(value, np.random.RandomState | np.random.Generator), "a NumPy random generator"
)

SEARCH = Rule(
    lambda value: not isinstance(value, str | type) and hasattr(value, "fit") and hasattr(value, "kneighbors"),
    "an object with fit and kneighbors",
)
SHARES = Rule(
    lambda value: isinstance(value, dict) or (hasattr(value, "__len__") and not isinstance(value, str | bytes)),
    "shares of the classes",
)
AUTO = one_of("auto")


def some_of(*choices: str) -> Rule:
    """A sequence of one or more of some words."""
    return Rule(
        lambda value: isinstance(value, list | tuple) and len(value) > 0 and all(v in choices for v in value),
        f"a list of some of {', '.join(map(repr, choices))}",
    )


WORD = Rule(lambda value: isinstance(value, str) and value != "", "a word")
NOTHING = Rule(lambda value: value is None, "None")


def check_parameters(estimator: Any) -> None:
    """Raise ValueError for the first parameter that breaks its rule, one of the class's ``_rules``."""
    for name, rule in estimator._rules.items():
        value = getattr(estimator, name)
        if not rule.holds(value):
            owner = f" of {type(estimator).__name__}"
            raise ValueError(
                Message(
                    f"{{{name}}}{{owner}} must be {{rule}}; found {{value!r}}",
                    owner=owner,
                    rule=rule.text,
                    value=value,
                )
            )


def seed_of(random_state: Any) -> int:
    """A seed from a random_state: None is 0, a generator draws one."""
    if random_state is None:
        return 0
    if isinstance(random_state, np.random.RandomState):
        return int(random_state.randint(2**31))
    if isinstance(random_state, np.random.Generator):
        return int(random_state.integers(2**31))
    return int(random_state)
