"""Graph -> SmoothBasis: complete, with checked residuals, by the method that suits the graph."""

from typing import Any

import numpy as np
import scipy.linalg as sl
import scipy.sparse as sp
from scipy.sparse.linalg import ArpackError, LinearOperator, SuperLU, eigsh

from siis._types import BlockProduct, Floats, Sparse
from siis.graph import Graph
from siis.kernels import compact
from siis.linear import THIN, envelope_share, factorize
from siis.progress import Report, unheard
from siis.spectral.basis import IdentityBasis, SmoothBasis
from siis.spectral.coarse import Guess, guess
from siis.spectral.factor import count_below
from siis.spectral.spectrum import look
from siis.spectral.subspace import (
    ROOM,
    RitzPairs,
    Subspace,
    block_width,
    lowest_eigenpairs,
    missing_below,
    sweep,
)
from siis.threads import one_blas_thread, pause_point

RESIDUAL = 1e-6  # times the upper bound of the spectrum
ROUNDINGS = 10  # of the precision: the least residual that can be asked for
FLOOR = 1e-13  # times the upper bound: smallest eigenvalue outside the null space
SHIFT = 1e-10  # times the upper bound, in shift-invert
LANCZOS_RESTARTS = 50
MOST_FILL = 1e9  # entries of the envelope, which bounds those of a factor
BLOCK_STEPS = 10
COARSE_FROM = 5_000  # vertices: beyond, a graph of groups gives a first guess
GUARD = 4  # vectors that are guessed beyond the wanted ones: they tell where to cut next
COARSE_CUT = 5.0  # times the largest eigenvalue on the groups: what is above is damped in the guess
ROUNDS = 30  # of Lanczos in shift-invert, each outside what the others found
METHODS = ("auto", "dense", "shift-invert", "chebyshev")


def identity_basis(graph: Graph) -> IdentityBasis:
    """Give the basis U = I with Sigma = L (the paper's ablation).

    Parameters
    ----------
    graph : Graph

    Returns
    -------
    IdentityBasis
    """
    return IdentityBasis(graph.laplacian, graph.component)


