"""What an array library must provide for the mathematics of ``siis`` to run on it.

The eigensolver, the programs, their solvers and the smoother are written once, on a few operations: a sparse matrix
times a block of columns, tall times small, row norms, and functions of the Python array API standard. Small dense
algebra, orderings and factorisations stay on the host, in double precision.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import Any, Protocol

import numpy as np
import scipy.sparse as sp

from siis._types import Bools, Floats, Ints, Sparse
from siis.engine.blocks import chebyshev_recurrence
from siis.engine.edges import EdgeMatrix, EdgeRows, WeightedEdges
from siis.engine.threads import in_threads
from siis.engine.types import Array, Namespace, Precision, Report

NUMBERS_AT_ONCE = 2**20  # numbers at once


def scaled(M: Sparse, scale: Floats) -> Sparse:
    """diag(scale) M diag(scale), M and scale of shapes (n, n) and (n,)."""
    entries = M.data * np.repeat(scale, np.diff(M.indptr)) * scale[M.indices]
    return sp.csr_array((entries, M.indices, M.indptr), shape=M.shape)


def indicator(columns: Ints, n: int) -> Sparse:
    """A one in each row, in the given column of n: shape (l, n)."""
    return sp.csr_array((np.ones(columns.size), columns, np.arange(columns.size + 1)), shape=(columns.size, n))


class Operator(Protocol):
    """A sparse matrix on an engine, in one precision."""

    @property
    def engine(self) -> Engine:
        """Where its blocks live."""

    @property
    def shape(self) -> tuple[int, int]:
        """(r, n)."""

    @property
    def dtype(self) -> Precision:
        """Precision of the entries, and of the products."""

    @property
    def T(self) -> Operator:
        """The transposed matrix, shape (n, r), prepared once."""

    def __matmul__(self, X: Array) -> Array:
        """Multiply with a block of shape (n, p), rounded to the operator's precision: shape (r, p)."""

    def with_entries(self, entries: Array) -> Operator:
        """The matrix with other entries in the same places, row after row."""


class NeighborSearch(Protocol):
    """Neighbours of points on a device; points are tensors there or arrays of the host."""

    def register(self, host: Floats, given: Any) -> None:
        """Remember that ``given``, an array of any library on the device, equals an array of the host."""

    def track(self, host: Floats, rows: Ints, picked: Floats) -> None:
        """Remember that ``picked`` are rows of an array of the host, whose copy on the device may be known."""

    def to_device(self, points: Floats) -> Array:
        """Bring points to the device, in their own precision, for several searches; they are not changed there."""

    def nearest(self, points: Array, n_wanted: int, seed: int, report: Report) -> tuple[Ints, Floats]:
        """Search the nearest points of each of points, (n, d), itself among them.

        Returns indices, -1 where a place stays empty, and ascending distances in double precision, (n, n_wanted).
        """

    def nearest_between(
        self, queries: Array, points: Array, n_wanted: int, n_fetched: int
    ) -> tuple[Ints, Floats, Bools]:
        """Search the nearest points, (n, d), of each query, (q, d), exactly; n_fetched >= n_wanted.

        Returns indices and distances, both (q, n_fetched), distances ascending in double precision, ties (to nine
        digits) by index; and is_lost, (q,): rounding may have dropped one of the wanted points.
        """

    def pairs(self, indices: Ints, weights: Floats) -> tuple[Sparse, Floats]:
        """Make directed neighbourhoods symmetric. indices: (n, K), all different; weights: (n, K).

        Returns a csr_array (n, n) with sorted rows, the larger weight of both directions; and the smaller weight of
        each of its entries, 0 where only one end names the other.
        """


