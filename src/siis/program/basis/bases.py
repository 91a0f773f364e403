"""The space of soft labels F = U A: that of the paper's smooth eigenbase pursuit, or all functions of vertices."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
import scipy.sparse as sp

from siis._types import Bools, Floats, Ints, Sparse
from siis.engine import NUMPY, Engine, Operator
from siis.engine.edges import EdgeMatrix, WeightedEdges
from siis.engine.lazy import cached_property
from siis.engine.linear_systems import LinearSolver, positive_solver
from siis.engine.numpy import NumpyOperator
from siis.engine.types import Array, Precision

SOFT = 1e-4  # of the largest eigenvalue: below, a vector is nearly constant on parts that nearly no edge joins


@dataclass(frozen=True, eq=False)
class SmoothBasis:
    """The smoothest eigenvectors of a graph's Laplacian.

    ``laplacian="unnormalized"``: L U = U Sigma with U'U = I (the paper's).
    ``laplacian="normalized"``: L U = D U Sigma with U' (D / d) U = I, d the mean degree. Sigma holds eigenvalues of
    I - D^-1/2 W D^-1/2, and U = (D / d)^-1/2 times its eigenvectors, so that constants stay in the span of U.

    Attributes
    ----------
    vectors : Array of shape (n, m)
        U, on the engine.
    values : ndarray of shape (m,)
        The diagonal of Sigma, ascending; exactly 0 for the first ``n_null``.
    laplacian : {"unnormalized", "normalized"}
    n_null : int
        How many vectors are constant on a connected component and zero elsewhere.
    residuals : ndarray of shape (m,)
        ||S v - lambda v|| of each unit eigenvector v of the symmetric matrix S = L or I - D^-1/2 W D^-1/2.
    method : str
        How the vectors were found: "components", "dense", "shift-invert" or "chebyshev".
    completeness : str
        How it was checked that no eigenvalue below the last one is missing: "components", "dense", "inertia" or
        "probe".
    dtype : {np.float64, np.float32}
        Precision of the vectors.
    engine : Engine
        Where soft labels live; coefficients live on the host, in double precision.
    """

    vectors: Array
    values: Floats
    laplacian: str
    n_null: int
    residuals: Floats
    method: str
    completeness: str
    dtype: Precision = np.float64
    engine: Engine = NUMPY

    @property
    def shape(self) -> tuple[int, int]:
        """(n, m)."""
        return self.vectors.shape[0], self.vectors.shape[1]

    @cached_property
    def near_null_vectors(self) -> Array:
        """The null vectors and those of almost no energy, shape (n, k); k = 0 without the latter."""
        k = int(np.count_nonzero(self.values <= SOFT * self.values[-1]))
        return self.engine.asarray(self.vectors[:, : k if k > self.n_null else 0], self.engine.row_type(self.dtype))

    def first(self, m: int) -> SmoothBasis:
        """The m smoothest of the vectors (at least the null space, at most all)."""
        k = min(max(m, self.n_null), self.values.size)
        if k == self.values.size:
            return self
        vectors = self.engine.xp.asarray(self.vectors[:, :k], copy=True)
        return replace(self, vectors=vectors, values=self.values[:k], residuals=self.residuals[:k])

    def in_double(self) -> SmoothBasis:
        """The same vectors, in double precision."""
        return replace(self, vectors=self.engine.asarray(self.vectors, np.float64), dtype=np.float64)

    def on(self, engine: Engine) -> SmoothBasis:
        """The same vectors on another engine."""
        if engine is self.engine:
            return self
        return replace(self, vectors=engine.asarray(self.engine.host(self.vectors), self.dtype), engine=engine)

    def synthesize(self, A: Floats) -> Array:
        """F = U A, shape (n, c), in the precision of U."""
        return self.engine.times(self.vectors, A)

    def analyze(self, F: Array) -> Floats:
        """U' F, shape (m, c), on the host in double precision."""
        return self.engine.inner(self.vectors, self.engine.asarray(F, self.dtype))

    def energy(self, A: Floats) -> float:
        """tr(A' Sigma A)."""
        return float(np.einsum("k,kj,kj->", self.values, A, A))

    def energy_conjugate(self, R: Floats) -> float:
        """Sum of ||R_k||^2 / (4 lambda_k) over the modes with lambda_k > 0."""
        others = slice(self.n_null, None)
        return float(np.sum(np.einsum("kj,kj->k", R[others], R[others]) / (4 * self.values[others])))

    def energy_matrix(self) -> Floats:
        """Sigma, shape (m, m)."""
        return np.diag(self.values)

    def edge_matrix(self, graph: WeightedEdges) -> EdgeMatrix:
        """Matrices on the engine, for ``project_laplacian``."""
        return self.engine.edge_matrix(graph, self.dtype)

    def project_laplacian(self, weights: Operator, degrees: Array) -> Floats:
        """U' (diag(degrees) - W) U: shape (m, m), with no array larger than U."""
        U, engine = self.vectors, self.engine
        diagonal, parts = engine.asarray(degrees, self.dtype)[:, None], []
        for a in range(0, U.shape[1], engine.widest):
            some = U[:, a : min(a + engine.widest, U.shape[1])]
            images = diagonal * some
            images -= weights @ some
            parts.append(engine.inner(U, images))
        return np.hstack(parts)


