"""An estimate of a spectrum: its bound, and about how many eigenvalues lie below a level."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import scipy.linalg as sl

from siis._types import Floats
from siis.engine import Operator
from siis.engine.rows import column_norms, dots

LANCZOS_VECTORS, LANCZOS_STEPS = 4, 20  # of the Lanczos quadrature
MARGIN = 1.02  # on the largest Ritz value plus its residual, which is rarely below the largest eigenvalue


@dataclass(frozen=True, eq=False)
class Spectrum:
    """Where the eigenvalues of a symmetric positive semidefinite matrix lie, outside its known null space."""

    high: float  # upper bound
    nodes: Floats  # (k,), ascending
    counts: Floats  # (k,), about how many eigenvalues lie below each node

    def level(self, count: int) -> float:
        """The level below which about so many eigenvalues lie."""
        return float(np.interp(count, self.counts, self.nodes))


def estimate_spectrum(S: Operator, null: Operator, bound: float, seed: int) -> Spectrum:
    """Estimate the eigenvalue density by Lanczos quadrature from random vectors, outside null vectors (n, k).

    The largest Ritz value plus its residual, with a margin, bounds the spectrum, at most by the proven ``bound``.
    """
    engine, xp = S.engine, S.engine.xp
    rows, k = null.shape
    n = engine.total_count(rows)
    steps, tiny = min(LANCZOS_STEPS, n - k), float(np.finfo(S.dtype).tiny)
    V = engine.normal(np.random.default_rng(seed), rows, LANCZOS_VECTORS, S.dtype)
    V = V - null @ (null.T @ V)
    V = V / column_norms(V, xp)
    before, b = xp.zeros_like(V), engine.zeros((LANCZOS_VECTORS,), S.dtype)
    diagonal, off_diagonal = np.zeros((steps, LANCZOS_VECTORS)), np.zeros((steps, LANCZOS_VECTORS))
    for step in range(steps):
        W = S @ V - b * before
        a = dots(V, W, -2, xp)
        W = engine.keep(W - a * V)
        b = column_norms(W, xp)
        diagonal[step], off_diagonal[step] = engine.numpy(a), engine.numpy(b)
        before, V = V, W / xp.clip(b, tiny, None)
    nodes, weights, high = [], [], 0.0
    for j in range(LANCZOS_VECTORS):
        theta, Q = sl.eigh_tridiagonal(diagonal[:, j], off_diagonal[:-1, j])
        nodes.append(theta)
        weights.append(Q[0] ** 2)
        high = max(high, float(theta[-1] + off_diagonal[-1, j] * abs(Q[-1, -1])))
    order = np.argsort(np.concatenate(nodes), kind="stable")
    weight = np.concatenate(weights)[order] * (n - k) / LANCZOS_VECTORS
    counts = np.cumsum(weight) - weight / 2
    return Spectrum(min(bound, MARGIN * high), np.concatenate(nodes)[order], counts)
