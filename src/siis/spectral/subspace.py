"""Lowest eigenpairs by Chebyshev-filtered subspace iteration.

A block wider than the wanted number of vectors is filtered, orthonormalised and rotated (Rayleigh-Ritz); pairs that
are found are locked, and the block goes on without them. The block holds every copy of a repeated eigenvalue from the
start, so none can be skipped: a Krylov method that grows from one vector sees only one copy. It needs products of the
matrix with a block and small dense algebra, nothing else.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import scipy.linalg as sl

from siis._types import BlockProduct, Floats, Sparse
from siis.kernels import chebyshev_filter, product
from siis.spectral.spectrum import Spectrum

AMPLIFICATION = 1e4  # of wanted over unwanted vectors, in one sweep
SAFETY = 10.0  # times the amplification that the residuals still ask for
NOISE = 1e-3  # how much of a filtered vector may be rounding that grew along the smoothest ones
MAX_DEGREE = 200
LEAST_SEPARATION = 1e-3  # of the spectrum, between the wanted eigenvalues and the damped ones
ILL_CONDITIONED = 0.03  # times the root of the precision: smallest pivot with which Cholesky orthonormalises
MAX_SWEEPS = 200
PATIENCE = 6  # sweeps without a found pair, then the block is widened: its edge may lie inside a cluster


@dataclass(frozen=True, eq=False)
class RitzPairs:
    """Approximate eigenpairs of a symmetric operator.

    Attributes
    ----------
    values : ndarray of shape (p,), ascending
    vectors : ndarray of shape (n, p), orthonormal
    residuals : ndarray of shape (p,)
        ||S v - theta v||.
    """

    values: Floats
    vectors: Floats
    residuals: Floats


def rayleigh_ritz(multiply: BlockProduct, Q: Floats) -> RitzPairs:
    """Find the best approximate eigenpairs in the span of orthonormal columns.

    Parameters
    ----------
    multiply : callable
        Block -> S block.
    Q : ndarray of shape (n, p)

    Returns
    -------
    RitzPairs
    """
    SQ = multiply(Q)
    H = (Q.T @ SQ).astype(np.float64)
    values, V = sl.eigh((H + H.T) / 2, check_finite=False)
    V = V.astype(Q.dtype)
    vectors, images = Q @ V, SQ @ V
    images -= vectors * values.astype(Q.dtype)
    return RitzPairs(values, vectors, np.linalg.norm(images, axis=0).astype(np.float64))


def orthonormalize(X: Floats, outside: BlockProduct) -> Floats:
    """Give an orthonormal basis of the columns of X, outside some known vectors.

    Twice by Cholesky (the second pass mends the rounding of the first), or by Householder where the columns are too
    close to dependence for that.

    Parameters
    ----------
    X : ndarray of shape (n, p)
    outside : callable
        Projects a block to the complement of the known vectors.

    Returns
    -------
    ndarray of shape (n, p)
    """
    least = ILL_CONDITIONED * np.sqrt(np.finfo(X.dtype).eps)
    for _ in range(2):
        X = outside(X)
        X = X / np.maximum(np.linalg.norm(X, axis=0), np.finfo(X.dtype).tiny)
        try:
            R = sl.cholesky((X.T @ X).astype(np.float64), check_finite=False)
        except sl.LinAlgError:
            R = np.zeros((1, 1))
        if np.diagonal(R).min() > least:
            X = X @ sl.solve_triangular(R, np.eye(len(R)), check_finite=False).astype(X.dtype)
        else:
            X = np.linalg.qr(X)[0]
    return X


def lowest_eigenpairs(
    S: Sparse, null: Sparse, X: Floats, n_wanted: int, tol: float, spectrum: Spectrum, warm: bool = False
) -> RitzPairs:
    """Find the ``n_wanted`` lowest eigenpairs of a symmetric positive semidefinite matrix outside its null space.

    Parameters
    ----------
    S : csr_array of shape (n, n)
    null : csr_array of shape (n, k)
        Orthonormal null vectors.
    X : ndarray of shape (n, p), p >= n_wanted, of the precision of S
        Start; random, or a guess.
    n_wanted : int
    tol : float
        Residual at which a pair counts as found.
    spectrum : Spectrum
    warm : bool
        Whether X is a guess, whose Ritz values mean something.

    Returns
    -------
    RitzPairs
        ``n_wanted`` pairs, of residuals of at most ``tol``.
    """
    n, k = null.shape
    transposed = null.T.tocsr()
    found = RitzPairs(np.zeros(0), X[:, :0], np.zeros(0))
    wanted, cut, amplification = spectrum.level(n_wanted), spectrum.level(X.shape[1]), AMPLIFICATION
    idle = 0

    def outside(Z: Floats) -> Floats:
        Z = Z - null @ (transposed @ Z)
        Z -= found.vectors @ (found.vectors.T @ Z)
        return Z

    def multiply(Z: Floats) -> Floats:
        return product(S, Z)

    for sweep in range(MAX_SWEEPS):
        if sweep > 0 or not warm:
            X = sweep_once(S, X, wanted, cut, spectrum.high, amplification)
        pairs = rayleigh_ritz(multiply, orthonormalize(X, outside))
        missing = n_wanted - found.values.size
        good = pairs.residuals[:missing] <= tol
        n_good = missing if good.all() else int(np.argmin(good))
        idle = 0 if n_good else idle + 1
        found = RitzPairs(
            np.concatenate([found.values, pairs.values[:n_good]]),
            np.hstack([found.vectors, pairs.vectors[:, :n_good]]),
            np.concatenate([found.residuals, pairs.residuals[:n_good]]),
        )
        if n_good == missing:
            order = np.argsort(found.values, kind="stable")
            return RitzPairs(found.values[order], found.vectors[:, order], found.residuals[order])
        X = np.ascontiguousarray(pairs.vectors[:, n_good:])
        wanted, cut = _levels(pairs.values, missing)
        amplification = min(AMPLIFICATION, SAFETY * float(pairs.residuals[n_good:missing].max()) / tol)
        if idle == PATIENCE:
            idle, X = 0, _widen(X, n - k - found.values.size)
    raise RuntimeError(
        f"the {n_wanted} smoothest eigenvectors were not found in {MAX_SWEEPS} sweeps: largest residual "
        f"{pairs.residuals[:missing].max():.1e}, asked for {tol:.1e}. Use fewer components."
    )


def sweep_once(S: Sparse, X: Floats, wanted: float, cut: float, high: float, amplification: float) -> Floats:
    """Filter a block: lift eigenvectors with eigenvalues up to ``wanted`` over those above ``cut``.

    The degree is bounded so that rounding, which the filter lifts most along the smoothest vectors, stays small.

    Parameters
    ----------
    S : csr_array of shape (n, n)
    X : ndarray of shape (n, p)
    wanted, cut, high : float
    amplification : float

    Returns
    -------
    ndarray of shape (n, p)
    """
    wanted = min(wanted, (1 - 2 * LEAST_SEPARATION) * high)
    cut = min(max(cut, wanted + LEAST_SEPARATION * high), (1 - LEAST_SEPARATION) * high)
    c, e = (high + cut) / 2, (high - cut) / 2
    rate, growth = np.arccosh((c - wanted) / e), np.arccosh(c / e)
    room = np.log(NOISE / np.finfo(X.dtype).eps) / max(growth - rate, 1e-12)
    degree = int(np.clip(min(np.log(2 * amplification) / rate, room), 2, MAX_DEGREE))
    return chebyshev_filter(S, X, degree, 0.0, cut, high)


def _levels(values: Floats, n_wanted: int) -> tuple[float, float]:
    """The last wanted eigenvalue, and the one up to which the block should reach: as dense as those before it."""
    spare = values.size - n_wanted
    wanted = float(values[n_wanted - 1])
    return wanted, min(float(values[-1]), 2 * wanted - float(values[max(n_wanted - 1 - spare, 0)]))


def _widen(X: Floats, most: int) -> Floats:
    n, p = X.shape
    more = min(most - p, max(8, p // 2))
    return np.hstack([X, np.random.default_rng(p).standard_normal((n, more)).astype(X.dtype)])
