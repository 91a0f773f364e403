"""Errors that say more than their type."""

import numpy as np


class NumericalError(RuntimeError):
    """A computation that rounding has defeated: nothing is wrong with the input, and other settings may succeed."""


class UnreachedWarning(UserWarning):
    """Some examples are connected to no label."""


FAILURES = (NumericalError, np.linalg.LinAlgError)  # what ends one attempt among several, and not the work
