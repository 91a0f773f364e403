"""Symmetric positive definite systems: dense and sparse factors on the host, conjugate gradients on any engine."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, Protocol

import numpy as np
import scipy.linalg as sl
import scipy.sparse as sp
from scipy.sparse.csgraph import reverse_cuthill_mckee
from scipy.sparse.linalg import SuperLU, splu

from siis._types import Floats, Sparse
from siis.engine.base import Engine
from siis.engine.numpy import NUMPY
from siis.engine.rows import dots
from siis.engine.threads import pause_point
from siis.engine.types import Array, Namespace
from siis.errors import Message, NumericalError

THIN_ENVELOPE = 0.05  # mean width of the envelope, as a share of n
SMALL_ENVELOPE = 1e7  # entries of the envelope up to which a factor is cheap, thin or not
CG_MAX_ITER = 20_000
SMALLEST_NORMAL = 1.2e-38  # the least normal number of single precision
LEAST_EIGENVALUE = 1e-6  # of the largest in a subspace, and of the squared norms: less is rounding


class LinearSolver(Protocol):
    """Solves M X = B for blocks B on the host."""

    def __call__(self, B: Floats, guess: Floats | None = None) -> Floats:
        """Give X, shape (m, c); a guess may speed it up."""


def positive_solver(M: Any, tol: float = 1e-10, engine: Engine = NUMPY) -> LinearSolver:
    """Prepare to solve with a symmetric positive definite matrix, once for many right-hand sides.

    Dense: Cholesky, or the pseudo-inverse where singular to rounding. Sparse: a factor where it stays thin, otherwise
    conjugate gradients on ``engine`` with the diagonal as preconditioner, to the relative residual ``tol`` of a
    column.
    """
    if not sp.issparse(M):
        return _dense_solver((M + M.T) / 2)
    M = sp.csr_array(M)
    n, share = M.shape[0], envelope_share(M)
    if share > THIN_ENVELOPE and share * n * n > SMALL_ENVELOPE:
        return _iterative_solver(M, tol, engine)
    factor = factorize(M)
    return lambda B, guess=None: np.asarray(factor.solve(np.ascontiguousarray(B)))


def factorize(S: Sparse, shift: float = 0.0) -> SuperLU:
    """Factorise S + shift I with symmetric pivoting."""
    shifted = sp.csc_array(S + shift * sp.eye_array(S.shape[0]))
    options = {"SymmetricMode": True}
    return splu(shifted, permc_spec="MMD_AT_PLUS_A", diag_pivot_thresh=0.0, options=options)


def envelope_share(S: Sparse) -> float:
    """Mean distance from the diagonal to the first entry of a row after reverse Cuthill-McKee reordering, over n.

    The envelope bounds the fill of a factorisation; the share is near 0 for chains and low-dimensional manifolds.
    """
    n = S.shape[0]
    order = reverse_cuthill_mckee(S, symmetric_mode=True)
    place = np.empty(n, dtype=np.int64)
    place[order] = np.arange(n)
    rows = np.repeat(np.arange(n), np.diff(S.indptr))
    first = np.arange(n)
    np.minimum.at(first, place[rows], place[S.indices])
    return float(np.mean(np.arange(n) - first) / n)


def _dense_solver(M: Floats) -> LinearSolver:
    """Factorise with unit diagonal; where M is singular to rounding, give the solution of least (scaled) norm."""
    diagonal = np.diagonal(M)
    if not np.isfinite(M).all():
        raise NumericalError(
            Message(
                "a linear system has entries that are not finite (diagonal from {low:.1e} to {high:.1e}): the "
                "weights of graph and labels are too far apart. Rescale the graph's weights, {alpha} or "
                "{sample_weight}.",
                low=diagonal.min(),
                high=diagonal.max(),
            )
        )
    scale = _inverse_roots(diagonal)[:, None]  # 0 where nothing depends on a coefficient
    unit = scale * M * scale.T
    try:
        factor = sl.cho_factor(unit, check_finite=False)
    except sl.LinAlgError:
        values, V = sl.eigh(unit, check_finite=False)
    else:
        return lambda B, guess=None: np.asarray(scale * sl.cho_solve(factor, scale * B, check_finite=False))
    # no eigenvalue is negative but by rounding
    kept = values > max(len(unit) * np.finfo(np.float64).eps * values[-1], -2 * values[0])
    values, V = values[kept, None], V[:, kept]
    return lambda B, guess=None: np.asarray(scale * (V @ ((V.T @ (scale * B)) / values)))


def _inverse_roots(squares: Floats) -> Floats:
    """1 / sqrt(s), and 0 where s is not positive."""
    positive = squares > 0
    return np.where(positive, 1 / np.sqrt(np.where(positive, squares, 1.0)), 0.0)


def _iterative_solver(M: Sparse, tol: float, engine: Engine) -> LinearSolver:
    """Conjugate gradients on the engine, in double precision."""
    on_engine, diagonal = engine.operator(M, np.float64), engine.asarray(1 / M.diagonal(), np.float64)[:, None]

    def solve(B: Floats, guess: Floats | None = None) -> Floats:
        right, start = (None if a is None else engine.asarray(a, np.float64) for a in (B, guess))
        X, residual = conjugate_gradients(
            engine, on_engine.__matmul__, right, start, tol, CG_MAX_ITER, lambda R: diagonal * R
        )
        if residual > tol * (1 + 1e-6):
            raise NumericalError(
                f"conjugate gradients did not converge in {CG_MAX_ITER} iterations: relative residual {residual:.1e}"
            )
        return engine.numpy(X)

    return solve


def conjugate_gradients(
    engine: Engine,
    apply: Callable[[Array], Array],
    B: Array,
    start: Array | None,
    tol: float,
    max_iter: int,
    precondition: Callable[[Array], Array] | None = None,
) -> tuple[Array, float]:
    """Solve M X = B for a symmetric positive definite M, all columns at once, each with its own steps.

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


def subspace_correction(engine: Engine, Z: Array, energies: Sequence[Floats]) -> Callable[[Array], Array]:
    """A preconditioner, which solves the system in a subspace that holds what conjugate gradients find last.

    R -> (I - Z G^-1 Z' + Z E_g^-1 Z') R_g for each of k groups of columns, where G = Z'Z and E_g = Z'M_g Z. Where Z
    spans the eigenvectors of the smallest eigenvalues of M_g, these become 1 and the others stay; it is positive
    definite for any Z (C3b). Z: (n, m); energies: k matrices E_g, (m, m); R: (n, k c).
    """
    gram = engine.inner(Z, Z)
    small = [_small(gram, energy) for energy in energies]
    m, k = gram.shape[0], len(small)

    def corrected(R: Array) -> Array:
        inner = engine.inner(Z, R).reshape(m, k, -1)
        turned = np.stack([C @ inner[:, g] for g, C in enumerate(small)], axis=1)
        return R + engine.times(Z, turned.reshape(m, -1))

    return corrected


def _small(gram: Floats, energy: Floats) -> Floats:
    """E^-1 - G^-1, by the eigenvectors that they share: E T = G T diag(h), T' G T = I, columns of norm 1."""
    unit = _inverse_roots(np.diagonal(gram))
    gram, energy = (unit[:, None] * (M + M.T) / 2 * unit for M in (gram, energy))
    values, T = sl.eigh(energy, gram + LEAST_EIGENVALUE * np.eye(len(gram)), check_finite=False)
    T *= unit[:, None]
    return np.asarray((T * (1 / np.maximum(values, LEAST_EIGENVALUE * values[-1]) - 1)) @ T.T)
