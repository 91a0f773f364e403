"""An engine of PyTorch's tensors in the computer's own memory; imported where PyTorch is."""

import warnings
from dataclasses import dataclass

import array_api_compat.torch as xp
import numpy as np
import torch

from siis.engine import Engine


@dataclass(frozen=True, eq=False)
class TorchOperator:
    """A sparse tensor, by compressed rows."""

    engine: Engine
    matrix: object
    tensor: object
    dtype: type

    @property
    def shape(self):
        return self.matrix.shape

    @property
    def T(self):
        return self.engine.operator(self.matrix.T.tocsr(), self.dtype)

    def __matmul__(self, X):
        return self.tensor @ self.engine.asarray(X, self.dtype)


class TorchEngine(Engine):
    """The three methods that an engine must have."""

    xp = xp

    def asarray(self, a, dtype):
        kind = getattr(torch, np.dtype(dtype).name)
        return a.to(kind) if isinstance(a, torch.Tensor) else torch.tensor(np.ascontiguousarray(a, dtype))

    def numpy(self, a):
        return a.numpy().astype(np.float64)

    def operator(self, M, dtype):
        M = M.astype(dtype).tocsr()
        with warnings.catch_warnings():
            warnings.filterwarnings("ignore", "Sparse CSR tensor support is in beta state")
            warnings.filterwarnings("ignore", "Sparse invariant checks are implicitly disabled")
            parts = (torch.tensor(part) for part in (M.indptr.astype(np.int64), M.indices.astype(np.int64), M.data))
            tensor = torch.sparse_csr_tensor(*parts, size=M.shape, check_invariants=False)
        return TorchOperator(self, M, tensor, dtype)


ENGINE = TorchEngine()
