"""Lowest eigenpairs by a block Davidson method with Chebyshev filters.

A subspace grows by blocks: the lowest Ritz vectors that are not yet good enough are filtered and appended, and
Rayleigh-Ritz finds the best pairs in all of it. Pairs that are found are locked. A Krylov method that grows from one
vector sees one copy of a repeated eigenvalue; a block sees as many as it has columns, and fresh random vectors at the
end look for what is still missing, until nothing is. It needs products of the matrix with a block and small dense
algebra, nothing else.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import scipy.linalg as sl

from siis._types import BlockProduct, Floats, Sparse
from siis.errors import NumericalError
from siis.kernels import chebyshev_filter, product, tall_product, tall_transposed
from siis.progress import Report, unheard
from siis.spectral.spectrum import Spectrum

NARROWEST, WIDEST = 16, 64  # columns of a block; else a quarter of the wanted ones
ROOM = 4  # blocks in the subspace beyond the wanted pairs
AMPLIFICATION = 300.0  # of the block's eigenvectors over the damped ones, in one filter
NOISE = 1e-3  # how much of a filtered vector may be rounding that grew along the smoothest ones
MAX_DEGREE = 100
LEAST_SEPARATION = 1e-3  # of the spectrum, between the eigenvalues of the block and the damped ones
ILL_CONDITIONED = 0.03  # times the root of the precision: smallest pivot with which Cholesky orthonormalises
MAX_STEPS = 1000
PROBES, PROBE_STEPS = 4, 12  # fresh random vectors that look for missing pairs, and how often they are filtered


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


def block_width(n_wanted: int) -> int:
    """Columns that are filtered together when so many pairs are wanted."""
    return int(np.clip(n_wanted // 4, NARROWEST, WIDEST))


def _small_eigh(H: Floats) -> tuple[Floats, Floats]:
    H = H.astype(np.float64)
    values, vectors = sl.eigh((H + H.T) / 2, check_finite=False)
    return values, vectors


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
            R = sl.cholesky(tall_transposed(X, X).astype(np.float64), check_finite=False)
        except sl.LinAlgError:
            R = np.zeros((1, 1))
        if np.diagonal(R).min() > least:
            X = tall_product(X, sl.solve_triangular(R, np.eye(len(R)), check_finite=False).astype(X.dtype))
        else:
            X = np.linalg.qr(X)[0]
    return X


def sweep(S: Sparse, X: Floats, wanted: float, cut: float, high: float) -> Floats:
    """Filter a block: lift eigenvectors with eigenvalues up to ``wanted`` over those above ``cut``.

    The degree is bounded so that rounding, which the filter lifts most along the smoothest vectors, stays small.

    Parameters
    ----------
    S : csr_array of shape (n, n)
    X : ndarray of shape (n, p)
    wanted, cut, high : float

    Returns
    -------
    ndarray of shape (n, p)
    """
    wanted = min(wanted, (1 - 2 * LEAST_SEPARATION) * high)
    cut = min(max(cut, wanted + LEAST_SEPARATION * high), (1 - LEAST_SEPARATION) * high)
    c, e = (high + cut) / 2, (high - cut) / 2
    rate, growth = np.arccosh((c - wanted) / e), np.arccosh(c / e)
    room = np.log(NOISE / np.finfo(X.dtype).eps) / max(growth - rate, 1e-12)
    degree = int(np.clip(min(np.log(2 * AMPLIFICATION) / rate, room), 4, MAX_DEGREE))
    return chebyshev_filter(S, X, degree, 0.0, cut, high)


def lowest_eigenpairs(
    S: Sparse,
    null: Sparse,
    start: Floats,
    n_wanted: int,
    tol: float,
    spectrum: Spectrum,
    seed: int,
    warm: bool = False,
    report: Report = unheard,
) -> RitzPairs:
    """Find the ``n_wanted`` lowest eigenpairs of a symmetric positive semidefinite matrix outside its null space.

    Parameters
    ----------
    S : csr_array of shape (n, n)
    null : csr_array of shape (n, k)
        Orthonormal null vectors.
    start : ndarray of shape (n, p), of the precision of S
        The first block.
    n_wanted : int
    tol : float
        Residual at which a pair counts as found.
    spectrum : Spectrum
    seed : int
        Of fresh vectors.
    warm : bool
        Whether the start is a guess, which is not filtered.
    report : callable
        Takes the share of the pairs that are found.

    Returns
    -------
    RitzPairs
        ``n_wanted`` pairs, of residuals of at most ``tol``.
    """
    n, k = null.shape
    rng, width = np.random.default_rng(seed), block_width(n_wanted)
    largest = n_wanted + ROOM * width
    found, subspace = RitzPairs(np.zeros(0), start[:, :0], np.zeros(0)), Subspace(S)
    transposed = null.T.tocsr()

    def outside(X: Floats) -> Floats:
        X = X - null @ (transposed @ X)
        X -= tall_product(found.vectors, tall_transposed(found.vectors, X))
        return X

    wanted, cut = spectrum.level(n_wanted), spectrum.level(2 * n_wanted)
    if warm:  # without what lies in the null space
        block = outside(start)
        block = block[:, np.linalg.norm(block, axis=0) > 0.1 * np.linalg.norm(start, axis=0)]
    else:
        block = sweep(S, start, wanted, cut, spectrum.high)
    for _ in range(MAX_STEPS):
        subspace.append(block[:, : n - k - found.values.size - subspace.width], outside)
        missing = n_wanted - found.values.size
        pairs = subspace.lowest(min(max(width, block.shape[1]), missing))
        good = pairs.residuals <= tol
        n_good = good.size if good.all() else int(np.argmin(good))
        found = _joined(found, pairs, n_good)
        report(min(found.values.size / n_wanted, 1.0))
        if found.values.size >= n_wanted:
            found = _sorted(found, n_wanted)
            unseen = missing_below(S, outside, found, n - k, tol, spectrum, rng)
            if unseen is None:
                return found
            below = found.values < unseen.theta[0]  # what is found above the missing pair is looked for again
            block = np.hstack([unseen.V, found.vectors[:, ~below]])
            found = RitzPairs(found.values[below], found.vectors[:, below], found.residuals[below])
            subspace = Subspace(S)
            continue
        most = largest - width if n_good else max(largest - 2 * width, missing + width)
        if n_good or subspace.width + width > largest:
            subspace.keep(n_good, most)
        block, levels = subspace.next_block(width, n_wanted - found.values.size, rng)
        block = sweep(S, block, *(levels or (wanted, cut)), spectrum.high)
    raise NumericalError(
        f"the {n_wanted} smoothest eigenvectors were not found in {MAX_STEPS} steps: {found.values.size} have "
        f"residuals of at most {tol:.1e}"
    )


def _joined(found: RitzPairs, pairs: RitzPairs, n_good: int) -> RitzPairs:
    return RitzPairs(
        np.concatenate([found.values, pairs.values[:n_good]]),
        np.hstack([found.vectors, pairs.vectors[:, :n_good]]),
        np.concatenate([found.residuals, pairs.residuals[:n_good]]),
    )


def _sorted(found: RitzPairs, n_wanted: int) -> RitzPairs:
    order = np.argsort(found.values, kind="stable")[:n_wanted]
    return RitzPairs(found.values[order], found.vectors[:, order], found.residuals[order])


def missing_below(
    S: Sparse,
    outside: BlockProduct,
    found: RitzPairs,
    most: int,
    tol: float,
    spectrum: Spectrum,
    rng: np.random.Generator,
) -> Subspace | None:
    """Look for an eigenvalue below the last found one, in a subspace that grows from fresh vectors outside of them.

    A Ritz value below it proves that there is one. That there is none is shown by a Ritz pair that is nearly found
    and lies above, or by filters that would have lifted it out of the fresh vectors long ago.

    Parameters
    ----------
    S : csr_array of shape (n, n)
    outside : callable
        Projects a block to the complement of the null space and of what is found.
    found : RitzPairs
    most : int
        Dimensions outside the null space.
    tol : float
        Residual of the pairs.
    spectrum : Spectrum
    rng : Generator

    Returns
    -------
    Subspace or None
        The subspace in which it was seen; None where nothing is missing.
    """
    last, subspace = float(found.values[-1]), Subspace(S)
    n_probes = min(PROBES, most - found.values.size)
    if n_probes < 1:
        return None
    block = rng.standard_normal((S.shape[0], n_probes)).astype(S.dtype)
    wanted, cut = last, spectrum.level(2 * found.values.size)
    for _ in range(PROBE_STEPS):
        block = sweep(S, outside(block), wanted, cut, spectrum.high)
        subspace.append(block[:, : most - found.values.size - subspace.width], outside)
        lowest = subspace.lowest(1)
        if lowest.values[0] < last - 100 * tol:
            return subspace
        if lowest.residuals[0] <= max(10 * tol, (lowest.values[0] - last) / 2):
            return None
        if subspace.width > ROOM * n_probes:
            subspace.keep(0, 2 * n_probes)
        block, levels = subspace.next_block(n_probes, 1, rng)
        wanted, cut = levels or (wanted, cut)
    return None


class Subspace:
    """Orthonormal V with S V, and the Ritz values of S in its span."""

    def __init__(self, S: Sparse) -> None:
        self.S = S
        self.V: Floats = np.zeros((S.shape[0], 0), S.dtype)
        self.SV: Floats = self.V
        self.H: Floats = np.zeros((0, 0))
        self.theta: Floats = np.zeros(0)
        self.Y: Floats = self.H

    @property
    def width(self) -> int:
        """Number of columns of V."""
        return int(self.V.shape[1])

    def append(self, X: Floats, outside: BlockProduct) -> None:
        """Add columns, outside of what is known and of V, and find the Ritz values."""
        if not X.shape[1]:
            return

        def beyond(Z: Floats) -> Floats:
            Z = outside(Z)
            Z -= tall_product(self.V, tall_transposed(self.V, Z))
            return Z

        X = orthonormalize(X, beyond)
        SX = product(self.S, X)
        beside, corner = (tall_transposed(Z, SX).astype(np.float64) for Z in (self.V, X))
        self.H = np.block([[self.H, beside], [beside.T, corner]])
        self.V, self.SV = np.hstack([self.V, X]), np.hstack([self.SV, SX])
        self.theta, self.Y = _small_eigh(self.H)

    def lowest(self, k: int) -> RitzPairs:
        """The k lowest Ritz pairs (or all)."""
        Y, theta = self.Y[:, :k].astype(self.V.dtype), self.theta[:k]
        vectors, images = tall_product(self.V, Y), tall_product(self.SV, Y)
        images -= vectors * theta.astype(Y.dtype)
        return RitzPairs(theta, vectors, np.linalg.norm(images, axis=0).astype(np.float64))

    def keep(self, first: int, most: int) -> None:
        """Keep the Ritz vectors from the first on, so many at most."""
        Y = self.Y[:, first : first + most].astype(self.V.dtype)
        self.V, self.SV = tall_product(self.V, Y), tall_product(self.SV, Y)
        self.theta = self.theta[first : first + most]
        self.H, self.Y = np.diag(self.theta), np.eye(self.theta.size)

    def next_block(
        self, width: int, missing: int, rng: np.random.Generator
    ) -> tuple[Floats, tuple[float, float] | None]:
        """The block to filter; the last eigenvalue that it should hold, and the one above which to damp, if known."""
        block = tall_product(self.V, self.Y[:, :width].astype(self.V.dtype))
        if block.shape[1] < width:
            fresh = rng.standard_normal((len(block), width - block.shape[1])).astype(self.V.dtype)
            block = np.hstack([block, fresh])
        if not self.theta.size:
            return block, None
        wanted = float(self.theta[min(width, missing, self.theta.size) - 1])
        return block, (wanted, float(self.theta[min(missing + width, self.theta.size) - 1]))
