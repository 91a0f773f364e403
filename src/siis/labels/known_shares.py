"""Known shares of the classes among all examples."""

from __future__ import annotations

from typing import Any

import numpy as np

from siis._types import Floats

ERROR = 1e-3  # of their sum


def class_shares_of(given: Any, classes: Any) -> Floats | None:
    """Known shares in the order of the classes, shape (c,), from an array or a dict by class; None if unknown."""
    if given is None:
        return None
    names = [str(name) for name in classes]
    if isinstance(given, dict):
        known = {str(name): share for name, share in given.items()}
        if set(known) != set(names):
            odd = sorted(set(known) ^ set(names))
            raise ValueError(
                f"class_prior must have the {len(names)} classes of y as keys; {odd[0]!r} is not in both. "
                f"Give a share for each of {', '.join(names[:10])}."
            )
        given = [known[name] for name in names]
    try:
        shares = np.asarray(given, dtype=np.float64).ravel()
    except (TypeError, ValueError):
        shares = np.zeros(0)
    if shares.size != len(names):
        raise ValueError(f"class_prior must have a number for each of the {len(names)} classes; found {given!r}")
    if not np.isfinite(shares).all() or (shares < 0).any() or abs(shares.sum() - 1) > ERROR:
        raise ValueError(
            f"class_prior must hold shares, not negative and with sum 1; found {shares.tolist()}. Divide counts by "
            "their sum."
        )
    return np.asarray(shares / shares.sum())