def smooth_basis(
    graph: Graph,
    n_components: int,
    laplacian: str = "unnormalized",
    random_state: int = 0,
    method: str = "auto",
    residual: float = RESIDUAL,
    start: Floats | None = None,
    dtype: type[np.floating[Any]] = np.float64,
    report: Report = unheard,
) -> SmoothBasis:
    """Compute the smoothest eigenvectors of a graph's Laplacian, missing none.

    Eigenvalue 0 belongs to the connected components: its vectors are written down. The others come from a block
    method that cannot skip a copy of a repeated eigenvalue, and the count is then checked.

    Parameters
    ----------
    graph : Graph
    n_components : int
        m; at most n vectors are returned.
    laplacian : {"unnormalized", "normalized"}
    random_state : int
        Seed of the start block.
    method : {"auto", "dense", "shift-invert", "chebyshev"}
        "auto": dense where the block would be half of the matrix anyway, shift-invert where a factor stays thin,
        otherwise Chebyshev (no factorisation).
    residual : float
        Largest residual of a vector, over the upper bound of the spectrum; at least 10 roundings of the precision.
    start : ndarray of shape (n, k), optional
        Vectors to begin with: of a smaller basis, or of a similar graph's.
    dtype : {np.float64, np.float32}
        Precision of the work and of the vectors.
    report : callable
        Takes the share of the work that is done: of the vectors, those that are found.

    Returns
    -------
    SmoothBasis
    """
    n = graph.n_vertices
    _check(n, n_components, method, start)
    m = min(n_components, n)
    scale = _vertex_scale(graph, laplacian)
    S = compact(sp.diags_array(scale) @ graph.laplacian @ sp.diags_array(scale), dtype)
    null = compact(_null_vectors(graph, scale), dtype)
    n_null = min(m, null.shape[1])
    n_rest = m - n_null
    block = min(n - null.shape[1], n_rest + max(8, n_rest // 5))  # vectors of a dense or sparse factorisation
    high = _upper_bound(graph, laplacian)
    tol = max(residual, ROUNDINGS * float(np.finfo(dtype).eps)) * high

    if n_rest == 0:
        found, check, method = None, "components", "components"
    else:
        if method == "auto":
            method = _choose(S, block)
        warm = start is not None and start.shape[1] > 0
        if start is not None and warm:
            X = (start[:, :block] / scale[:, None]).astype(dtype)
        else:
            X = np.random.default_rng(random_state).standard_normal((n, block)).astype(dtype)
        if method == "dense":
            found, check = _dense(S, null, n_rest, high), "dense"
        elif method == "shift-invert":
            found, check = _shift_invert(S, null, X, n_rest, high, tol)
        else:
            n_guessed = n_rest + GUARD
            coarse = (
                None if warm or n < COARSE_FROM else guess(S, null, graph.weights, scale, n_guessed, random_state)
            )
            found, check = _chebyshev(S, null, X, n_rest, high, tol, warm, coarse, report)

    V = null[:, :n_null].toarray()
    values, residuals = np.zeros(n_null), np.linalg.norm(S @ V, axis=0).astype(np.float64)
    if found is not None:
        if found.residuals[:n_rest].max() > tol:
            raise RuntimeError(
                _incomplete(f"residuals reach {found.residuals[:n_rest].max():.1e}, {tol:.1e} was asked")
            )
        V = np.hstack([V, _fix_signs(found.vectors[:, :n_rest]).astype(dtype, copy=False)])
        # below the floor an eigenvalue is rounding, and may be negative; the energy must not be
        values = np.concatenate([values, np.maximum(found.values[:n_rest], FLOOR * high)])
        residuals = np.concatenate([residuals, found.residuals[:n_rest]])
    mean = np.sqrt(np.mean(1 / scale**2)) if laplacian == "normalized" else 1.0
    V *= (scale * mean).astype(dtype)[:, None]
    return SmoothBasis(V, values, laplacian, n_null, residuals, method, check)


def _check(n: int, n_components: int, method: str, start: Floats | None) -> None:
    if n_components < 1:
        raise ValueError(f"n_components must be at least 1; found {n_components}")
    if method not in METHODS:
        raise ValueError(f"method must be one of {METHODS}; found {method!r}")
    if start is not None and (start.ndim != 2 or len(start) != n):
        raise ValueError(f"start must have a row for each of {n} vertices; found shape {start.shape}")


def _vertex_scale(graph: Graph, laplacian: str) -> Floats:
    """S = diag(scale) L diag(scale): ones, or D^-1/2 (1 where the degree is 0)."""
    if laplacian == "unnormalized":
        return np.ones(graph.n_vertices)
    if laplacian == "normalized":
        return 1 / np.sqrt(np.where(graph.degrees > 0, graph.degrees, 1.0))
    raise ValueError(f"laplacian must be 'unnormalized' or 'normalized'; found {laplacian!r}")


def _null_vectors(graph: Graph, scale: Floats) -> Sparse:
    """Orthonormal null vectors of S, one a component, the largest component first: shape (n, n_components)."""
    n, k = graph.n_vertices, graph.n_components
    sizes = np.bincount(graph.component, minlength=k)
    order = np.empty(k, dtype=np.int64)
    order[np.argsort(-sizes, kind="stable")] = np.arange(k)
    column = order[graph.component]
    norm = np.sqrt(np.bincount(column, weights=1 / scale**2, minlength=k))
    entries = 1 / (scale * norm[column])
    return sp.csr_array((entries, (np.arange(n), column)), shape=(n, k))


def _upper_bound(graph: Graph, laplacian: str) -> float:
    """Bound the spectrum: 2 (normalized), or the largest d_i + d_j over the edges (Anderson and Morley)."""
    if laplacian == "normalized":
        return 2.0
    rows = np.repeat(np.arange(graph.n_vertices), np.diff(graph.weights.indptr))
    return float((graph.degrees[rows] + graph.degrees[graph.weights.indices]).max(initial=1e-300))


def _choose(S: Sparse, block: int) -> str:
    if S.shape[0] <= 2 * (block + ROOM * block_width(block)):
        return "dense"
    share, n = envelope_share(S), S.shape[0]
    return "shift-invert" if share <= THIN and share * n * n <= MOST_FILL else "chebyshev"


def _outside(null: Sparse, known: Floats) -> BlockProduct:
    """Projection to the complement of the null vectors and of others."""
    transposed = sp.csr_array(null.T)

    def project(X: Floats) -> Floats:
        X = X - null @ (transposed @ X)
        return X - known @ (known.T @ X)

    return project


def _ritz(S: Sparse, null: Sparse, X: Floats) -> RitzPairs:
    """The Ritz pairs of S in the span of X, outside the null space."""
    subspace = Subspace(S)
    subspace.append(X, _outside(null, X[:, :0]))
    return subspace.lowest(X.shape[1])


def _dense(S: Sparse, null: Sparse, n_wanted: int, high: float) -> RitzPairs:
    """All at once, in double precision; the null space is lifted out of the way, since smallest pairs mix with it."""
    S, null = S.astype(np.float64), null.astype(np.float64)
    lifted = (S + 2 * high * (null @ null.T)).toarray()
    _, vectors = sl.eigh(lifted, subset_by_index=[0, min(n_wanted, S.shape[0]) - 1])
    return _ritz(S, null, vectors)


def _chebyshev(
    S: Sparse,
    null: Sparse,
    X: Floats,
    n_wanted: int,
    high: float,
    tol: float,
    warm: bool,
    coarse: Guess | None,
    report: Report,
) -> tuple[RitzPairs, str]:
    with one_blas_thread():
        spectrum = look(S, null, high, X.shape[1])
        if coarse is not None:
            level = float(coarse.values[n_wanted - 1])
            start = sweep(S, coarse.vectors, level, COARSE_CUT * level, spectrum.high)
        else:
            start = X if warm else X[:, : block_width(n_wanted)]
        is_guess = warm or coarse is not None
        return lowest_eigenpairs(S, null, start, n_wanted, tol, spectrum, X.shape[1], is_guess, report), "probe"


def _shift_invert(
    S: Sparse, null: Sparse, start: Floats, n_wanted: int, high: float, tol: float
) -> tuple[RitzPairs, str]:
    """Lanczos on (S + shift I)^-1, again and again outside what is known, until the inertia says that none is left.

    Lanczos alone sees one copy of a repeated eigenvalue and finds others by luck. In double precision.
    """
    S, null, start = S.astype(np.float64), null.astype(np.float64), start.astype(np.float64)
    factor = factorize(S, SHIFT * high)
    known, missing = start[:, :0], start.shape[1]
    for round_ in range(ROUNDS):
        fresh = _lanczos(factor, null, known, start[:, round_ % start.shape[1]], missing)
        pairs = _ritz(S, null, np.hstack([known, fresh]))
        known = pairs.vectors[:, : start.shape[1]]
        if known.shape[1] < n_wanted:
            missing = n_wanted - known.shape[1]
            continue
        below = np.concatenate([[0.0], pairs.values[:n_wanted]])
        gaps = np.flatnonzero(np.diff(below) > 100 * max(float(pairs.residuals[:n_wanted].max()), FLOOR * high))
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
    raise RuntimeError(_incomplete(f"{missing} were not found in {ROUNDS} rounds"))


def _lanczos(factor: SuperLU, null: Sparse, known: Floats, v0: Floats, n_wanted: int) -> Floats:
    """Give eigenvectors for the largest eigenvalues of the inverse, outside ``null`` and ``known``."""
    outside = _outside(null, known)
    n = v0.size

    def times(x: Floats) -> Floats:
        pause_point()
        return outside(factor.solve(outside(x.ravel())))

    inverse = LinearOperator((n, n), matvec=times, dtype=np.float64)
    n_wanted = min(n_wanted, n - null.shape[1] - known.shape[1])
    try:
        vectors = eigsh(inverse, k=n_wanted, which="LA", v0=outside(v0), maxiter=LANCZOS_RESTARTS)[1]
    except ArpackError:  # eigenvalues too close for Lanczos: iterate a block, which takes a cluster as a whole
        vectors = np.random.default_rng(known.shape[1]).standard_normal((n, n_wanted))
        for _ in range(BLOCK_STEPS):
            vectors = np.linalg.qr(inverse.matmat(vectors))[0]
    return outside(np.asarray(vectors, dtype=np.float64))


def _check_complete(S: Sparse, null: Sparse, pairs: RitzPairs, n_wanted: int, high: float, tol: float) -> None:
    """Where inertia cannot tell, let fresh vectors look for what is missing."""
    found = RitzPairs(pairs.values[:n_wanted], pairs.vectors[:, :n_wanted], pairs.residuals[:n_wanted])
    n, k = null.shape
    rng = np.random.default_rng(n_wanted)
    unseen = missing_below(S, _outside(null, found.vectors), found, n - k, tol, look(S, null, high, n_wanted), rng)
    if unseen is not None:
        raise RuntimeError(
            _incomplete(f"one at or below {unseen.theta[0]:.6g}, the last found is {found.values[-1]:.6g}")
        )


def _incomplete(what: str) -> str:
    return f"the basis misses eigenvalues: {what}. Use another random_state, and please report this graph."


def _fix_signs(V: Floats) -> Floats:
    """Make the entry of largest magnitude of each column positive."""
    largest = V[np.argmax(np.abs(V), axis=0), np.arange(V.shape[1])]
    return V * np.where(largest < 0, -1.0, 1.0)
