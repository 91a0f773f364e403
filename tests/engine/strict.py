"""An engine that knows the array API standard and nothing else, on a device that NumPy cannot read."""

from dataclasses import dataclass

import array_api_strict as xp
import numpy as np
import scipy.sparse as sp

from siis.engine import Engine

DEVICE = xp.Device("device1")  # NumPy's functions raise on its arrays: a leak in the core is a failure here


@dataclass(frozen=True, eq=False)
class StrictOperator:
    """A sparse matrix whose products are computed on the host."""

    engine: Engine
    matrix: object
    dtype: type

    @property
    def shape(self):
        return self.matrix.shape

    @property
    def T(self):
        return StrictOperator(self.engine, self.matrix.T.tocsr(), self.dtype)

    def __matmul__(self, X):
        assert X.device == DEVICE
        return self.engine.asarray(self.matrix @ self.engine.numpy(X).astype(self.dtype), self.dtype)

    def with_entries(self, entries):
        matrix = self.matrix.tocsr()
        parts = (self.engine.numpy(entries).astype(self.dtype), matrix.indices, matrix.indptr)
        return StrictOperator(self.engine, sp.csr_array(parts, shape=matrix.shape), self.dtype)


class StrictEngine(Engine):
    """The three methods that an engine must have, and the texts of the base class for all others."""

    xp = xp

    def asarray(self, a, dtype):
        kind = getattr(xp, np.dtype(dtype).name)
        if isinstance(a, type(xp.asarray(0.0))):
            assert a.device == DEVICE
            return xp.astype(a, kind, copy=False)
        return xp.asarray(np.asarray(a, dtype), device=DEVICE)

    def numpy(self, a):
        assert a.device == DEVICE
        return np.asarray(xp.asarray(a, device=xp.Device("CPU_DEVICE"))).astype(np.float64)

    def operator(self, M, dtype):
        return StrictOperator(self, M.astype(dtype).tocsr(), dtype)


ENGINE = StrictEngine()
