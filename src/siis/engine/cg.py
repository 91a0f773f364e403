"""Conjugate gradients on a block: all right-hand sides at once, each with its own steps."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from siis.engine.base import Engine
from siis.engine.rows import dots
from siis.engine.threads import pause_point
from siis.engine.types import Array, Namespace

SMALLEST_NORMAL = 1.2e-38  # the least normal number of single precision


def conjugate_gradients(
    engine: Engine,
    apply: Callable[[Array], Array],
    B: Array,
    start: Array | None,
    tol: float,
    max_iter: int,
    precondition: Callable[[Array], Array] | None = None,
) -> tuple[Array, float]:
    """Solve M X = B for a symmetric positive definite M.

    apply: X -> M X; precondition: R -> an approximation of M^-1 R, symmetric positive definite, in an array of its
    own; B, start: (n, c). Returns X, (n, c), and the largest ||B_j - M X_j|| / ||B_j|| of a column, at most ``tol``
    unless ``max_iter`` came first.
    """
    xp, keep = engine.xp, engine.keep
    X = xp.zeros_like(B) if start is None else xp.asarray(start, copy=True)
    R = xp.asarray(B, copy=True) if start is None else B - apply(X)
    Z = R if precondition is None else keep(precondition(R))
    D = xp.asarray(Z, copy=True)
    rho = dots(R, Z, -2, xp)
    goal = tol**2 * dots(B, B, -2, xp)
    for iteration in range(max_iter + 1):
        pause_point()
        squares = rho if precondition is None else dots(R, R, -2, xp)
        if iteration == max_iter or bool(xp.all(squares <= goal)):
            break
        MD = keep(apply(D))
        step = _ratio(rho, dots(D, MD, -2, xp), xp)
        X, R = engine.cg_update(X, R, D, MD, step)
        Z = R if precondition is None else keep(precondition(R))
        rho, before = dots(R, Z, -2, xp), rho
        D = engine.cg_direction(D, Z, _ratio(rho, before, xp))
    worst = np.max(engine.numpy(squares) / np.maximum(engine.numpy(goal) / tol**2, 1e-300), initial=0.0)
    return X, float(np.sqrt(worst))


def _ratio(a: Array, b: Array, xp: Namespace) -> Array:
    """A / b; 0 where both are: such a column is solved."""
    return a / xp.clip(b, SMALLEST_NORMAL, None)
