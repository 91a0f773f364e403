"""Graph -> SmoothBasis: complete, with checked residuals, by the method that suits the graph."""

from dataclasses import dataclass

import numpy as np
import scipy.sparse as sp

from siis._types import Floats, Sparse
from siis.engine import NUMPY, Engine
from siis.engine.base import scaled
from siis.engine.lazy import cached_property
from siis.engine.linear_systems import THIN_ENVELOPE, envelope_share
from siis.engine.rows import column_norms
from siis.engine.threads import one_blas_thread
from siis.engine.types import Array, Precision
from siis.errors import Message, NumericalError
from siis.graph import Graph
from siis.program.accuracy import Accuracy
from siis.program.basis.bases import IdentityBasis, SmoothBasis
from siis.program.basis.coarse import coarse_eigenvectors
from siis.program.basis.host import LEAST_EIGENVALUE, dense_eigenpairs, shift_invert
from siis.program.basis.spectrum import estimate_spectrum
from siis.program.basis.subspace import Buffer, RitzPairs, block_width, filter_block, lowest_eigenpairs
from siis.progress import Report, no_progress

RESIDUAL = 1e-6  # times the upper bound of the spectrum
RESIDUAL_ROUNDINGS = 10  # of the precision: the least residual
MOST_FILL = 1e9  # entries of the envelope, which bounds those of a factor
COARSE_FROM = 5_000  # vertices: from there on, start from eigenvectors of a coarsened graph
GUARD = 4  # coarse eigenvectors beyond the wanted ones: the next filter is cut there
COARSE_CUT = 5.0  # times the largest coarse eigenvalue: what is above is damped in the coarse eigenvectors
FACTORED_BELOW = 100_000  # vertices, from which on an engine off the host is not left for a factorisation
MOST_DENSE = 20_000  # vertices of a component that the last resort takes: some 3 GB
METHODS = ("auto", "dense", "shift-invert", "chebyshev")


def identity_basis(graph: Graph, engine: Engine = NUMPY) -> IdentityBasis:
    """The basis U = I with Sigma = L (the paper's ablation), with soft labels on an engine."""
    return IdentityBasis(graph.laplacian, graph.component, engine)


def smooth_basis(
    graph: Graph,
    n_components: int,
    laplacian: str = "unnormalized",
    random_state: int = 0,
    method: str = "auto",
    residual: float = RESIDUAL,
    start: Array | None = None,
    dtype: Precision = np.float64,
    report: Report = no_progress,
    engine: Engine = NUMPY,
) -> SmoothBasis:
    """Compute the smoothest eigenvectors of a graph's Laplacian, and check that none is missing.

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
    start : ndarray or Array of shape (n, k), optional
        Vectors to begin with: of a smaller basis, or of a similar graph's.
    dtype : {np.float64, np.float32}
        Precision of the work and of the vectors.
    report : callable
        Takes the share of the work that is done: of the vectors, those that are found.
    engine : Engine
        Where the vectors will live, and where "chebyshev" finds them; the other methods work on the host.

    Returns
    -------
    SmoothBasis
    """
    n = graph.n_vertices
    _check(n, n_components, method, start)
    m = min(n_components, engine.total_count(n))
    scale = _vertex_scale(graph, laplacian)
    null = _null_vectors(graph, scale, engine)
    n_null = min(m, null.shape[1])
    n_rest = m - n_null
    high = _upper_bound(graph, laplacian, engine)
    tol = max(residual, RESIDUAL_ROUNDINGS * Accuracy.of(dtype).eps) * high
    constants = null[:, :n_null].toarray()
    values = np.zeros(n_null)
    S = engine.laplacian(graph, scale, np.float64)
    residuals = engine.numpy(column_norms(S @ engine.asarray(constants, np.float64), engine.xp))
    mean = np.sqrt(float(engine.mean(1 / scale**2))) if laplacian == "normalized" else 1.0
    V = engine.asarray(constants * (scale * mean)[:, None], dtype)  # scaled in double: constants in any precision
    del S, constants
    check, used = "components", "components"
    if n_rest:
        warm = None
        if start is not None and start.shape[1]:  # vectors of a basis as eigenvectors of S
            warm = engine.asarray(start, np.float64) / engine.asarray(scale, np.float64)[:, None]
        problem = _Problem(null, graph, scale, n_rest, high, tol, dtype, engine, report)
        found, check, used = _find(problem, method, warm, random_state)
        found = found.first(n_rest)
        vectors = engine.asarray(found.vectors, dtype if used == "chebyshev" else np.float64)
        rest = engine.asarray(_fix_signs(vectors, engine), dtype)
        rest *= engine.asarray(scale * mean, dtype)[:, None]
        V = engine.xp.concat([V, rest], axis=1)
        # below the floor an eigenvalue is rounding, and may be negative; the energy must not be
        values = np.concatenate([values, np.maximum(found.values, LEAST_EIGENVALUE * high)])
        residuals = np.concatenate([residuals, found.residuals])
    return SmoothBasis(V, values, laplacian, n_null, residuals, used, check, dtype, engine)


