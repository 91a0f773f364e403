"""The engine of sharded rows: NumPy's loops on the rows here, sums and rows of neighbours from other shards.

The text of the core runs in every shard at once, each on its own rows: blocks and arrays of the host hold the rows
here. What is added up over rows is added up over all shards, in their order, and is then known to all; products with
the graph first fetch the rows of neighbours that lie elsewhere. So the answer depends on the shards, but not on where
they run.
"""

from __future__ import annotations

import mmap
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from itertools import pairwise
from tempfile import TemporaryFile
from types import SimpleNamespace
from typing import Any

import numpy as np
import scipy.sparse as sp

from siis._types import Floats, Ints, Sparse
from siis.distributed.communicator import Communicator
from siis.engine.base import Engine, Operator, indicator
from siis.engine.blocks import chebyshev_recurrence, compact, product
from siis.engine.edges import EdgeMatrix, EdgeRows, WeightedEdges
from siis.engine.loops import column_dots, end_sums, scaled_entries, three_terms
from siis.engine.numpy import FusedEdgeRows, NumpyOperator
from siis.engine.threads import pause_point
from siis.engine.types import Precision

MOST_BYTES_IN_MEMORY = 2**28  # bytes of rows at edges that are held in memory; more lie in a file
BYTES_AT_ONCE = 2**26  # bytes of them that are in memory at once
LOW_MEMORY_COLUMNS = 16  # of a block; with half as many, clustered eigenvalues take very long
NUMBERS_AT_ONCE = 2**20  # numbers that are looked at together


@dataclass(frozen=True, eq=False)
class Halo:
    """Rows of other shards that are neighbours of rows here; they follow the own rows, by shard."""

    n_own: int
    sent: dict[int, Ints]  # own rows that another shard needs, by its number; ascending
    fetched: dict[int, slice]  # where the rows of another shard are put

    @property
    def n_rows(self) -> int:
        """Own rows and those of others."""
        return max([self.n_own, *(int(part.stop) for part in self.fetched.values())])


class _Namespace:
    """NumPy, with reductions over the rows of all shards."""

    def __init__(self, comm: Communicator) -> None:
        self._comm = comm
        self.linalg = SimpleNamespace(qr=self._qr)

    def __getattr__(self, name: str) -> Any:
        return getattr(np, name)

    def sum(self, X: Floats) -> Any:
        """Of all entries."""
        return self._comm.allreduce(np.sum(X, dtype=np.float64), sum)

    def min(self, X: Floats, axis: int | None = None) -> Any:
        """Of the columns, or of all entries."""
        found = np.min(X, axis=axis, initial=np.inf)
        return self._comm.allreduce(found, lambda parts: np.min(parts, axis=0))

    def max(self, X: Floats, axis: int | None = None) -> Any:
        """Of the columns, or of all entries."""
        found = np.max(X, axis=axis, initial=-np.inf)
        return self._comm.allreduce(found, lambda parts: np.max(parts, axis=0))

    def vecdot(self, X: Floats, Y: Floats, axis: int) -> Any:
        """Of rows, which are here; or of columns."""
        if axis == -1:
            return np.einsum("...i,...i->...", X, Y)
        return self._comm.allreduce(column_dots(X, Y), sum).astype(X.dtype)

    def _qr(self, X: Floats) -> tuple[Floats, Floats]:
        """Householder in blocks of the rows of every shard, then of what is left of all of them."""
        out, own = np.empty_like(X), []
        for rows, Q in zip(_blocks(X), _blocks(out), strict=True):
            found, R = np.linalg.qr(rows)
            Q[:, : len(R)] = found  # fewer where the rows are
            own.append(R)
        parts = self._comm.allgather(np.vstack([X[:0], *own]))
        whole, R = np.linalg.qr(np.vstack(parts))
        first = sum(len(part) for part in parts[: self._comm.rank])
        for Q, piece in zip(_blocks(out), own, strict=True):
            Q[:] = Q[:, : len(piece)] @ whole[first : first + len(piece)]
            first += len(piece)
        return out, R


