"""Kernels between vertices: of neighbour graphs, of distances, of linear models, and sums of them."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np
import scipy.linalg as sl
import scipy.sparse as sp
from sklearn.preprocessing import normalize

from siis._types import Features, Floats, Ints, Sparse
from siis.engine import NUMPY, Engine
from siis.evidence.kernel import squared_distances
from siis.graph import Neighbors
from siis.graph.neighbor_graph import candidate_weights
from siis.graph.neighbors import candidate_neighbors

GRAPHS = ((5, "mutual"), (10, "mutual"), (20, "union"))  # neighbours, and which edges
SHIFT = 1e-4  # of the Laplacian, over the mean degree
GRAPH_FIDELITY = (0.01, 0.1, 1.0)
KERNEL_FIDELITY = (1.0, 10.0, 100.0)
SUM_WEIGHTS = (0.3, 1.0, 3.0)  # of the Gaussian kernel, beside that of a graph
MOST_IN_SUMS = 4  # graphs that are summed with the Gaussian kernel

GRAPH, KERNEL, SUM, FOREST = FAMILIES = "graph", "kernel", "graph and kernel", "forest"
GIVEN = "ready-made"  # graph
FEATURES = -1  # instead of a space: the features themselves


@dataclass(frozen=True)
class Choice:
    """What a member is made of.

    Attributes
    ----------
    family : {"graph", "kernel", "graph and kernel", "forest"}
    space : int
        Number of the space; -1: the features themselves.
    n_neighbors : int
        Of its graph; 0 without one.
    kind : {"mutual", "union", ""}
    weight : float
        Of the Gaussian kernel in a sum.
    partner : int
        Number of the space of that kernel; -1 without one.
    fidelity : float
        Trust in the labels.
    is_balanced : bool
        How scores are scaled: for classes of unlike size.
    """

    family: str
    space: int = FEATURES
    n_neighbors: int = 0
    kind: str = ""
    weight: float = 0.0
    partner: int = -1
    fidelity: float = 0.0
    is_balanced: bool = False


@dataclass(frozen=True, eq=False)
class Kernel:
    """Columns of a kernel at labelled vertices.

    Attributes
    ----------
    choice : Choice
        Without fidelity.
    columns : ndarray of shape (n, l)
    """

    choice: Choice
    columns: Floats

    @property
    def fidelities(self) -> tuple[float, ...]:
        """Trust in labels to try."""
        return GRAPH_FIDELITY if self.choice.family == GRAPH else KERNEL_FIDELITY

    def plus(self, other: Kernel, weight: float, at: Ints) -> Kernel:
        """The sum with a Gaussian kernel, each over the mean of its diagonal at the labelled vertices."""
        units = [float(np.mean(k.columns[at, np.arange(at.size)])) or 1.0 for k in (self, other)]
        columns = self.columns / units[0] + (weight / units[1]) * other.columns
        return Kernel(replace(self.choice, family=SUM, weight=weight, partner=other.choice.space), columns)


def graph_columns(W: Sparse, at: Ints) -> Floats:
    """Columns of (Laplacian / mean degree + SHIFT I)^-1 at some vertices, shape (n, l): a dense factorisation."""
    n = W.shape[0]
    degrees = np.asarray(W.sum(axis=1)).ravel()
    unit = float(degrees.mean()) or 1.0
    A = (W * (-1 / unit)).astype(np.float32).toarray(order="F")
    A[np.arange(n), np.arange(n)] += (degrees / unit + SHIFT).astype(np.float32)
    factor = sl.cho_factor(A, lower=True, overwrite_a=True, check_finite=False)
    vertices, place = np.unique(at, return_inverse=True)
    E = np.zeros((n, vertices.size), dtype=np.float32, order="F")
    E[vertices, np.arange(vertices.size)] = 1
    columns = sl.cho_solve(factor, E, overwrite_b=True, check_finite=False)
    return np.asarray(columns[:, place], dtype=np.float64)


def gaussian_columns(points: Floats, at: Ints) -> Floats:
    """exp(-d^2 / (2 median d^2)) between all vertices and some, shape (n, l)."""
    D = squared_distances(points, points[at])
    D *= -0.5 / (float(np.median(D)) or 1.0)
    return np.asarray(np.exp(D, out=D))


def linear_columns(X: Features, at: Ints) -> Floats:
    """Inner products of rows of unit length (sparse) or of columns of unit variance, over their mean square."""
    if sp.issparse(X):
        Z = sp.csr_array(normalize(X))
        K = np.asarray((Z @ Z[at].T).toarray(), dtype=np.float64)
    else:
        center, deviation = X.mean(axis=0, dtype=np.float64), X.std(axis=0, dtype=np.float64)
        live = deviation > 1e-12 * max(float(deviation.max(initial=0.0)), float(np.abs(center).max(initial=0.0)))
        Z = (X[:, live] - center[live]) / deviation[live]
        K = Z @ Z[at].T
    return np.asarray(K / (float(np.mean(K[at, np.arange(at.size)])) or 1.0))


def graph_kernels(
    points: Sequence[Floats],
    at: Ints,
    graphs: Mapping[int, Sequence[tuple[int, str]]],
    bandwidth: float | str,
    engine: Engine = NUMPY,
) -> Iterator[Callable[[], Kernel]]:
    """Makers of kernels of neighbour graphs, by the number of their space; those of a space share one search."""
    for space, wanted in graphs.items():
        if len(points[space]) < 2:
            continue
        near: Neighbors = candidate_neighbors(points[space], max(k for k, _ in wanted), engine)
        for k, kind in wanted:

            def make(near: Neighbors = near, space: int = space, k: int = k, kind: str = kind) -> Kernel:
                return Kernel(
                    Choice(GRAPH, space, k, kind), graph_columns(candidate_weights(near, k, kind, bandwidth), at)
                )

            yield make


def feature_kernels(
    spaces: Sequence[int], points: Sequence[Floats], X: Features, at: Ints
) -> Iterator[Callable[[], Kernel]]:
    """Makers of Gaussian kernels in spaces, and of the linear one of the features."""
    for space in spaces:

        def make(space: int = space) -> Kernel:
            if space == FEATURES:
                return Kernel(Choice(KERNEL), linear_columns(X, at))
            return Kernel(Choice(KERNEL, space), gaussian_columns(points[space], at))

        yield make
