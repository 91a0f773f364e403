"""A cheap look at a spectrum: how far it reaches, and about how many eigenvalues lie below a level."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import scipy.linalg as sl

from siis._types import Floats, Sparse
from siis.kernels import product

VECTORS, STEPS = 4, 40  # of the Lanczos quadrature
MARGIN = 1.01  # on the largest Ritz value plus its residual


@dataclass(frozen=True, eq=False)
class Spectrum:
    """Where the eigenvalues of a symmetric positive semidefinite matrix lie, outside its known null space.

    Attributes
    ----------
    high : float
        Upper bound.
    nodes : ndarray of shape (k,), ascending
    counts : ndarray of shape (k,)
        About how many eigenvalues lie below each node.
    """

    high: float
    nodes: Floats
    counts: Floats

    def level(self, count: int) -> float:
        """The level below which about so many eigenvalues lie."""
        return float(np.interp(count, self.counts, self.nodes))


def look(S: Sparse, null: Sparse, bound: float, seed: int) -> Spectrum:
    """Estimate a spectrum by Lanczos quadrature from a few random vectors.

    Each vector gives a Gauss quadrature of the density of eigenvalues; their mean, times the number of eigenvalues,
    counts them. The largest Ritz value plus its residual, with a margin, bounds the spectrum.

    Parameters
    ----------
    S : csr_array of shape (n, n)
    null : csr_array of shape (n, k)
        Orthonormal null vectors.
    bound : float
        A bound of the spectrum that holds for certain.
    seed : int

    Returns
    -------
    Spectrum
    """
    n, k = null.shape
    steps = min(STEPS, n - k)
    V = np.random.default_rng(seed).standard_normal((n, VECTORS)).astype(S.dtype)
    V -= null @ (null.T @ V)
    V /= np.linalg.norm(V, axis=0)
    before, b = np.zeros_like(V), np.zeros(VECTORS, S.dtype)
    diagonal, beside = np.zeros((steps, VECTORS)), np.zeros((steps, VECTORS))
    for step in range(steps):
        W = product(S, V) - b * before
        a = np.einsum("ij,ij->j", V, W)
        W -= a * V
        b = np.linalg.norm(W, axis=0)
        diagonal[step], beside[step] = a, b
        before, V = V, W / np.maximum(b, np.finfo(S.dtype).tiny)
    nodes, weights, high = [], [], 0.0
    for j in range(VECTORS):
        theta, Q = sl.eigh_tridiagonal(diagonal[:, j], beside[:-1, j])
        nodes.append(theta)
        weights.append(Q[0] ** 2)
        high = max(high, theta[-1] + beside[-1, j] * abs(Q[-1, -1]))
    order = np.argsort(np.concatenate(nodes), kind="stable")
    weight = np.concatenate(weights)[order] * (n - k) / VECTORS
    counts = np.cumsum(weight) - weight / 2
    return Spectrum(min(bound, MARGIN * high), np.concatenate(nodes)[order], counts)
