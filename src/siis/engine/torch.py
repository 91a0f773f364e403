"""The engine of PyTorch: on a GPU, or in the computer's own memory."""

from __future__ import annotations

import warnings
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import array_api_compat.torch as namespace
import numpy as np
import torch

from siis._types import Floats, Sparse
from siis.engine.base import Engine
from siis.engine.edges import EdgeMatrix, EdgeRows, WeightedEdges
from siis.engine.torch_neighbors import KINDS, TorchSearch
from siis.engine.types import Array, Precision

MOST_SHORT_INDEX = 2**31 - 1  # entries up to which indices have 32 bits
LONG_ROW = 2048  # entries of a row that are added up one after the other
MANY_DRAWS = 2**22  # random numbers, from which on the device draws them itself


def gpu_problem() -> str:
    """Why there is no GPU to run on, in a clause; empty where there is one."""
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # of a driver that does not answer
            found = torch.cuda.is_available()
    except Exception as wrong:
        return f"the GPU's driver does not answer ({type(wrong).__name__})"
    return "" if found else "PyTorch sees no GPU here"


@dataclass(frozen=True, eq=False)
class TorchOperator:
    """A sparse tensor by compressed rows; the transposed one has rows of its own, so that nothing is scattered."""

    engine: TorchEngine
    matrix: Sparse  # on the host
    tensor: Array
    dtype: Precision
    # where rows are long, the ends of their pieces, which are multiplied side by side, and what adds these up
    pieces: tuple[Array, TorchOperator] | None = None

    @property
    def shape(self) -> tuple[int, int]:
        """(r, n)."""
        return self.matrix.shape[0], self.matrix.shape[1]

    @cached_property
    def T(self) -> TorchOperator:
        """The transposed matrix, prepared once."""
        return self.engine.operator(self.matrix.T.tocsr(), self.dtype)

    def __matmul__(self, X: Array) -> Array:
        """Multiply with a block, shape (n, p): shape (r, p)."""
        X = self.engine.asarray(X, self.dtype)
        if not self.matrix.nnz or not X.shape[1]:  # libraries differ in what they make of nothing
            return self.engine.zeros((self.shape[0], X.shape[1]), self.dtype)
        if self.engine.device.type != "cuda":
            return self.tensor @ X
        from siis.engine.rows_times_block import rows_times_block  # noqa: PLC0415  (where there is a GPU)

        indices, data = self.tensor.col_indices(), self.tensor.values()
        if self.pieces is None:
            return rows_times_block(self.tensor.crow_indices(), indices, data, X)
        ends, of_rows = self.pieces
        return of_rows @ rows_times_block(ends, indices, data, X)

    def with_entries(self, entries: Array) -> TorchOperator:
        """The matrix with other entries."""
        parts = (self.tensor.crow_indices(), self.tensor.col_indices(), self.engine.asarray(entries, self.dtype))
        matrix = _Pattern(self.matrix.shape, self.matrix.nnz)
        return TorchOperator(self.engine, matrix, _by_rows(*parts, self.matrix.shape), self.dtype, self.pieces)


@dataclass(frozen=True)
class _Pattern:
    """Shape and number of entries of a matrix that is on the device alone."""

    shape: tuple[int, int]
    nnz: int


def _by_rows(indptr: Array, indices: Array, data: Array, shape: tuple[int, int]) -> Array:
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", "Sparse CSR tensor support is in beta state")
        warnings.filterwarnings("ignore", "Sparse invariant checks are implicitly disabled")
        return torch.sparse_csr_tensor(indptr, indices, data, size=shape, check_invariants=False)


@dataclass(frozen=True, eq=False)
class DeviceGraph:
    """A symmetric matrix of weights on the device, its edges and Laplacian; nothing is copied to the host."""

    indptr: Array  # (n + 1,)
    indices: Array  # (nnz,)
    data: Array  # (nnz,), in double precision

    @property
    def rows(self) -> Array:
        """The row of each entry, shape (nnz,)."""
        n = len(self.indptr) - 1
        numbers = torch.arange(n, device=self.indptr.device, dtype=self.indices.dtype)
        return numbers.repeat_interleave(torch.diff(self.indptr), output_size=len(self.indices))

    @cached_property
    def edges(self) -> tuple[Array, Array, Array, Array]:
        """Heads, tails and weights of the edges i < j, in order, and the edge of each entry (``graph.Edges``)."""
        rows, columns = self.rows, self.indices
        upper, lower = torch.nonzero(rows < columns)[:, 0], torch.nonzero(rows > columns)[:, 0]
        order = torch.argsort(columns[lower], stable=True)  # by column, then row: as the edges are by head and tail
        entries, numbers = torch.empty_like(columns), torch.arange(len(upper), device=columns.device)
        entries[upper], entries[lower[order]] = (numbers.to(columns.dtype),) * 2
        return rows[upper], columns[upper], self.data[upper], entries

    def with_diagonal(self, diagonal: Array) -> DeviceGraph:
        """The matrix less its diagonal: diag(d) - W, rows sorted as they were."""
        n, rows = len(diagonal), self.rows.long()
        shift = torch.arange(n + 1, device=rows.device, dtype=self.indptr.dtype)
        below = torch.bincount(rows[self.indices < rows], minlength=n)
        at = torch.arange(len(rows), device=rows.device) + rows + (self.indices > rows)
        own = self.indptr[:-1].long() + shift[:-1] + below
        indices, data = (part.new_empty(len(part) + n) for part in (self.indices, self.data))
        indices[at], indices[own] = self.indices, shift[:-1].to(indices.dtype)
        data[at], data[own] = -self.data, diagonal
        return DeviceGraph(self.indptr + shift, indices, data)