@dataclass(frozen=True, eq=False)
class ShardedOperator:
    """A matrix whose rows are here, and the products of it and of its transposed with blocks."""

    engine: ShardedEngine
    matrix: Sparse
    shape: tuple[int, int]
    times: Callable[[Floats], Floats]
    transposed_times: Callable[[Floats], Floats]

    @property
    def dtype(self) -> Precision:
        """Precision of the entries."""
        return self.matrix.dtype.type  # type: ignore[no-any-return]

    @property
    def T(self) -> ShardedOperator:
        """The transposed matrix."""
        return replace(self, shape=self.shape[::-1], times=self.transposed_times, transposed_times=self.times)

    def __matmul__(self, X: Floats) -> Floats:
        """Multiply with a block."""
        return self.times(X)

    def with_entries(self, entries: Floats) -> Operator:
        """Not supported: entries at the edges are those of ``edge_matrix``."""
        raise NotImplementedError


class _EdgeMatrix(EdgeMatrix):
    """Matrices with entries at the edges; an edge belongs to the shard of its first end."""

    def prepare(self) -> None:
        """Nothing: the edges are the pattern."""

    def __call__(self, values: Floats) -> tuple[Operator, Floats]:
        """Give the matrix with a value at each edge here, and the sums of its rows."""
        engine, edges = self.engine, self.graph.edges
        assert isinstance(engine, ShardedEngine)
        n_rows = engine.halo.n_rows
        sums = np.zeros(n_rows)
        end_sums(edges.first, edges.tails, values, sums)
        half = sp.csr_array((values, edges.tails, edges.first), shape=(engine.halo.n_own, n_rows))
        B = engine.operator(half, self.dtype)

        def times(X: Floats) -> Floats:
            out = B @ X
            out += B.T @ X
            return out

        return replace(B, times=times, transposed_times=times), engine.reduce_halo(sums)


class _EdgeRows(FusedEdgeRows):
    """The rows of the graph trend filter at edges whose first end is here; a large N lies in an unnamed file."""

    engine: ShardedEngine

    def zeros(self, shape: tuple[int, ...]) -> Floats:
        """Zeros for N, in memory or in a file."""
        if int(np.prod(shape)) * np.dtype(self.dtype).itemsize <= MOST_BYTES_IN_MEMORY:
            return np.zeros(shape, self.dtype)
        with TemporaryFile() as file:
            return np.memmap(file, self.dtype, "w+", shape=shape)

    def prepare(self, graph: WeightedEdges) -> None:
        """Cut the heads of the edges into pieces."""
        edges = graph.edges
        self.n = self.engine.halo.n_rows
        self.arrays = edges.first, edges.tails, edges.weights.astype(self.dtype, copy=False)
        n_pieces = 1 + self.N.nbytes // BYTES_AT_ONCE
        ends = np.searchsorted(edges.first, np.linspace(0, graph.n_edges, n_pieces + 1)[1:-1])
        heads = [0, *(int(head) for head in ends), graph.n_vertices]
        self.pieces = [(a, b) for a, b in pairwise(heads) if a < b]

    def edge_slices(self) -> Iterator[slice]:
        """The edges, piece by piece; the memory of each is given back."""
        first = self.arrays[0]
        for a, b in self.pieces:
            yield slice(int(first[a]), int(first[b]))
            self._release(b)

    def _release(self, head: int) -> None:
        """Release the memory of the rows before a head's; what was written is in the file."""
        held = getattr(self.N, "_mmap", None)
        size = int(self.arrays[0][head]) * self.N.strides[0] // mmap.PAGESIZE * mmap.PAGESIZE
        if held is not None and size and hasattr(mmap, "MADV_DONTNEED"):
            held.madvise(mmap.MADV_DONTNEED, 0, size)

    def _gathered(self, work: Callable[[Floats, int, int], None]) -> Floats:
        """What the pieces add to the vertices, one after the other."""
        out = np.zeros((self.n, self._width), self.dtype)
        for a, b in self.pieces:
            work(out[a:], a, b)
            self._release(b)
        return out

    def step(self, F: Floats, gamma: float, relaxation: float) -> Floats:
        """As ``FusedEdgeRows.step``, between two exchanges."""
        return self.engine.reduce_halo(super().step(self.engine.with_halo(F), gamma, relaxation))

    def divergence(self, slope: float, offset: float) -> Floats:
        """As ``FusedEdgeRows.divergence``, before an exchange."""
        return self.engine.reduce_halo(super().divergence(slope, offset))

    def norms(self, F: Floats) -> Floats:
        """As ``FusedEdgeRows.norms``, after an exchange."""
        return super().norms(self.engine.with_halo(F))


