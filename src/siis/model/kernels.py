"""Kernels between vertices: of neighbour graphs, of distances, of linear models, and sums of them."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import scipy.linalg as sl
import scipy.sparse as sp
from sklearn.preprocessing import normalize

from siis._types import Features, Floats, Ints, Sparse
from siis.engine import NUMPY, Engine
from siis.engine.rows import evenly
from siis.graph import Neighbors
from siis.graph.neighbor_graph import candidate_weights
from siis.graph.neighbors import candidate_neighbors
from siis.model.config import FEATURES, GRAPH, KERNEL, SUM, MemberConfig
from siis.model.gaussian import squared_distances
from siis.model.linear import live_columns
from siis.model.smoothing import SHIFT

GRAPHS = ((5, "mutual"), (10, "mutual"), (20, "union"))  # neighbours, and which edges
GRAPH_FIDELITY = (0.01, 0.1, 1.0)
KERNEL_FIDELITY = (1.0, 10.0, 100.0)
SUM_WEIGHTS = (0.3, 1.0, 3.0)  # of the Gaussian kernel, added to that of a graph
MOST_IN_DOUBLE, MOST_IN_MEDIAN = 3000, 3000  # vertices
MOST_IN_SUMS = 4  # graphs that are summed with the Gaussian kernel


@dataclass(frozen=True, eq=False)
class Kernel:
    """Columns of a kernel at labelled vertices, or of a sum of kernels."""

    config: MemberConfig  # without fidelity
    terms: tuple[tuple[float, Floats], ...]  # weight and columns, (n, l), of each

    @property
    def n(self) -> int:
        """Number of vertices."""
        return len(self.terms[0][1])

    @property
    def fidelities(self) -> tuple[float, ...]:
        """Trust in labels to try."""
        return GRAPH_FIDELITY if self.config.family == GRAPH else KERNEL_FIDELITY

    def rows(self, at: Ints) -> Floats:
        """Rows of the columns, shape (m, l), in double precision."""
        return np.asarray(sum(weight * columns[at].astype(np.float64) for weight, columns in self.terms))

    def __matmul__(self, R: Floats) -> Floats:
        """The columns times coefficients, shape (n, c)."""
        return np.asarray(sum(weight * (columns @ R.astype(columns.dtype)) for weight, columns in self.terms))

    def plus(self, other: Kernel, weight: float, at: Ints) -> Kernel:
        """The sum with a Gaussian kernel, each over the mean of its diagonal at the labelled vertices."""
        config = replace(self.config, family=SUM, weight=weight, partner=other.config.space)
        units = [float(np.mean(np.diagonal(kernel.rows(at)))) or 1.0 for kernel in (self, other)]
        parts = [
            (factor / unit, k.terms[0]) for factor, unit, k in zip((1.0, weight), units, (self, other), strict=True)
        ]
        return Kernel(config, tuple((factor * own, columns) for factor, (own, columns) in parts))


def kernel_of(config: MemberConfig, columns: Floats) -> Kernel:
    """A kernel by its columns, shape (n, l)."""
    return Kernel(config, ((1.0, columns),))


def block_type(n: int) -> type[np.floating[Any]]:
    """Precision of the columns of kernels: single where vertices are many."""
    return np.float64 if n <= MOST_IN_DOUBLE else np.float32


def graph_columns(W: Sparse, at: Ints) -> Floats:
    """Columns of (Laplacian / mean degree + SHIFT I)^-1 at some vertices, shape (n, l): a dense factorisation."""
    n = W.shape[0]
    degrees = np.asarray(W.sum(axis=1)).ravel()
    unit = float(degrees.mean()) or 1.0
    A = (W * (-1 / unit)).astype(np.float32).toarray().T  # symmetric, in the order that LAPACK wants
    A[np.arange(n), np.arange(n)] += (degrees / unit + SHIFT).astype(np.float32)
    factor = sl.cho_factor(A, lower=True, overwrite_a=True, check_finite=False)
    vertices, place = np.unique(at, return_inverse=True)
    E = np.zeros((n, vertices.size), dtype=np.float32, order="F")
    E[vertices, np.arange(vertices.size)] = 1
    columns = sl.cho_solve(factor, E, overwrite_b=True, check_finite=False)
    return np.asarray(columns[:, place], dtype=block_type(n))


def gaussian_columns(points: Floats, at: Ints) -> Floats:
    """exp(-d^2 / (2 median d^2)) between all vertices and some, shape (n, l)."""
    D = squared_distances(points, points[at])
    D *= -0.5 / (float(np.median(D[evenly(len(D), MOST_IN_MEDIAN)])) or 1.0)
    return np.asarray(np.exp(D, out=D), dtype=block_type(len(D)))


def linear_columns(X: Features, at: Ints) -> Floats:
    """Inner products of rows of unit length (sparse) or of columns of unit variance, over their mean square."""
    if sp.issparse(X):
        Z = sp.csr_array(normalize(X))
        K = np.asarray((Z @ Z[at].T).toarray(), dtype=np.float64)
    else:
        center, deviation = X.mean(axis=0, dtype=np.float64), X.std(axis=0, dtype=np.float64)
        live = live_columns(center, deviation)
        Z = (X[:, live] - center[live]) / deviation[live]
        K = Z @ Z[at].T
    K /= float(np.mean(K[at, np.arange(at.size)])) or 1.0
    return np.asarray(K, dtype=block_type(len(K)))


def graph_kernels(
    points: Mapping[str, Floats],
    at: Ints,
    graphs: Mapping[str, Sequence[tuple[int, str]]],
    bandwidth: float | str,
    engine: Engine = NUMPY,
) -> Iterator[Callable[[], Kernel]]:
    """Makers of kernels of neighbour graphs, by their space; those of a space share one search."""
    for space, wanted in graphs.items():
        if len(points[space]) < 2:
            continue
        near: Neighbors = candidate_neighbors(points[space], max(k for k, _ in wanted), engine)
        for k, kind in wanted:

            def make(near: Neighbors = near, space: str = space, k: int = k, kind: str = kind) -> Kernel:
                return kernel_of(
                    MemberConfig(GRAPH, space, k, kind),
                    graph_columns(candidate_weights(near, k, kind, bandwidth), at),
                )

            yield make


def feature_kernels(
    spaces: Sequence[str], points: Mapping[str, Floats], X: Features, at: Ints
) -> Iterator[Callable[[], Kernel]]:
    """Makers of Gaussian kernels in spaces, and of the linear one of the features."""
    for space in spaces:

        def make(space: str = space) -> Kernel:
            if space == FEATURES:
                return kernel_of(MemberConfig(KERNEL), linear_columns(X, at))
            return kernel_of(MemberConfig(KERNEL, space), gaussian_columns(points[space], at))

        yield make
