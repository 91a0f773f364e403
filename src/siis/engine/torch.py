"""The engine of PyTorch: the same text on a GPU, or on the computer's own memory."""

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
from siis.engine.types import Array, Precision

KINDS: dict[type, Any] = {np.float64: torch.float64, np.float32: torch.float32, np.int64: torch.int64}
SHORT = 2**31 - 1  # entries up to which indices have 32 bits


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
    """

    engine: TorchEngine
    matrix: Sparse
    tensor: Array
    dtype: Precision

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

        return rows_times_block(self.tensor.crow_indices(), self.tensor.col_indices(), self.tensor.values(), X)


class TorchEngine(Engine):
    """Arrays are tensors on one device.

    Parameters
    ----------
    device : str
        As PyTorch names it: "cpu", "cuda", "cuda:1".
    """

    xp = namespace

    def __init__(self, device: str = "cuda") -> None:
        self.device = torch.device(device)

    def asarray(self, a: Any, dtype: type) -> Array:
        """The tensor on the device, in this precision."""
        if not isinstance(a, torch.Tensor):  # a copy: blocks are changed in place
            return torch.tensor(np.ascontiguousarray(a, dtype), device=self.device)
        return a.to(self.device, KINDS[dtype])

    def numpy(self, a: Array) -> Floats:
        """The tensor on the host, in double precision."""
        return np.asarray(a.to("cpu", torch.float64).numpy())

    def zeros(self, shape: tuple[int, ...], dtype: Precision) -> Array:
        """A tensor of zeros, made on the device."""
        return torch.zeros(shape, dtype=KINDS[dtype], device=self.device)

    def operator(self, M: Sparse, dtype: Precision) -> TorchOperator:
        """The matrix by compressed rows, with short indices where they suffice."""
        M = M.tocsr().astype(dtype)
        M.sum_duplicates()
        index = np.int32 if max(*M.shape, M.nnz) <= SHORT else np.int64
        parts = (M.indptr.astype(index), M.indices.astype(index), M.data)
        with warnings.catch_warnings():
            warnings.filterwarnings("ignore", "Sparse CSR tensor support is in beta state")
            warnings.filterwarnings("ignore", "Sparse invariant checks are implicitly disabled")
            tensor = torch.sparse_csr_tensor(
                *(torch.from_numpy(part).to(self.device) for part in parts), size=M.shape, check_invariants=False
            )
        return TorchOperator(self, M, tensor, dtype)
