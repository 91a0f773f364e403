"""Eigenpairs by factorisations on the host: dense ones, or Lanczos on the inverse, checked by inertia."""

from __future__ import annotations

import numpy as np
import scipy.linalg as sl
import scipy.sparse as sp
from scipy.sparse.linalg import ArpackError, LinearOperator, SuperLU, eigsh

from siis._types import BlockProduct, Floats, Ints, Sparse
from siis.engine import NUMPY
from siis.engine.linear_systems import factorize
from siis.engine.threads import pause_point
from siis.errors import NumericalError
from siis.program.basis.spectrum import estimate_spectrum
from siis.program.basis.subspace import RitzPairs, Subspace, missing_below

LEAST_EIGENVALUE = 1e-13  # times the upper bound: smallest eigenvalue outside the null space
SHIFT = 1e-10  # times the upper bound
LANCZOS_RESTARTS = 50
BLOCK_STEPS = 10
LANCZOS_ROUNDS = 10  # of Lanczos, each outside what the others found


def dense_eigenpairs(S: Sparse, null: Sparse, component: Ints, flat: Floats, n_wanted: int, high: float) -> RitzPairs:
    """All pairs of each component; null vectors (n, k), with which small pairs mix, are shifted above ``high``.

    component: (n,); flat: (n,), a null vector that is nowhere 0.
    """
    values, vectors = [], []
    order, ends = np.argsort(component, kind="stable"), np.cumsum(np.bincount(component))
    for members in np.split(order, ends[:-1]):
        if members.size == 1:
            continue
        v = flat[members] / np.linalg.norm(flat[members])
        lifted = S[members][:, members].toarray() + 2 * high * np.outer(v, v)
        last = min(n_wanted, members.size - 1) - 1
        theta, V = sl.eigh(lifted, subset_by_index=[0, last], overwrite_a=True, check_finite=False)
        values.append(theta)
        vectors.append((members, V))
    lowest = np.argsort(np.concatenate(values), kind="stable")[:n_wanted]
    of = np.repeat(np.arange(len(values)), [theta.size for theta in values])[lowest]
    at = np.concatenate([np.arange(theta.size) for theta in values])[lowest]
    X = np.zeros((S.shape[0], lowest.size))
    for column, (part, k) in enumerate(zip(of, at, strict=True)):
        members, V = vectors[part]
        X[members, column] = V[:, k]
    return ritz_pairs(S, null, X)


def shift_invert(
    S: Sparse, null: Sparse, start: Floats, n_wanted: int, high: float, tol: float
) -> tuple[RitzPairs, str]:
    """Lanczos on (S + shift I)^-1, repeated outside the known vectors until the inertia shows that none is missing.

    Lanczos alone sees one copy of a repeated eigenvalue; single precision would move the null space and the inertia.
    null: (n, k); start: (n, p), a first vector for each round of p pairs; ``high`` bounds the spectrum, ``tol`` the
    residuals. Returns the pairs and how it was checked that none is missing, "inertia" or "probe".
    """
    factor = factorize(S, SHIFT * high)
    known, missing = start[:, :0], start.shape[1]
    for round_ in range(LANCZOS_ROUNDS):
        fresh = _lanczos(factor, null, known, start[:, round_ % start.shape[1]], missing)
        pairs = ritz_pairs(S, null, np.hstack([known, fresh]))
        known = pairs.vectors[:, : start.shape[1]]
        if known.shape[1] < n_wanted:
            missing = n_wanted - known.shape[1]
            continue
        below = np.concatenate([[0.0], pairs.values[:n_wanted]])
        gaps = np.flatnonzero(
            np.diff(below) > 100 * max(float(pairs.residuals[:n_wanted].max()), LEAST_EIGENVALUE * high)
        )
        count = None
        if gaps.size:  # count in the last clear gap: how many eigenvalues lie below it is known
            last = int(gaps[-1])
            count = count_below(S, (below[last] + below[last + 1]) / 2)
        if count is None:
            _check_complete(S, null, pairs, n_wanted, high, tol)
            return pairs, "probe"
        missing = count - null.shape[1] - last
        if missing == 0:
            return pairs, "inertia"
    raise NumericalError(f"{missing} eigenvalues were not found in {LANCZOS_ROUNDS} rounds")


def _lanczos(factor: SuperLU, null: Sparse, known: Floats, v0: Floats, n_wanted: int) -> Floats:
    """Give eigenvectors for the largest eigenvalues of the inverse, outside ``null`` and ``known``."""
    project = outside(null, known)
    n = v0.size

    def times(x: Floats) -> Floats:
        pause_point()
        return project(factor.solve(project(x.ravel())))

    inverse = LinearOperator((n, n), matvec=times, dtype=np.float64)
    n_wanted = min(n_wanted, n - null.shape[1] - known.shape[1])
    try:
        vectors = eigsh(inverse, k=n_wanted, which="LA", v0=project(v0), maxiter=LANCZOS_RESTARTS)[1]
    except ArpackError:  # eigenvalues too close for Lanczos: iterate a block, which takes a cluster as a whole
        vectors = np.random.default_rng(known.shape[1]).standard_normal((n, n_wanted))
        for _ in range(BLOCK_STEPS):
            vectors = np.linalg.qr(inverse.matmat(vectors))[0]
    return project(np.asarray(vectors, dtype=np.float64))


def _check_complete(S: Sparse, null: Sparse, pairs: RitzPairs, n_wanted: int, high: float, tol: float) -> None:
    """Search missing pairs from fresh vectors, where inertia is not known."""
    found, (n, k) = pairs.first(n_wanted), null.shape
    operators = NUMPY.operator(S, np.float64), NUMPY.operator(null, np.float64)
    spectrum, rng = estimate_spectrum(*operators, high, n_wanted), np.random.default_rng(n_wanted)
    unseen = missing_below(operators[0], outside(null, found.vectors), found, n - k, tol, spectrum, rng)
    if unseen is not None:
        raise NumericalError(
            f"an eigenvalue at or below {unseen.theta[0]:.6g} is missing, the last found is {found.values[-1]:.6g}"
        )


def count_below(S: Sparse, shift: float) -> int | None:
    """Count eigenvalues of S below a shift: negative pivots of S - shift I (Sylvester); None if a pivot was moved."""
    try:
        factor = factorize(S, -shift)
    except RuntimeError:  # exactly singular
        return None
    pivots = factor.U.diagonal()
    if not (np.isfinite(pivots).all() and np.array_equal(factor.perm_r, factor.perm_c)):
        return None
    return int(np.count_nonzero(pivots < 0))


def outside(null: Sparse, known: Floats) -> BlockProduct:
    """Projection to the complement of the null vectors and of others."""
    transposed = sp.csr_array(null.T)

    def project(X: Floats) -> Floats:
        X = X - null @ (transposed @ X)
        return X - known @ (known.T @ X)

    return project


def ritz_pairs(S: Sparse, null: Sparse, X: Floats) -> RitzPairs:
    """The Ritz pairs of S in the span of X, outside the null space."""
    subspace = Subspace(NUMPY.operator(S, np.float64))
    subspace.append(X, outside(null, X[:, :0]), X.shape[1])
    return subspace.lowest(X.shape[1])
