"""Symmetric positive definite systems on the host: dense factors, sparse factors or conjugate gradients."""

from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np
import scipy.linalg as sl
import scipy.sparse as sp
from scipy.sparse.csgraph import reverse_cuthill_mckee
from scipy.sparse.linalg import SuperLU, splu

from siis._types import Floats, Sparse
from siis.engine.base import Engine, Operator
from siis.engine.cg import conjugate_gradients
from siis.engine.numpy import NUMPY
from siis.errors import Message, NumericalError

THIN_ENVELOPE = 0.05  # mean width of the envelope, as a share of n
SMALL_ENVELOPE = 1e7  # entries of the envelope up to which a factor is cheap, thin or not
CG_MAX_ITER = 20_000


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
    if share <= THIN_ENVELOPE or share * n * n <= SMALL_ENVELOPE:
        return _Factor(factorize(M))
    return _ConjugateGradients(engine.operator(M, np.float64), 1 / M.diagonal(), tol)


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


@dataclass(frozen=True, eq=False)
class _Cholesky:
    factor: Any
    scale: Floats

    def __call__(self, B: Floats, guess: Floats | None = None) -> Floats:
        X: Floats = self.scale * sl.cho_solve(self.factor, self.scale * B, check_finite=False)
        return X


@dataclass(frozen=True, eq=False)
class _PseudoInverse:
    """V diag(1 / values) V' on the directions that rounding leaves, 0 on the others."""

    vectors: Floats
    values: Floats
    scale: Floats

    def __call__(self, B: Floats, guess: Floats | None = None) -> Floats:
        V = self.vectors
        X: Floats = self.scale * (V @ ((V.T @ (self.scale * B)) / self.values[:, None]))
        return X


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
    live = diagonal > 0  # 0 where nothing depends on a coefficient
    scale = np.where(live, 1 / np.sqrt(np.where(live, diagonal, 1.0)), 0.0)[:, None]
    unit = scale * M * scale.T
    try:
        return _Cholesky(sl.cho_factor(unit, check_finite=False), scale)
    except sl.LinAlgError:
        values, V = sl.eigh(unit, check_finite=False)
    noise = max(
        len(unit) * np.finfo(np.float64).eps * values[-1], -2 * values[0]
    )  # no eigenvalue is negative but by it
    kept = values > noise
    return _PseudoInverse(V[:, kept], values[kept], scale)


@dataclass(frozen=True, eq=False)
class _Factor:
    factor: SuperLU

    def __call__(self, B: Floats, guess: Floats | None = None) -> Floats:
        X: Floats = self.factor.solve(np.ascontiguousarray(B))
        return X


@dataclass(frozen=True, eq=False)
class _ConjugateGradients:
    M: Operator
    inverse_diagonal: Floats
    tol: float

    def __call__(self, B: Floats, guess: Floats | None = None) -> Floats:
        engine = self.M.engine
        inverse = engine.asarray(self.inverse_diagonal, np.float64)[:, None]
        X, residual = conjugate_gradients(
            engine,
            self.M.__matmul__,
            engine.asarray(B, np.float64),
            None if guess is None else engine.asarray(guess, np.float64),
            self.tol,
            CG_MAX_ITER,
            lambda R: inverse * R,
        )
        if residual > self.tol * (1 + 1e-6):
            raise NumericalError(
                f"conjugate gradients did not converge in {CG_MAX_ITER} iterations: relative residual {residual:.1e}"
            )
        return engine.numpy(X)