class Engine(ABC):
    """An array library: where its arrays live, and how a sparse matrix is multiplied there.

    Three methods are an engine's own: ``asarray``, ``numpy`` and ``operator``. The others are written on these, and
    may be replaced by faster ones that give the same to rounding.

    xp: the library's functions, by the names of the Python array API standard.
    """

    xp: Namespace

    @abstractmethod
    def asarray(self, a: Any, dtype: type) -> Array:
        """Bring an array to the engine, in this precision.

        Returns ``a`` itself where it is one of the engine, in this precision.
        """

    @abstractmethod
    def numpy(self, a: Array) -> Floats:
        """Bring an array of the engine to the host, in double precision."""

    @abstractmethod
    def operator(self, M: Sparse, dtype: Precision) -> Operator:
        """Bring a sparse matrix to the engine, in this precision."""

    @property
    def is_host(self) -> bool:
        """Whether arrays lie in the host's memory as NumPy's do, so that caches and compiled loops matter."""
        return self.xp is np

    def host(self, a: Array) -> Floats:
        """A block on the host, in its own precision."""
        return self.numpy(a)

    edge_matrix_type: type[EdgeMatrix] = EdgeMatrix
    edge_rows_type: type[EdgeRows] = EdgeRows
    search: NeighborSearch | None = None  # where the device searches neighbours itself
    holds_all_rows: bool = True  # else blocks, and arrays of the host with an entry for each row, hold some of them
    spare_blocks: int = 4  # of the eigensolver's subspace, beyond the wanted pairs: fewer need less memory
    narrowest: int = 16  # columns of a block of the eigensolver
    widest: int = 2**30  # columns of a tall block that are multiplied with a matrix at once: fewer need less memory
    low_memory: bool = False  # whether memory is so short that single precision is all there is

    @property
    def block_widths(self) -> tuple[int, int, int]:
        """Columns of a block of the eigensolver: at least, at most, and at most where its steps find nothing."""
        return (self.narrowest,) * 3 if self.low_memory else (self.narrowest, 64, 512)

    def empty_block(self, n: int, capacity: int, dtype: Precision) -> Array:
        """A block of n rows without columns; where memory is short, with memory for so many."""
        return self.zeros((n, capacity if self.low_memory else 0), dtype)[:, :0]

    def row_type(self, dtype: Precision) -> Precision:
        """Precision of norms and penalties of rows, for rows of precision ``dtype``."""
        return dtype if self.low_memory else np.float64

    def total_count(self, n: int) -> int:
        """Number of rows in all shards, n of which are here."""
        return n

    def total_sum(self, part: Any) -> Any:
        """Sum over all shards of an array on the host that sums over the rows here."""
        return part

    def total_max(self, values: Floats) -> float:
        """The largest of non-negative numbers on the host, one for each row; 0 without any."""
        return float(np.max(values, initial=0.0))

    def mean(self, values: Floats) -> Floats:
        """Means of the columns of an array of the host."""
        return np.asarray(np.mean(values, axis=0, dtype=np.float64), values.dtype)

    def deviation(self, values: Floats) -> Floats:
        """Standard deviations of the columns of an array of the host."""
        mean, step = np.mean(values, axis=0, dtype=np.float64), max(1, NUMBERS_AT_ONCE // max(values.shape[1], 1))

        def squares(a: int) -> Floats:
            away = values[a : a + step] - mean
            return np.asarray(np.einsum("ij,ij->j", away, away))

        total = np.sum(in_threads(squares, range(0, len(values), step)), axis=0)
        return np.asarray(np.sqrt(total / max(len(values), 1)), values.dtype)

    def normal(self, rng: np.random.Generator, n: int, k: int, dtype: Precision) -> Array:
        """A block of normal random numbers, shape (n, k): the same for the same state of the host's generator."""
        return self.asarray(rng.standard_normal((n, k), dtype), dtype)

    def laplacian(self, graph: WeightedEdges, scale: Floats, dtype: Precision) -> Operator:
        """Bring diag(scale) L diag(scale) to the engine, L the Laplacian of a graph."""
        return self.scaled(graph.laplacian, scale, dtype)

    def largest_degree_sum(self, graph: WeightedEdges) -> float:
        """The largest d_i + d_j of an edge; 0 without any."""
        return self.total_max(graph.degree_sums)

    def scaled(self, M: Sparse, scale: Floats, dtype: Precision) -> Operator:
        """Bring diag(scale) M diag(scale) to the engine. M: (n, n); scale: (n,)."""
        return self.operator(scaled(M, scale), dtype)

    def narrow_operator(self, M: Sparse, dtype: Precision) -> Operator:
        """Bring a matrix, (n, k), to the engine whose columns are few and known to every shard."""
        return self.operator(M, dtype)

    def row_selection(self, rows: Ints, n: int, dtype: Precision) -> Operator:
        """The matrix that picks rows of a block, shape (l, n)."""
        return self.operator(indicator(rows, n), dtype)

    def edge_matrix(self, graph: WeightedEdges, dtype: Precision) -> EdgeMatrix:
        """Symmetric matrices with entries at the edges of a graph."""
        return self.edge_matrix_type(self, graph, dtype)

    def medians(self, X: Array) -> Floats:
        """Medians of the columns, on the host."""
        return np.asarray(np.median(self.numpy(X), axis=0))

    def keep(self, X: Array) -> Array:
        """Compute an array that the next step of a recurrence needs; lazy libraries would repeat all steps."""
        return X

    def zeros(self, shape: tuple[int, ...], dtype: Precision) -> Array:
        """An array of zeros."""
        return self.asarray(np.zeros(shape, dtype), dtype)

    def take(self, X: Array, indices: Ints, axis: int) -> Array:
        """Some rows (axis 0) or columns (axis 1) of a block."""
        return self.xp.take(X, self.asarray(indices, np.int64), axis=axis)

    def times(self, X: Array, C: Floats) -> Array:
        """Tall times small: X C in the precision of X. X: (n, p); C: (p, q), on the host; returns (n, q)."""
        return X @ self.xp.astype(self.asarray(C, np.float64), X.dtype)

    def matmul_inplace(self, X: Array, C: Floats) -> Array:
        """X C, where C has no more columns than rows and X is not used again: it may be overwritten."""
        return self.times(X, C)

    def hstack(self, X: Array, Y: Array) -> Array:
        """The columns of two blocks, the first of which is not used again: its memory may be extended."""
        return self.xp.concat([X, Y], axis=1)

    def inner(self, X: Array, Y: Array) -> Floats:
        """Tall transposed times tall: X'Y on the host, in double precision.

        X: (n, p); Y: (n, q), of the same precision; returns (p, q).
        """
        return self.numpy(self.xp.matrix_transpose(X) @ Y)

    def diag_minus_matmul(self, diagonal: Array, S: Operator, X: Array) -> Array:
        """diag(d_g) X_g - S X_g for each of k groups of columns.

        diagonal: (n, k); S: (n, n); X: (n, k c), of the same precision; returns (n, k c).
        """
        n, k = diagonal.shape
        grouped = self.xp.reshape(X, (n, k, X.shape[1] // k))
        Y = self.xp.reshape(diagonal[:, :, None] * grouped, X.shape)
        Y -= S @ X
        return Y

    def cg_update(self, X: Array, R: Array, D: Array, MD: Array, step: Array) -> tuple[Array, Array]:
        """X + step D and R - step MD, shape (n, c) like all four, with a step for each column; in their places."""
        X += step * D
        R -= step * MD
        return self.keep(X), self.keep(R)

    def cg_direction(self, D: Array, Z: Array, ratio: Array) -> Array:
        """Ratio D + Z, shape (n, c) like both, with a ratio for each column; in the place of D."""
        D *= ratio
        D += Z
        return self.keep(D)

    def chebyshev(self, S: Operator, X: Array, degree: int, low: float, cut: float, high: float) -> Array:
        """Apply the Chebyshev polynomial that is 1 at ``low`` and small on [cut, high], ``low < cut < high``.

        S: (n, n), its spectrum below ``high``; X: (n, p), of the same precision; returns (n, p).
        """
        before, now = X, X
        for a, b, d in chebyshev_recurrence(degree, low, cut, high):
            after = a * (S @ now) + b * now
            if d:
                after = after + d * before
            before, now = now, self.keep(after)
        return now

    def edge_rows(self, graph: WeightedEdges, n_groups: int, c: int, dtype: Precision) -> EdgeRows:
        """The rows of the graph trend filter, for programs of c columns each."""
        return self.edge_rows_type(self, graph, n_groups, c, dtype)