class _EdgeMatrix(EdgeMatrix):
    """Pattern and row sums on the device."""

    engine: TorchEngine
    pattern: TorchOperator

    def prepare(self) -> None:
        self.device_graph = self.engine.device_graph(self.graph.weights)
        there, self.squares = self.device_graph, self.device_graph.edges[2] ** 2
        self.pattern = self.engine.by_rows(
            there.indptr, there.indices, there.data, self.graph.weights.shape, self.dtype
        )

    def __call__(self, values: Array) -> tuple[TorchOperator, Array]:
        entries = values[self.device_graph.edges[3]]
        sums = torch.segment_reduce(entries, "sum", offsets=self.device_graph.indptr.long(), initial=0.0)
        return self.pattern.with_entries(entries), sums


class _EdgeRows(EdgeRows):
    """The edges and P' are made on the device."""

    engine: TorchEngine

    def prepare(self, graph: WeightedEdges) -> None:
        there = self.engine.device_graph(graph.weights)
        heads, tails, weights, entries = there.edges
        self.ends, self.weights = [heads, tails], weights.to(KINDS[self.dtype])[:, None]
        data = torch.where(there.rows < there.indices, there.data, -there.data)
        self.PT = self.engine.by_rows(there.indptr, entries, data, (graph.n_vertices, graph.n_edges), self.dtype)


