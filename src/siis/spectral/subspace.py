"""Lowest eigenpairs by Chebyshev-filtered subspace iteration.

A block at least as wide as the wanted number of vectors is filtered, orthonormalised and rotated (Rayleigh-Ritz).
The block holds every copy of a repeated eigenvalue from the start, so none can be skipped: a Krylov method that
grows from one vector sees only one copy. It needs products of the operator with a block and small dense algebra,
nothing else.
"""

from dataclasses import dataclass

import numpy as np
import scipy.linalg as sl

from siis._types import BlockProduct, Floats

AMPLIFICATION = 1e4  # wanted over unwanted, in one sweep
MAX_DEGREE = 80
CHUNK = 32  # columns filtered together, so that the recurrence stays in the processor's cache
MAX_GROWTH = np.log(1e12)  # of the smoothest over the unwanted, in one sweep: keeps the block independent
MAX_SWEEPS = 200
PATIENCE = 10  # sweeps, then the block is widened: its edge may lie inside a cluster of eigenvalues


@dataclass(frozen=True, eq=False)
class RitzPairs:
    """Approximate eigenpairs of a symmetric operator.

    Attributes
    ----------
    values : ndarray of shape (p,), ascending
    vectors : ndarray of shape (n, p), orthonormal
    residuals : ndarray of shape (p,)
        ||S v - theta v||.
    sweeps : int
    """

    values: Floats
    vectors: Floats
    residuals: Floats
    sweeps: int


def chebyshev_filter(multiply: BlockProduct, X: Floats, degree: int, low: float, cut: float, high: float) -> Floats:
    """Apply the Chebyshev polynomial that is bounded by its value 1 at ``low`` and small on [cut, high].

    p(S) X with p(t) = T_d((t - c) / e) / T_d((low - c) / e), c and e the centre and half-width of [cut, high], by
    the three-term recurrence scaled against overflow.

    Parameters
    ----------
    multiply : callable
        Block -> S block.
    X : ndarray of shape (n, p)
    degree : int
    low, cut, high : float
        ``low < cut < high``; the spectrum of S lies below ``high``.

    Returns
    -------
    ndarray of shape (n, p)
    """
    c, e = (high + cut) / 2, (high - cut) / 2
    filtered = np.empty_like(X)
    for a in range(0, X.shape[1], CHUNK):
        sigma = e / (low - c)
        ratio = 2 / sigma
        before = np.ascontiguousarray(X[:, a : a + CHUNK])
        now = (multiply(before) - c * before) * (sigma / e)
        for _ in range(degree - 1):
            following = 1 / (ratio - sigma)
            after = multiply(now)
            after -= c * now
            after *= 2 * following / e
            before *= sigma * following
            after -= before
            before, now, sigma = now, after, following
        filtered[:, a : a + CHUNK] = now
    return filtered


def rayleigh_ritz(multiply: BlockProduct, X: Floats, sweeps: int) -> RitzPairs:
    """Find the best approximate eigenpairs in the span of X.

    Parameters
    ----------
    multiply : callable
        Block -> S block.
    X : ndarray of shape (n, p)
    sweeps : int
        Recorded in the result.

    Returns
    -------
    RitzPairs
    """
    Q, _ = np.linalg.qr(X)
    SQ = multiply(Q)
    H = Q.T @ SQ
    values, V = sl.eigh((H + H.T) / 2)
    vectors, images = Q @ V, SQ @ V
    return RitzPairs(values, vectors, np.linalg.norm(images - vectors * values, axis=0), sweeps)


@dataclass(frozen=True, eq=False)
class Filter:
    """A symmetric operator and the bounds of its spectrum.

    Attributes
    ----------
    multiply : callable
        Block -> operator times block.
    low, high : float
        The spectrum lies in [low, high].
    """

    multiply: BlockProduct
    low: float
    high: float

    def sweep(self, X: Floats, wanted: float, cut: float) -> Floats:
        """Lift the eigenvectors of X with eigenvalues up to ``wanted`` over those above ``cut``."""
        cut = min(cut, self.high - 1e-3 * (self.high - self.low))
        degree = _degree(self.low, min(wanted, cut), cut, self.high)
        return chebyshev_filter(self.multiply, X, degree, self.low, cut, self.high)


def lowest_eigenpairs(filter_: Filter, X: Floats, n_wanted: int, tol: float) -> RitzPairs:
    """Find the ``n_wanted`` lowest eigenpairs of a symmetric operator S.

    Parameters
    ----------
    filter_ : Filter
        S with the bounds of its spectrum.
    X : ndarray of shape (n, p), p >= n_wanted
        Start; random, or a guess.
    n_wanted : int
    tol : float
        Residual at which a wanted pair counts as found.

    Returns
    -------
    RitzPairs
        p pairs, of which the first ``n_wanted`` have residuals of at most ``tol``.
    """
    pairs = rayleigh_ritz(filter_.multiply, X, 0)
    while pairs.residuals[:n_wanted].max() > tol:
        if pairs.sweeps >= MAX_SWEEPS:
            raise RuntimeError(
                f"the {n_wanted} smoothest eigenvectors were not found in {MAX_SWEEPS} sweeps: largest residual "
                f"{pairs.residuals[:n_wanted].max():.1e}, asked for {tol:.1e}. Use fewer components."
            )
        if pairs.sweeps % PATIENCE == PATIENCE - 1:
            pairs = rayleigh_ritz(filter_.multiply, _widen(pairs.vectors), pairs.sweeps)
        wanted, cut = pairs.values[[n_wanted - 1, -1]]
        pairs = rayleigh_ritz(filter_.multiply, filter_.sweep(pairs.vectors, wanted, cut), pairs.sweeps + 1)
    return pairs


def _widen(X: Floats) -> Floats:
    n, p = X.shape
    more = min(n - p, max(8, p // 2))
    return np.hstack([X, np.random.default_rng(p).standard_normal((n, more))])


def _degree(low: float, wanted: float, cut: float, high: float) -> int:
    """Choose the degree that lifts ``wanted`` by AMPLIFICATION over [cut, high], within bounds."""
    c, e = (high + cut) / 2, (high - cut) / 2
    rate = np.arccosh(max(1.0, (c - wanted) / e))
    growth = np.arccosh(max(1.0, (c - low) / e))
    degree = np.log(2 * AMPLIFICATION) / max(rate, 1e-12)
    return int(np.clip(min(degree, MAX_GROWTH / max(growth, 1e-12)), 1, MAX_DEGREE))