class ShardedEngine(Engine):
    """Rows of vertices, edges and labels of one shard.

    ``low_memory``: single precision throughout and one spare block in the eigensolver's subspace.
    """

    holds_all_rows = False

    def __init__(self, comm: Communicator, halo: Halo, low_memory: bool = False) -> None:
        self.comm, self.halo, self.low_memory = comm, halo, low_memory
        self.spare_blocks, self.widest = (1, LOW_MEMORY_COLUMNS // 2) if low_memory else (Engine.spare_blocks, 64)
        self.narrowest = LOW_MEMORY_COLUMNS if low_memory else Engine.narrowest
        self.columns = 0  # that were multiplied with a matrix of the graph
        self.xp = _Namespace(comm)

    def asarray(self, a: Any, dtype: type) -> Any:
        """The rows here, in this precision."""
        return np.asarray(a, dtype)

    def numpy(self, a: Any) -> Floats:
        """The rows here, in double precision."""
        return np.asarray(a, np.float64)

    def host(self, a: Any) -> Floats:
        """The rows here."""
        return np.asarray(a)

    def with_halo(self, X: Floats) -> Floats:
        """Own rows, and after them those of neighbours."""
        out = np.empty((self.halo.n_rows, *X.shape[1:]), X.dtype)
        out[: self.halo.n_own] = X
        self.update_halo(out)
        return out

    def update_halo(self, X: Floats) -> None:
        """Fetch the rows of neighbours into their places."""
        halo = self.halo
        parts = {rank: X[rows] for rank, rows in halo.sent.items()}
        for rank, part in self.comm.neighbor_exchange(parts, list(halo.fetched)).items():
            X[halo.fetched[rank]] = part

    def reduce_halo(self, X: Floats) -> Floats:
        """Own rows plus what other shards add to them; parts for rows of others are sent there."""
        halo = self.halo
        parts = {rank: np.ascontiguousarray(X[place]) for rank, place in halo.fetched.items()}
        out = X[: halo.n_own]
        for rank, part in sorted(self.comm.neighbor_exchange(parts, list(halo.sent)).items()):
            out[halo.sent[rank]] += part
        return out

    def operator(self, M: Sparse, dtype: Precision) -> ShardedOperator:
        """A matrix of the graph: its columns are own rows and those of neighbours."""
        M = compact(M, dtype)

        def times(X: Floats) -> Floats:
            self.columns += X.shape[1]
            return product(M, self.with_halo(np.asarray(X, dtype)))

        def transposed_times(X: Floats) -> Floats:
            return self.reduce_halo(np.asarray(M.T @ np.asarray(X, dtype)))

        return ShardedOperator(self, M, (M.shape[0], self.halo.n_own), times, transposed_times)

    def scaled(self, M: Sparse, scale: Floats, dtype: Precision) -> ShardedOperator:
        """diag(scale) M diag(scale)."""
        entries = np.empty(M.data.size, dtype)
        scaled_entries(M.indptr, M.indices, M.data, scale, self.with_halo(scale), entries)
        return self.operator(sp.csr_array((entries, M.indices, M.indptr), shape=M.shape), dtype)

    def narrow_operator(self, M: Sparse, dtype: Precision) -> ShardedOperator:
        """A matrix whose few columns are known to all shards."""
        M = compact(M, dtype)

        def transposed_times(X: Floats) -> Floats:
            part, step = np.zeros((M.shape[1], X.shape[1])), max(1, NUMBERS_AT_ONCE // max(X.shape[1], 1))
            for a in range(0, len(X), step):
                part += M[a : a + step].T @ np.asarray(X[a : a + step], dtype)
            return np.asarray(self.total_sum(part), dtype)

        return ShardedOperator(self, M, M.shape, lambda X: np.asarray(M @ np.asarray(X, dtype)), transposed_times)

    def row_selection(self, rows: Ints, n: int, dtype: Precision) -> NumpyOperator:
        """Picks rows that are here."""
        return NumpyOperator(self, compact(indicator(rows, n), dtype))

    def edge_matrix(self, graph: WeightedEdges, dtype: Precision) -> EdgeMatrix:
        """Matrices with entries at the edges."""
        return _EdgeMatrix(self, graph, dtype)

    def edge_rows(self, graph: WeightedEdges, n_groups: int, c: int, dtype: Precision) -> EdgeRows:
        """Rows at the edges that are here."""
        return _EdgeRows(self, graph, n_groups, c, dtype)

    def total_count(self, n: int) -> int:
        """Rows of all shards."""
        return int(self.comm.allreduce(n, sum))

    def total_sum(self, part: Any) -> Any:
        """The sum over all shards."""
        return np.array(self.comm.allreduce(part, sum))  # a copy: shards of one process are given the same

    def total_max(self, values: Floats) -> float:
        """The largest of all shards."""
        return float(self.comm.allreduce(super().total_max(values), max))

    def mean(self, values: Floats) -> Floats:
        """Means over all rows."""
        mean = self.total_sum(np.sum(values, axis=0, dtype=np.float64)) / self.total_count(len(values))
        return np.asarray(mean, values.dtype)

    def deviation(self, values: Floats) -> Floats:
        """Standard deviations over all rows."""
        mean, squares = self.mean(values), np.zeros(values.shape[1])
        for some in _blocks(values):
            squares += np.sum((some - mean) ** 2, axis=0)
        return np.asarray(np.sqrt(self.total_sum(squares) / self.total_count(len(values))), values.dtype)

    def normal(self, rng: np.random.Generator, n: int, k: int, dtype: Precision) -> Floats:
        """Each shard draws its own numbers."""
        key = int(rng.integers(2**62))  # the same in all shards
        own = np.random.default_rng([key, self.comm.rank])
        return own.standard_normal((n, k), dtype)

    def matmul_inplace(self, X: Floats, C: Floats) -> Floats:
        """X C in the place of X, where memory is short."""
        if not self.low_memory:
            return np.asarray(super().matmul_inplace(X, C))
        out, C = X[:, : C.shape[1]], C.astype(X.dtype)
        for rows, into in zip(_blocks(X), _blocks(out, X.shape[1]), strict=True):
            into[:] = rows @ C
        return out

    def hstack(self, X: Floats, Y: Floats) -> Floats:
        """Columns behind those of X, in its own memory where that is short and has space."""
        if not self.low_memory:
            return np.asarray(super().hstack(X, Y))
        k, width, buffer = X.shape[1], X.shape[1] + Y.shape[1], X.base
        if not isinstance(buffer, np.ndarray) or buffer.ndim != 2 or buffer.shape[1] < width:
            buffer = np.empty((len(X), width), X.dtype)
            buffer[:, :k] = X
        buffer[:, k:width] = Y
        return np.asarray(buffer[:, :width])

    def inner(self, X: Floats, Y: Floats) -> Floats:
        """X'Y, added up over the shards."""
        return np.asarray(self.total_sum(np.asarray(X.T @ Y, np.float64)))

    def medians(self, X: Floats) -> Floats:
        """Medians of columns of non-negative numbers: bisection on their bits, which are ordered as they are."""
        n = self.total_count(len(X))
        wanted = np.array([(n - 1) // 2, n // 2])
        low = np.full((2, X.shape[1]), -1)
        high = np.full((2, X.shape[1]), np.float64(np.inf).view(np.int64))
        while (high - low > 1).any():  # the wanted number is above low, and at most high
            middle = low + (high - low) // 2
            levels, below = np.maximum(middle, 0).view(np.float64), np.zeros(low.shape, np.int64)
            for some in _blocks(X):
                below += np.stack([np.count_nonzero(some <= level, axis=0) for level in levels])
            is_enough = self.total_sum(np.where(middle < 0, 0, below)) > wanted[:, None]
            low, high = np.where(is_enough, low, middle), np.where(is_enough, middle, high)
        return np.asarray(high.view(np.float64).mean(axis=0))

    def chebyshev(self, S: Operator, X: Floats, degree: int, low: float, cut: float, high: float) -> Floats:
        """The recurrence of ``Engine.chebyshev``; before each product an exchange."""
        assert isinstance(S, ShardedOperator)
        M, n, kind = S.matrix, self.halo.n_own, X.dtype.type
        self.columns += degree * X.shape[1]
        now = np.empty((self.halo.n_rows, X.shape[1]), X.dtype)
        now[:n] = X
        before = np.zeros_like(now)
        for factors in chebyshev_recurrence(degree, low, cut, high):
            pause_point()
            self.update_halo(now)
            three_terms(M.indptr, M.indices, M.data, now, before, *(kind(factor) for factor in factors), 0, n)
            before, now = now, before
        return now[:n]


def _blocks(X: Floats, width: int | None = None) -> Iterator[Floats]:
    """Blocks of rows of a tall array, with as many rows as blocks of an array of the given width."""
    step = max(1, NUMBERS_AT_ONCE // max(width or X.shape[1], 1))
    return (X[a : a + step] for a in range(0, len(X), step))
