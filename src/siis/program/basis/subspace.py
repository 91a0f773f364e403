"""Lowest eigenpairs by a block Davidson method with Chebyshev filters.

A subspace grows by blocks: the lowest Ritz vectors that are not yet good enough are filtered and appended, and
Rayleigh-Ritz finds the best pairs in all of it. Pairs that are found are locked. A Krylov method that grows from one
vector sees one copy of a repeated eigenvalue; a block sees as many as it has columns, and fresh random vectors at the
end look for what is still missing, until nothing is. It needs products of the matrix with a block and small dense
algebra on the host, nothing else.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TypeAlias

import numpy as np
import scipy.linalg as sl

from siis._types import Floats, Ints
from siis.engine import NUMPY, Engine, Operator
from siis.engine.rows import column_norms
from siis.engine.types import Array, Precision
from siis.errors import NumericalError
from siis.program.basis.spectrum import Spectrum
from siis.progress import Report, no_progress

BlockProjection: TypeAlias = Callable[[Array], Array]

IDLE_STEPS = 3  # steps that find no pair, after which blocks are twice as wide: a cluster must fit into the subspace
AMPLIFICATION = 300.0  # of the block's eigenvectors over the damped ones, in one filter
MOST_ROUNDING = 1e-3  # how much of a filtered vector may be rounding that grew along the smoothest ones
MAX_DEGREE = 100
LEAST_SEPARATION = 1e-3  # of the spectrum, between the eigenvalues of the block and the damped ones
ILL_CONDITIONED = 0.03  # times the root of the precision: smallest pivot with which Cholesky orthonormalises
MAX_STEPS = 1000
PROBES, PROBE_STEPS = 4, 12  # fresh random vectors that look for missing pairs, and how often they are filtered


@dataclass(frozen=True, eq=False)
class RitzPairs:
    """Approximate eigenpairs of a symmetric operator."""

    values: Floats  # (p,), ascending
    vectors: Array  # (n, p), orthonormal
    residuals: Floats  # (p,), ||S v - theta v||

    def first(self, k: int) -> RitzPairs:
        """The first k pairs (or all)."""
        k = min(k, self.values.size)
        return RitzPairs(self.values[:k], self.vectors[:, :k], self.residuals[:k])

    def pick(self, which: Ints, engine: Engine) -> RitzPairs:
        """Some of the pairs."""
        return RitzPairs(self.values[which], engine.take(self.vectors, which, 1), self.residuals[which])

    def extended(self, pairs: RitzPairs, engine: Engine) -> RitzPairs:
        """These pairs, then others; these are not used again."""
        return RitzPairs(
            np.concatenate([self.values, pairs.values]),
            engine.keep(engine.hstack(self.vectors, pairs.vectors)),
            np.concatenate([self.residuals, pairs.residuals]),
        )


class Buffer:
    """A block that is handed over: ``take`` leaves no reference here, so that its memory can be used again."""

    def __init__(self, block: Array) -> None:
        self._block = block

    def take(self) -> Array:
        """The block, once."""
        block, self._block = self._block, None
        return block


def block_width(n_wanted: int, engine: Engine = NUMPY) -> int:
    """Columns that are filtered together when so many pairs are wanted: a quarter of them, within bounds."""
    narrowest, widest, _ = engine.block_widths
    return int(np.clip(n_wanted // 4, narrowest, widest))


def orthonormalize(X: Array, outside: BlockProjection, engine: Engine, dtype: Precision) -> Array:
    """An orthonormal basis of the columns of X, (n, p), which ``outside`` projects off the known vectors.

    Cholesky, twice against rounding, or Householder where the columns are nearly dependent.
    """
    xp, tiny = engine.xp, float(np.finfo(dtype).tiny)
    least = ILL_CONDITIONED * np.sqrt(np.finfo(dtype).eps)
    for _ in range(2):
        X = outside(X)
        X = engine.keep(X / xp.clip(column_norms(X, xp), tiny, None))
        try:
            R = sl.cholesky(engine.inner(X, X), check_finite=False)
        except sl.LinAlgError:
            R = np.zeros((1, 1))
        if np.diagonal(R).min() > least:
            X = engine.times(X, sl.solve_triangular(R, np.eye(len(R)), check_finite=False))
        else:
            X = xp.linalg.qr(X)[0]
    return engine.keep(X)


def filter_block(S: Operator, X: Array, wanted: float, cut: float, high: float) -> Array:
    """Lift eigenvectors up to ``wanted`` over those above ``cut``, by a degree that keeps lifted rounding small."""
    wanted = min(wanted, (1 - 2 * LEAST_SEPARATION) * high)
    cut = min(max(cut, wanted + LEAST_SEPARATION * high), (1 - LEAST_SEPARATION) * high)
    c, e = (high + cut) / 2, (high - cut) / 2
    rate, growth = np.arccosh((c - wanted) / e), np.arccosh(c / e)
    most = np.log(MOST_ROUNDING / np.finfo(S.dtype).eps) / max(growth - rate, 1e-12)
    degree = int(np.clip(min(np.log(2 * AMPLIFICATION) / rate, most), 4, MAX_DEGREE))
    return S.engine.chebyshev(S, X, degree, 0.0, cut, high)


def lowest_eigenpairs(
    S: Operator,
    null: Operator,
    start: Array,
    n_wanted: int,
    tol: float,
    spectrum: Spectrum,
    seed: int,
    warm: bool = False,
    report: Report = no_progress,
) -> RitzPairs:
    """Find the ``n_wanted`` lowest eigenpairs of a symmetric positive semidefinite matrix outside its null space.

    null: (n, k), orthonormal; start: (n, p), the first block in the precision of S; a ``warm`` one is near the wanted
    vectors and is not filtered. Residuals of the pairs are at most ``tol``.
    """
    engine, xp = S.engine, S.engine.xp
    n, k = engine.total_count(null.shape[0]), null.shape[1]
    rng, width = np.random.default_rng(seed), block_width(n_wanted, engine)
    idle = 0
    capacity = n_wanted + engine.spare_blocks * width
    found, subspace = (
        RitzPairs(np.zeros(0), engine.empty_block(S.shape[0], n_wanted, S.dtype), np.zeros(0)),
        Subspace(S, capacity),
    )

    def outside(X: Array) -> Array:
        X = X - null @ (null.T @ X)
        X -= engine.times(found.vectors, engine.inner(found.vectors, X))
        return X

    wanted, cut = spectrum.level(n_wanted), spectrum.level(2 * n_wanted)
    if warm:  # without what lies in the null space
        block = outside(start)
        left, whole = (engine.numpy(column_norms(X, xp)) for X in (block, start))
        block = engine.take(block, np.flatnonzero(left > 0.1 * whole), 1)
    else:
        block = filter_block(S, start, wanted, cut, spectrum.high)
    del start
    for _ in range(MAX_STEPS):
        n_columns, buffer = block.shape[1], Buffer(block)
        del block
        subspace.append(buffer.take(), outside, n - k - found.values.size)
        missing = n_wanted - found.values.size
        pairs = subspace.lowest(min(max(width, n_columns), missing))
        good = pairs.residuals <= tol
        n_good = good.size if good.all() else int(np.argmin(good))
        found = found.extended(pairs.first(n_good), engine)
        del pairs
        report(min(found.values.size / n_wanted, 1.0))
        idle = 0 if n_good else idle + 1
        if idle > IDLE_STEPS and width < min(engine.block_widths[2], n // 8):
            width, idle = 2 * width, 0
        largest = n_wanted + engine.spare_blocks * width
        if found.values.size >= n_wanted:
            subspace = Subspace(S)
            found = found.pick(np.argsort(found.values, kind="stable")[:n_wanted], engine)
            unseen = missing_below(S, outside, found, n - k, tol, spectrum, rng)
            if unseen is None:
                return found
            below = found.values < unseen.theta[0]  # what is found above the missing pair is looked for again
            block = xp.concat([unseen.V, engine.take(found.vectors, np.flatnonzero(~below), 1)], axis=1)
            found = found.pick(np.flatnonzero(below), engine)
            continue
        most = largest - width if n_good else max(largest - 2 * width, missing + width)
        if n_good or subspace.width + width > largest:
            subspace.keep(n_good, most)
        block, levels = subspace.next_block(width, n_wanted - found.values.size, rng)
        block = filter_block(S, block, *(levels or (wanted, cut)), spectrum.high)
    raise NumericalError(
        f"the {n_wanted} smoothest eigenvectors were not found in {MAX_STEPS} steps: {found.values.size} have "
        f"residuals of at most {tol:.1e}"
    )


def missing_below(
    S: Operator,
    outside: BlockProjection,
    found: RitzPairs,
    most: int,
    tol: float,
    spectrum: Spectrum,
    rng: np.random.Generator,
) -> Subspace | None:
    """Search an eigenvalue below the last of ``found`` from random vectors: the subspace that shows one, or None.

    A Ritz value below it proves that there is one. That there is none is shown by a Ritz pair that is nearly found
    and lies above, or by filters that would have lifted it out of the fresh vectors long ago. ``most`` is the
    dimension outside the null space.
    """
    last, subspace = float(found.values[-1]), Subspace(S)
    n_probes = min(PROBES, most - found.values.size)
    if n_probes < 1:
        return None
    block = S.engine.normal(rng, S.shape[0], n_probes, S.dtype)
    wanted, cut = last, spectrum.level(2 * found.values.size)
    for _ in range(PROBE_STEPS):
        block = filter_block(S, outside(block), wanted, cut, spectrum.high)
        subspace.append(block, outside, most - found.values.size)
        lowest = subspace.lowest(1)
        if lowest.values[0] < last - 100 * tol:
            return subspace
        if lowest.residuals[0] <= max(10 * tol, (lowest.values[0] - last) / 2):
            return None
        if subspace.width > S.engine.spare_blocks * n_probes:
            subspace.keep(0, 2 * n_probes)
        block, levels = subspace.next_block(n_probes, 1, rng)
        wanted, cut = levels or (wanted, cut)
    return None


class Subspace:
    """Orthonormal V on the engine, and the Ritz values of S in its span; S V, as large as V, is not kept.

    ``capacity``: columns to allocate for V where memory is short; more are possible, and cost a copy.
    """

    def __init__(self, S: Operator, capacity: int = 0) -> None:
        self.S, self.engine = S, S.engine
        self.V: Array = S.engine.empty_block(S.shape[0], capacity, S.dtype)
        self.H: Floats = np.zeros((0, 0))
        self.theta: Floats = np.zeros(0)
        self.Y: Floats = self.H

    @property
    def width(self) -> int:
        """Number of columns of V."""
        return int(self.V.shape[1])

    def append(self, X: Array, outside: BlockProjection, most: int) -> None:
        """Add columns outside of known vectors and of V until V has ``most``; compute the Ritz values."""
        X = X[:, : min(X.shape[1], most - self.width)]
        if not X.shape[1]:
            return
        engine = self.engine

        def beyond(Z: Array) -> Array:
            Z = outside(Z)
            Z -= engine.times(self.V, engine.inner(self.V, Z))
            return Z

        X = orthonormalize(X, beyond, engine, self.S.dtype)
        SX = engine.keep(self.S @ X)
        coupling, corner = engine.inner(self.V, SX), engine.inner(X, SX)
        self.H = np.block([[self.H, coupling], [coupling.T, corner]])
        del SX
        self.V = engine.keep(engine.hstack(self.V, X))
        self.theta, self.Y = sl.eigh((self.H + self.H.T) / 2, check_finite=False)

    def lowest(self, k: int) -> RitzPairs:
        """The k lowest Ritz pairs (or all)."""
        Y, theta = self.Y[:, :k], self.theta[:k]
        vectors = self.engine.keep(self.engine.times(self.V, Y))
        images = self.S @ vectors
        images -= vectors * self.engine.asarray(theta, self.S.dtype)
        residuals = self.engine.numpy(column_norms(images, self.engine.xp))
        return RitzPairs(theta, vectors, residuals)

    def keep(self, first: int, most: int) -> None:
        """Keep at most ``most`` Ritz vectors from number ``first`` on."""
        Y = self.Y[:, first : first + most]
        self.V = self.engine.keep(self.engine.matmul_inplace(self.V, Y))
        self.theta = self.theta[first : first + most]
        self.H, self.Y = np.diag(self.theta), np.eye(self.theta.size)

    def next_block(
        self, width: int, missing: int, rng: np.random.Generator
    ) -> tuple[Array, tuple[float, float] | None]:
        """The block to filter; the last eigenvalue that it should hold, and the one above which to damp, if known."""
        block = self.engine.times(self.V, self.Y[:, :width])
        if block.shape[1] < width:
            fresh = self.engine.normal(rng, block.shape[0], width - block.shape[1], self.S.dtype)
            block = self.engine.xp.concat([block, fresh], axis=1)
        if not self.theta.size:
            return block, None
        wanted = float(self.theta[min(width, missing, self.theta.size) - 1])
        return block, (wanted, float(self.theta[min(missing + width, self.theta.size) - 1]))