@dataclass(frozen=True, eq=False)
class IdentityBasis:
    """U = I and Sigma = L: soft labels are free, their energy is tr(F' L F).

    Coefficients, which are as many, live on the host: their systems are solved there.
    """

    laplacian_matrix: Sparse  # (n, n)
    component: Ints  # (n,), the connected component of each vertex
    engine: Engine = NUMPY  # where soft labels live

    @property
    def dtype(self) -> Precision:
        """Precision of the coefficients."""
        return np.float64

    def in_double(self) -> IdentityBasis:
        """Itself."""
        return self

    @property
    def n_null(self) -> int:
        """Dimension of the null space of L: the number of components."""
        return int(self.component.max()) + 1

    @property
    def shape(self) -> tuple[int, int]:
        """(n, n)."""
        return self.laplacian_matrix.shape[0], self.laplacian_matrix.shape[0]

    @property
    def near_null_vectors(self) -> Array:
        """An empty block, (n, 0): energies are not known by vector."""
        return self.engine.zeros((self.shape[0], 0), np.float64)

    def synthesize(self, A: Floats) -> Array:
        """F = A, shape (n, c)."""
        return self.engine.asarray(A, np.float64)

    def analyze(self, F: Array) -> Floats:
        """A = F, shape (n, c), on the host."""
        return self.engine.numpy(F)

    def energy(self, A: Floats) -> float:
        """tr(A' L A)."""
        return float(np.sum(A * (self.laplacian_matrix @ A)))

    def energy_conjugate(self, R: Floats) -> float:
        """tr(R' L^+ R) / 4, for R whose columns sum to zero on each component."""
        free = self._free
        return float(np.sum(R[free] * self._grounded_solve(R[free]))) / 4 if free.any() else 0.0

    @cached_property
    def _free(self) -> Bools:
        """All vertices but one of each component, whose potential is set to 0."""
        free = np.ones(self.component.size, dtype=bool)
        free[np.unique(self.component, return_index=True)[1]] = False
        return free

    @cached_property
    def _grounded_solve(self) -> LinearSolver:
        return positive_solver(self.laplacian_matrix[self._free][:, self._free], engine=self.engine)

    def energy_matrix(self) -> Sparse:
        """L, shape (n, n)."""
        return self.laplacian_matrix

    def edge_matrix(self, graph: WeightedEdges) -> EdgeMatrix:
        """Matrices on the host, where systems are solved."""
        return NUMPY.edge_matrix(graph, np.float64)

    def project_laplacian(self, weights: Operator, degrees: Floats) -> Sparse:
        """diag(degrees) - W, shape (n, n)."""
        assert isinstance(weights, NumpyOperator)
        return sp.csr_array(sp.diags_array(degrees) - weights.matrix)


Basis = SmoothBasis | IdentityBasis
