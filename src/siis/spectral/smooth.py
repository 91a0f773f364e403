"""Graph -> SmoothBasis: complete, with checked residuals, by the method that suits the graph."""

from dataclasses import dataclass
from typing import Any

import numpy as np
import scipy.linalg as sl
import scipy.sparse as sp
from scipy.sparse.linalg import ArpackError, LinearOperator, SuperLU, eigsh

from siis._types import BlockProduct, Floats, Ints, Sparse
from siis.errors import NumericalError
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
ROUNDS = 10  # of Lanczos in shift-invert, each outside what the others found
MOST_DENSE = 20_000  # vertices of a component that the last resort takes: some 3 GB
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
    S = compact(sp.diags_array(scale) @ graph.laplacian @ sp.diags_array(scale), np.float64)
    null = compact(_null_vectors(graph, scale), np.float64)
    n_null = min(m, null.shape[1])
    n_rest = m - n_null
    high = _upper_bound(graph, laplacian)
    tol = max(residual, ROUNDINGS * float(np.finfo(dtype).eps)) * high
    found, check, used = None, "components", "components"
    if n_rest:
        warm = None if start is None or not start.shape[1] else start / scale[:, None]
        problem = _Problem(S, null, graph, scale, n_rest, high, tol, dtype, report)
        found, check, used = _find(problem, method, warm, random_state)

    V = null[:, :n_null].toarray()
    values, residuals = np.zeros(n_null), np.linalg.norm(S @ V, axis=0)
    V = V.astype(dtype, copy=False)
    if found is not None:
        V = np.hstack([V, _fix_signs(found.vectors[:, :n_rest]).astype(dtype, copy=False)])
        # below the floor an eigenvalue is rounding, and may be negative; the energy must not be
        values = np.concatenate([values, np.maximum(found.values[:n_rest], FLOOR * high)])
        residuals = np.concatenate([residuals, found.residuals[:n_rest]])
    mean = np.sqrt(np.mean(1 / scale**2)) if laplacian == "normalized" else 1.0
    V *= (scale * mean).astype(dtype)[:, None]
    return SmoothBasis(V, values, laplacian, n_null, residuals, used, check)


@dataclass(frozen=True, eq=False)
class _Problem:
    """The eigenpairs to find: the ``n_wanted`` lowest of S outside its null space, to residuals of ``tol``."""

    S: Sparse
    null: Sparse
    graph: Graph
    scale: Floats
    n_wanted: int
    high: float
    tol: float
    dtype: type[np.floating[Any]]
    report: Report

    @property
    def block(self) -> int:
        """Vectors of a factorisation or of a start."""
        return min(int(self.S.shape[0] - self.null.shape[1]), self.n_wanted + max(8, self.n_wanted // 5))


def _find(problem: _Problem, method: str, warm: Floats | None, seed: int) -> tuple[RitzPairs, str, str]:
    """Find all wanted pairs: pairs, how completeness was checked, method.

    Where "auto" has chosen a method that ends without all of them, others go on: blocks that start from what is known
    and from another seed, and at last a dense decomposition of each component.
    """
    if method != "auto":
        return _attempt(problem, method, warm, seed)
    first = _choose(problem.S, problem.block)
    largest = int(np.bincount(problem.graph.component).max())
    attempts = [(first, warm, seed)]
    attempts += [("chebyshev", None, seed + 1)] if first != "dense" else []
    attempts += [("dense", None, seed)] if first != "dense" and largest <= MOST_DENSE else []
    failures: list[str] = []
    for name, start, its_seed in attempts:
        try:
            return _attempt(problem, name, start, its_seed)
        except NumericalError as failure:
            failures.append(f"{name}: {failure}")
    raise NumericalError(
        f"the {problem.n_wanted} smoothest eigenvectors of this graph cannot be found ({'; '.join(failures)}). Use "
        "fewer components, or a graph with more neighbours."
    )


def _attempt(problem: _Problem, method: str, warm: Floats | None, seed: int) -> tuple[RitzPairs, str, str]:
    """Find the pairs by one method, and check their residuals."""
    n, n_wanted, tol = problem.S.shape[0], problem.n_wanted, problem.tol
    if method == "dense":
        found, check = _dense(problem), "dense"
    else:
        X = np.random.default_rng(seed).standard_normal((n, problem.block)) if warm is None else warm
        X = X[:, : problem.block]
        if method == "shift-invert":
            found, check = _shift_invert(problem.S, problem.null, X, n_wanted, problem.high, tol)
        else:
            found, check = _chebyshev(problem, X, warm is not None, seed)
    worst = float(found.residuals[:n_wanted].max())
    if worst > tol:
        raise NumericalError(f"residuals reach {worst:.1e}, {tol:.1e} was asked")
    return found, check, method


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


def _dense(problem: _Problem) -> RitzPairs:
    """All at once, component by component; the null vector, with which small pairs mix, is lifted out of the way."""
    S, n_wanted = problem.S, problem.n_wanted
    values, vectors = [], []
    for members in _members(problem.graph):
        if members.size == 1:
            continue
        null = 1 / problem.scale[members]
        null /= np.linalg.norm(null)
        lifted = S[members][:, members].toarray() + 2 * problem.high * np.outer(null, null)
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
    return _ritz(S, problem.null, X)


def _members(graph: Graph) -> list[Ints]:
    """The vertices of each component."""
    order = np.argsort(graph.component, kind="stable")
    return np.split(order, np.cumsum(np.bincount(graph.component))[:-1])


def _chebyshev(problem: _Problem, X: Floats, warm: bool, seed: int) -> tuple[RitzPairs, str]:
    """Filter blocks in the precision that was asked for."""
    S, null = compact(problem.S, problem.dtype), compact(problem.null, problem.dtype)
    n_wanted, X = problem.n_wanted, X.astype(problem.dtype)
    coarse: Guess | None = None
    if not warm and S.shape[0] >= COARSE_FROM:
        coarse = guess(S, null, problem.graph.weights, problem.scale, n_wanted + GUARD, seed)
    with one_blas_thread():
        spectrum = look(S, null, problem.high, X.shape[1])
        if coarse is not None:
            level = float(coarse.values[n_wanted - 1])
            start = sweep(S, coarse.vectors, level, COARSE_CUT * level, spectrum.high)
        else:
            start = X if warm else X[:, : block_width(n_wanted)]
        is_guess = warm or coarse is not None
        found = lowest_eigenpairs(
            S, null, start, n_wanted, problem.tol, spectrum, X.shape[1] + seed, is_guess, problem.report
        )
    return found, "probe"


def _shift_invert(
    S: Sparse, null: Sparse, start: Floats, n_wanted: int, high: float, tol: float
) -> tuple[RitzPairs, str]:
    """Lanczos on (S + shift I)^-1, again and again outside what is known, until the inertia says that none is left.

    Lanczos alone sees one copy of a repeated eigenvalue and finds others by luck. In double precision: rounding of S
    to single would move the null space, and the inertia with it.
    """
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
    raise NumericalError(f"{missing} eigenvalues were not found in {ROUNDS} rounds")


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
        raise NumericalError(
            f"an eigenvalue at or below {unseen.theta[0]:.6g} is missing, the last found is {found.values[-1]:.6g}"
        )


def _fix_signs(V: Floats) -> Floats:
    """Make the entry of largest magnitude of each column positive."""
    largest = V[np.argmax(np.abs(V), axis=0), np.arange(V.shape[1])]
    return V * np.where(largest < 0, -1.0, 1.0)