@dataclass(frozen=True, eq=False)
class _Problem:
    """The eigenpairs to find: the ``n_wanted`` lowest of S outside its null space, to residuals of ``tol``."""

    null: Sparse
    graph: Graph
    scale: Floats
    n_wanted: int
    high: float
    tol: float
    dtype: Precision
    engine: Engine
    report: Report

    @cached_property
    def S(self) -> Sparse:
        """The scaled Laplacian, on the host."""
        return scaled(self.graph.laplacian, self.scale)

    @cached_property
    def n(self) -> int:
        """Number of vertices in all."""
        return self.engine.total_count(self.graph.n_vertices)

    @property
    def block(self) -> int:
        """Vectors of a factorisation or of a start."""
        return min(self.n - int(self.null.shape[1]), self.n_wanted + max(8, self.n_wanted // 5))

    def dense(self, warm: Array | None, seed: int) -> tuple[RitzPairs, str]:
        """On the host, component by component."""
        component, flat = self.graph.component, 1 / self.scale
        return dense_eigenpairs(self.S, self.null, component, flat, self.n_wanted, self.high), "dense"

    def shift_invert(self, warm: Array | None, seed: int) -> tuple[RitzPairs, str]:
        """On the host, from the first vectors of a warm start."""
        start: Floats
        if warm is None:
            start = np.random.default_rng(seed).standard_normal((self.S.shape[0], self.block))
        else:
            start = self.engine.numpy(warm[:, : min(self.block, warm.shape[1])])
        return shift_invert(self.S, self.null, start, self.n_wanted, self.high, self.tol)

    def chebyshev(self, warm: Array | None, seed: int) -> tuple[RitzPairs, str]:
        """Filter blocks on the engine, from a warm start, vectors of a coarsened graph, or random ones."""
        engine, n_wanted = self.engine, self.n_wanted
        block = self.block if warm is None else min(self.block, warm.shape[1])
        S = engine.laplacian(self.graph, self.scale, self.dtype)
        null = engine.narrow_operator(self.null, self.dtype)
        with one_blas_thread():
            coarse = self._coarse(seed) if warm is None else None
            spectrum, is_near = estimate_spectrum(S, null, self.high, block), True
            if warm is not None:
                start = Buffer(engine.asarray(warm[:, :block], self.dtype))
            elif coarse is not None:
                level = float(coarse[1][n_wanted - 1])
                start = Buffer(filter_block(S, coarse[0], level, COARSE_CUT * level, spectrum.high))
            else:
                rng, width, is_near = np.random.default_rng(seed), min(block_width(n_wanted, engine), block), False
                drawn = engine.normal(rng, S.shape[0], block, self.dtype)[:, :width]
                start = Buffer(engine.xp.asarray(drawn, copy=True))
                del drawn
            del warm, coarse  # as large as a block of the subspace
            found = lowest_eigenpairs(
                S, null, start.take(), n_wanted, self.tol, spectrum, block + seed, is_near, self.report
            )
        return found, "probe"

    def _coarse(self, seed: int) -> tuple[Array, Floats] | None:
        """Vectors of a coarsened graph, on the host only: elsewhere filters cost less than coarsening."""
        if self.graph.n_vertices < COARSE_FROM or not self.engine.is_host:
            return None
        scaled_graph = self.S, self.null, self.graph.weights, self.scale
        return coarse_eigenvectors(*scaled_graph, self.n_wanted + GUARD, seed, self.engine, self.dtype)


def _find(problem: _Problem, method: str, warm: Array | None, seed: int) -> tuple[RitzPairs, str, str]:
    """All wanted pairs, how completeness was checked, and the method; "auto" tries others where one is incomplete."""
    if method != "auto":
        return _attempt(problem, method, warm, seed)
    engine = problem.engine
    is_far = not engine.holds_all_rows or (not engine.is_host and problem.n >= FACTORED_BELOW)
    first = "chebyshev" if is_far else _choose(problem.S, problem.block)
    attempts = [(first, warm, seed)]
    attempts += [("chebyshev", None, seed + 1)] if first != "dense" else []
    if engine.holds_all_rows and first != "dense" and int(np.bincount(problem.graph.component).max()) <= MOST_DENSE:
        attempts += [("dense", None, seed)]
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


def _attempt(problem: _Problem, method: str, warm: Array | None, seed: int) -> tuple[RitzPairs, str, str]:
    """Find the pairs by one method, and check their residuals."""
    find = {"dense": problem.dense, "shift-invert": problem.shift_invert, "chebyshev": problem.chebyshev}[method]
    (found, check), tol = find(warm, seed), problem.tol
    worst = float(found.residuals[: problem.n_wanted].max())
    if worst > tol:
        raise NumericalError(f"residuals reach {worst:.1e}, above the tolerance {tol:.1e}")
    return found, check, method


def _check(n: int, n_components: int, method: str, start: Array | None) -> None:
    if n_components < 1:
        raise ValueError(Message("{n_components} must be at least 1; found {n}", n=n_components))
    if method not in METHODS:
        raise ValueError(f"method must be one of {METHODS}; found {method!r}")
    if start is not None and (start.ndim != 2 or start.shape[0] != n):
        raise ValueError(f"start must have a row for each of {n} vertices; found shape {start.shape}")


def _vertex_scale(graph: Graph, laplacian: str) -> Floats:
    """S = diag(scale) L diag(scale): ones, or D^-1/2 (1 where the degree is 0)."""
    if laplacian == "unnormalized":
        return np.ones(graph.n_vertices)
    if laplacian == "normalized":
        return 1 / np.sqrt(np.where(graph.degrees > 0, graph.degrees, 1.0))
    raise ValueError(f"laplacian must be 'unnormalized' or 'normalized'; found {laplacian!r}")


def _null_vectors(graph: Graph, scale: Floats, engine: Engine) -> Sparse:
    """Orthonormal null vectors of S, one a component, the largest component first: shape (n, n_components)."""
    n, k = graph.n_vertices, graph.n_components
    sizes = engine.total_sum(np.bincount(graph.component, minlength=k))
    order = np.empty(k, dtype=np.int64)
    order[np.argsort(-sizes, kind="stable")] = np.arange(k)
    column = order[graph.component]
    norm = np.sqrt(engine.total_sum(np.bincount(column, weights=1 / scale**2, minlength=k)))
    entries = 1 / (scale * norm[column])
    return sp.csr_array((entries, (np.arange(n), column)), shape=(n, k))


def _upper_bound(graph: Graph, laplacian: str, engine: Engine) -> float:
    """Bound the spectrum: 2 (normalized), or the largest d_i + d_j over the edges (Anderson and Morley)."""
    if laplacian == "normalized":
        return 2.0
    return max(engine.largest_degree_sum(graph), 1e-300)


def _choose(S: Sparse, block: int) -> str:
    if S.shape[0] <= 2 * (block + NUMPY.spare_blocks * block_width(block)):
        return "dense"
    share, n = envelope_share(S), S.shape[0]
    return "shift-invert" if share <= THIN_ENVELOPE and share * n * n <= MOST_FILL else "chebyshev"


def _fix_signs(V: Array, engine: Engine) -> Array:
    """Make the largest entry of each column positive, by reductions that all engines have."""
    xp = engine.xp
    is_negative = -xp.min(V, axis=0) > xp.max(V, axis=0)
    return V * (1 - 2 * xp.astype(is_negative, V.dtype))
