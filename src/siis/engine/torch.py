"""The engine of PyTorch: the same text on a GPU, or on the computer's own memory."""

from __future__ import annotations

import warnings
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import array_api_compat.torch as namespace
import numpy as np
import scipy.sparse as sp
import torch

from siis._types import Floats, Ints, Sparse
from siis.engine.base import Engine
from siis.engine.edges import EdgeMatrix, WeightedEdges
from siis.engine.torch_neighbors import nearest_indices, symmetric_pairs
from siis.engine.types import Array, Precision, Report

KINDS: dict[type, Any] = {np.float64: torch.float64, np.float32: torch.float32, np.int64: torch.int64}
SHORT = 2**31 - 1  # entries up to which indices have 32 bits
LONG = 2048  # entries of a row that are added up one after the other


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
    """A sparse tensor by compressed rows; the transposed one has rows of its own, so that nothing is scattered.

    Attributes
    ----------
    engine : TorchEngine
    matrix : csr_array
        On the host.
    tensor : Tensor
    dtype : {np.float64, np.float32}
    pieces : (Tensor, TorchOperator), optional
        Where rows are long, the ends of their pieces, which are multiplied side by side, and what adds these up.
    """

    engine: TorchEngine
    matrix: Sparse
    tensor: Array
    dtype: Precision
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
    """What is known of a matrix whose entries are on the device alone."""

    shape: tuple[int, int]
    nnz: int


def _by_rows(indptr: Array, indices: Array, data: Array, shape: tuple[int, int]) -> Array:
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", "Sparse CSR tensor support is in beta state")
        warnings.filterwarnings("ignore", "Sparse invariant checks are implicitly disabled")
        return torch.sparse_csr_tensor(indptr, indices, data, size=shape, check_invariants=False)


class _EdgeMatrix(EdgeMatrix):
    """Rows are added up where the entries are."""

    pattern: TorchOperator

    def __call__(self, values: Array) -> tuple[TorchOperator, Array]:
        entries = self.engine.take(values, self.graph.edges.entries, 0)
        ends = self.pattern.tensor.crow_indices().long()
        sums = torch.segment_reduce(entries, "sum", offsets=ends, initial=0.0)
        return self.pattern.with_entries(entries), sums


class TorchEngine(Engine):
    """Arrays are tensors on one device.

    Parameters
    ----------
    device : str
        As PyTorch names it: "cpu", "cuda", "cuda:1".
    """

    xp = namespace
    can_search = True

    def __init__(self, device: str = "cuda") -> None:
        self.device = torch.device(device)
        torch.zeros(1, device=self.device).cpu()  # it answers

    @property
    def name(self) -> str:
        """The device in words."""
        if self.device.type != "cuda":
            return f"PyTorch's {self.device.type}"
        return str(torch.cuda.get_device_name(self.device))

    def nearest(self, points: Floats, n_wanted: int, seed: int, report: Report) -> tuple[Ints, Floats]:
        """Neighbours on the device: exactly, or within overlapping cells."""
        return nearest_indices(points, n_wanted, seed, report, self.device)

    def pairs(self, indices: Ints, weights: Floats) -> tuple[Sparse, Floats]:
        """Symmetric neighbourhoods by sorting pairs on the device."""
        n, parts = len(indices), symmetric_pairs(indices, weights, self.device)
        indptr, columns, largest, smallest = (part.cpu().numpy() for part in parts)
        return sp.csr_array((largest, columns, indptr), shape=(n, n)), smallest

    def asarray(self, a: Any, dtype: type) -> Array:
        """The tensor on the device, in this precision."""
        if not isinstance(a, torch.Tensor):  # a copy: blocks are changed in place
            return torch.tensor(np.ascontiguousarray(a, dtype), device=self.device)
        return a.to(self.device, KINDS[dtype])

    def numpy(self, a: Array) -> Floats:
        """The tensor on the host, in double precision."""
        return np.asarray(a.to("cpu", torch.float64).numpy())

    def host(self, a: Array) -> Floats:
        """The tensor on the host, in its own precision."""
        return np.asarray(a.cpu().numpy())

    def edge_matrix(self, graph: WeightedEdges, dtype: Precision) -> EdgeMatrix:
        """Matrices at the edges, their rows added up on the device."""
        return _EdgeMatrix(self, graph, dtype)

    def zeros(self, shape: tuple[int, ...], dtype: Precision) -> Array:
        """A tensor of zeros, made on the device."""
        return torch.zeros(shape, dtype=KINDS[dtype], device=self.device)

    def operator(self, M: Sparse, dtype: Precision) -> TorchOperator:
        """The matrix by compressed rows, with short indices where they suffice."""
        M = M.tocsr().astype(dtype)
        M.sum_duplicates()
        index = np.int32 if max(*M.shape, M.nnz) <= SHORT else np.int64
        parts = (M.indptr.astype(index), M.indices.astype(index), M.data)
        indptr, indices, data = (torch.from_numpy(part).to(self.device) for part in parts)
        return TorchOperator(self, M, _by_rows(indptr, indices, data, M.shape), dtype, self._pieces(M, dtype))

    def _pieces(self, M: Sparse, dtype: Precision) -> tuple[Array, TorchOperator] | None:
        """Cut long rows, which one thread after the other would go through, into pieces."""
        lengths = np.diff(M.indptr)
        if lengths.max(initial=0) <= LONG:
            return None
        counts = np.maximum(-(-lengths // LONG), 1)
        first = np.concatenate([[0], np.cumsum(counts)])
        place = np.arange(first[-1]) - np.repeat(first[:-1], counts)
        starts = np.repeat(M.indptr[:-1], counts) + LONG * place
        ends = torch.from_numpy(np.append(starts, M.indptr[-1]).astype(np.int64)).to(self.device)
        ones = sp.csr_array((np.ones(first[-1]), np.arange(first[-1]), first), shape=(M.shape[0], first[-1]))
        return ends, self.operator(ones, dtype)

    def medians(self, X: Array) -> Floats:
        """Medians of the columns: the device sorts."""
        ordered, half = torch.sort(X, dim=0).values, X.shape[0] // 2
        middle = ordered[half] if X.shape[0] % 2 else (ordered[half - 1] + ordered[half]) / 2
        return self.numpy(middle)