class TorchEngine(Engine):
    """Arrays are tensors on one device, by PyTorch's name: "cpu", "cuda", "cuda:1"."""

    xp = namespace
    edge_matrix_type, edge_rows_type = _EdgeMatrix, _EdgeRows

    def __init__(self, device: str = "cuda") -> None:
        self.device = torch.device(device)
        torch.zeros(1, device=self.device).cpu()  # it answers
        self._last_graph: tuple[Sparse, DeviceGraph] | None = None
        self.search = TorchSearch(self.device)

    @property
    def name(self) -> str:
        """The device in words."""
        if self.device.type != "cuda":
            return f"PyTorch's {self.device.type}"
        return str(torch.cuda.get_device_name(self.device))

    def asarray(self, a: Any, dtype: type) -> Array:
        """The tensor on the device, in this precision."""
        if isinstance(a, torch.Tensor):
            return a.to(self.device, KINDS[dtype])
        a = np.ascontiguousarray(a)
        if np.dtype(dtype).itemsize < a.itemsize or a.dtype.kind not in "fi":  # sent in the shorter type
            a = a.astype(dtype)
        return torch.tensor(a, device=self.device).to(KINDS[dtype])  # a copy: blocks are changed in place

    def numpy(self, a: Array) -> Floats:
        """The tensor on the host, in double precision."""
        return np.asarray(a.to("cpu", torch.float64).numpy())

    def host(self, a: Array) -> Floats:
        """The tensor on the host, in its own precision."""
        return np.asarray(a.cpu().numpy())

    def device_graph(self, W: Sparse) -> DeviceGraph:
        """The weights of a graph on the device; those of the last graph stay there, since they cannot change."""
        kept = self._last_graph
        if kept is not None and kept[0] is W:
            return kept[1]
        found = DeviceGraph(*self._parts(W, np.float64))
        if not W.data.flags.writeable:
            self._last_graph = W, found
        return found

    def scaled(self, M: Sparse, scale: Floats, dtype: Precision) -> TorchOperator:
        """Entries are scaled on the device."""
        return self._scaled(self.device_graph(M), scale, dtype)

    def laplacian(self, graph: WeightedEdges, scale: Floats, dtype: Precision) -> TorchOperator:
        """Made of the weights on the device."""
        there = self.device_graph(graph.weights)
        return self._scaled(there.with_diagonal(self.asarray(graph.degrees, np.float64)), scale, dtype)

    def _scaled(self, M: DeviceGraph, scale: Floats, dtype: Precision) -> TorchOperator:
        on_device = self.asarray(scale, np.float64)
        entries = M.data * on_device[M.rows] * on_device[M.indices]
        return self.by_rows(M.indptr, M.indices, entries, (len(scale), len(scale)), dtype)

    def largest_degree_sum(self, graph: WeightedEdges) -> float:
        """By the edges on the device."""
        heads, tails = self.device_graph(graph.weights).edges[:2]
        degrees = self.asarray(graph.degrees, np.float64)
        return float((degrees[heads] + degrees[tails]).max()) if len(heads) else 0.0

    def normal(self, rng: np.random.Generator, n: int, k: int, dtype: Precision) -> Array:
        """Few numbers by the host's generator, as on other engines; many by the device's, seeded by the host's."""
        if n * k < MANY_DRAWS:
            return super().normal(rng, n, k, dtype)
        generator = torch.Generator(self.device).manual_seed(int(rng.integers(2**62)))
        return torch.randn((n, k), generator=generator, dtype=KINDS[dtype], device=self.device)

    def cg_update(self, X: Array, R: Array, D: Array, MD: Array, step: Array) -> tuple[Array, Array]:
        """As ``Engine.cg_update``, a call for each."""
        return X.addcmul_(D, step), R.addcmul_(MD, step, value=-1)

    def cg_direction(self, D: Array, Z: Array, ratio: Array) -> Array:
        """As ``Engine.cg_direction``, in one call."""
        return torch.addcmul(Z, D, ratio, out=D)

    def zeros(self, shape: tuple[int, ...], dtype: Precision) -> Array:
        """A tensor of zeros, made on the device."""
        return torch.zeros(shape, dtype=KINDS[dtype], device=self.device)

    def operator(self, M: Sparse, dtype: Precision) -> TorchOperator:
        """The matrix by compressed rows, with short indices where they suffice."""
        M = M.tocsr()
        if not M.has_canonical_format:
            M = M.copy()
            M.sum_duplicates()
        indptr, indices, data = self._parts(M, dtype)
        return self.by_rows(indptr, indices, data, M.shape, dtype, M)

    def _parts(self, M: Sparse, dtype: Precision) -> tuple[Array, Array, Array]:
        """Compressed rows on the device, with short indices where they suffice."""
        index = np.int32 if max(*M.shape, M.nnz) <= MOST_SHORT_INDEX else np.int64
        kinds = ((M.indptr, index), (M.indices, index), (M.data, dtype))
        indptr, indices, data = (torch.tensor(a.astype(kind, copy=False), device=self.device) for a, kind in kinds)
        return indptr, indices, data

    def by_rows(
        self,
        indptr: Array,
        indices: Array,
        data: Array,
        shape: tuple[int, int],
        dtype: Precision,
        matrix: Sparse | None = None,
    ) -> TorchOperator:
        """The matrix of compressed rows that are on the device; ``matrix`` is the same on the host."""
        known = _Pattern((int(shape[0]), int(shape[1])), len(data)) if matrix is None else matrix
        tensor = _by_rows(indptr, indices, data.to(KINDS[dtype]), shape)
        return TorchOperator(self, known, tensor, dtype, self._pieces(indptr, shape[0], dtype))

    def _pieces(self, indptr: Array, n: int, dtype: Precision) -> tuple[Array, TorchOperator] | None:
        """Cut long rows, which one thread after the other would go through, into pieces."""
        lengths = torch.diff(indptr.long())
        if not n or int(lengths.max()) <= LONG_ROW:
            return None
        counts = (-(-lengths // LONG_ROW)).clamp(min=1)
        first = torch.nn.functional.pad(counts.cumsum(0), (1, 0))
        numbers = torch.arange(int(first[-1]), device=self.device)
        place = numbers - first[:-1].repeat_interleave(counts)
        ends = torch.cat([indptr[:-1].long().repeat_interleave(counts) + LONG_ROW * place, indptr[-1:].long()])
        ones = torch.ones(len(numbers), dtype=KINDS[dtype], device=self.device)
        return ends, self.by_rows(first, numbers, ones, (n, len(numbers)), dtype)

    def medians(self, X: Array) -> Floats:
        """Medians of the columns: the device sorts."""
        ordered, half = torch.sort(X, dim=0).values, X.shape[0] // 2
        middle = ordered[half] if X.shape[0] % 2 else (ordered[half - 1] + ordered[half]) / 2
        return self.numpy(middle)
