"""The engine of NumPy, with compiled loops in threads as its fast paths."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import pairwise
from typing import Any

import numpy as np
import scipy.sparse as sp

from siis._types import Floats, Sparse
from siis.engine.base import Engine, Operator
from siis.engine.blocks import PIECES, chebyshev_filter, compact, pieces_of, product, tall_product, tall_transposed
from siis.engine.edges import EdgeRows, WeightedEdges
from siis.engine.loops import (
    cg_direction_rows,
    cg_update_rows,
    diag_minus_matmul_rows,
    edge_divergence,
    edge_norms,
    edge_step,
)
from siis.engine.threads import in_threads
from siis.engine.types import Precision

ARRAYS_OF_A_STEP = 4  # arrays that a step of conjugate gradients goes through
WORTH_PIECES = 500_000  # numbers in N, below which one piece is faster


@dataclass(frozen=True, eq=False)
class NumpyOperator:
    """A csr_array in one precision, with indices that the compiled loops take."""

    engine: Engine
    matrix: Sparse

    @property
    def shape(self) -> tuple[int, int]:
        """(r, n)."""
        return self.matrix.shape[0], self.matrix.shape[1]

    @property
    def dtype(self) -> Precision:
        """Precision of the entries."""
        return self.matrix.dtype.type  # type: ignore[no-any-return]

    @cached_property
    def T(self) -> NumpyOperator:
        """The transposed matrix."""
        return NumpyOperator(self.engine, compact(self.matrix.T, self.dtype))

    def __matmul__(self, X: Floats) -> Floats:
        """Multiply with a block, shape (n, p): shape (r, p)."""
        return product(self.matrix, np.asarray(X, self.dtype))

    def with_entries(self, entries: Floats) -> NumpyOperator:
        """The matrix with other entries."""
        parts = (np.asarray(entries, self.dtype), self.matrix.indices, self.matrix.indptr)
        return replace(self, matrix=sp.csr_array(parts, shape=self.matrix.shape))


class FusedEdgeRows(EdgeRows):
    """Trend-filter rows, updated in one pass without P; pieces are summed in order, for any number of threads."""

    def prepare(self, graph: WeightedEdges) -> None:
        """Cut the edges into pieces."""
        edges = graph.edges
        self.n = graph.n_vertices
        self.arrays = edges.first, edges.tails, edges.weights.astype(self.dtype)
        n_pieces = PIECES if self.N.size > WORTH_PIECES else 1
        shares = np.linspace(0, graph.n_edges, n_pieces + 1)
        heads = np.searchsorted(edges.first, shares, side="left")
        heads[0], heads[-1] = 0, self.n
        self.pieces = [(int(a), int(b)) for a, b in pairwise(heads) if a < b]

    def step(self, F: Floats, penalty: Any, relaxation: float) -> Floats:
        """N = relaxation P F + (1 - relaxation f) N, shrink, and give P' p (2 f - 1) N, shape (n, k c)."""
        kind, N, f = self.dtype, self._flat, self.f[:, :, 0]
        first, tails, weights = self.arrays
        gamma, F = penalty.weight, np.ascontiguousarray(F)

        def piece(out: Floats, a: int, b: int) -> None:
            edge_step(first, tails, weights, self.p, kind(gamma), kind(relaxation), F, N, f, out, a, b)

        return self._gathered(piece)

    def divergence(self, slope: float, offset: float) -> Floats:
        """P' p (slope f + offset) N, shape (n, k c)."""
        kind, N, f = self.dtype, self._flat, self.f[:, :, 0]
        first, tails, weights = self.arrays

        def piece(out: Floats, a: int, b: int) -> None:
            edge_divergence(first, tails, weights, self.p, f, kind(slope), kind(offset), N, out, a, b)

        return self._gathered(piece)

    def norms(self, F: Floats) -> Floats:
        """Row norms of P F in each group, shape (E, k), in double precision."""
        out = np.empty(self.f.shape[:2], self.dtype)
        first, tails, weights = self.arrays
        F = np.ascontiguousarray(F)
        in_threads(lambda piece: edge_norms(first, tails, weights, F, out, *piece), self.pieces)
        return out.astype(self.engine.row_type(self.dtype), copy=False)

    @property
    def _flat(self) -> Floats:
        """N as the loops take it: shape (E, k c)."""
        return np.asarray(self.N.reshape(self.N.shape[0], self._width))

    @property
    def _width(self) -> int:
        return int(self.N.shape[1] * self.N.shape[2])

    def _gathered(self, work: Callable[[Floats, int, int], None]) -> Floats:
        """Sum what the pieces add to the vertices; edges of heads a, a + 1, ... have no end before a."""

        def piece(heads: tuple[int, int]) -> Floats:
            out = np.zeros((self.n - heads[0], self._width), self.dtype)
            work(out, *heads)
            return out

        parts = in_threads(piece, self.pieces)
        total = parts[0] if parts else np.zeros((self.n, self._width), self.dtype)
        for (a, _), part in zip(self.pieces[1:], parts[1:], strict=True):
            total[a:] += part
        return total


class NumpyEngine(Engine):
    """Arrays are NumPy's; products run in threads, over pieces whose number does not depend on the machine."""

    xp = np
    edge_rows_type = FusedEdgeRows

    def asarray(self, a: Any, dtype: type) -> Any:
        """The array in this precision."""
        return np.asarray(a, dtype)

    def numpy(self, a: Any) -> Floats:
        """The array in double precision."""
        return np.asarray(a, np.float64)

    def operator(self, M: Sparse, dtype: Precision) -> NumpyOperator:
        """The matrix in one precision."""
        return NumpyOperator(self, compact(M, dtype))

    def times(self, X: Floats, C: Floats) -> Floats:
        """X C by pieces of rows."""
        return tall_product(X, C.astype(X.dtype, copy=False))

    def inner(self, X: Floats, Y: Floats) -> Floats:
        """X'Y by pieces of rows."""
        return tall_transposed(X, Y).astype(np.float64, copy=False)

    def diag_minus_matmul(self, diagonal: Floats, S: Operator, X: Floats) -> Floats:
        """As ``Engine.diag_minus_matmul``, in one compiled pass."""
        assert isinstance(S, NumpyOperator)
        M, X = S.matrix, np.ascontiguousarray(X)
        out = np.empty_like(X)

        def piece(rows: slice) -> None:
            diag_minus_matmul_rows(M.indptr, M.indices, M.data, diagonal, X, out, rows.start, rows.stop)

        in_threads(piece, pieces_of(len(X), M.nnz * X.shape[1]))
        return out

    def cg_update(self, X: Floats, R: Floats, D: Floats, MD: Floats, step: Floats) -> tuple[Floats, Floats]:
        """As ``Engine.cg_update``, in one compiled pass."""
        in_threads(
            lambda rows: cg_update_rows(X, R, D, MD, step, rows.start, rows.stop),
            pieces_of(len(X), ARRAYS_OF_A_STEP * X.size),
        )
        return X, R

    def cg_direction(self, D: Floats, Z: Floats, ratio: Floats) -> Floats:
        """As ``Engine.cg_direction``, in one compiled pass."""
        in_threads(
            lambda rows: cg_direction_rows(D, Z, ratio, rows.start, rows.stop),
            pieces_of(len(D), ARRAYS_OF_A_STEP * D.size),
        )
        return D

    def chebyshev(self, S: Operator, X: Floats, degree: int, low: float, cut: float, high: float) -> Floats:
        """The recurrence of ``Engine.chebyshev`` in one compiled loop, by groups of columns or pieces of rows."""
        assert isinstance(S, NumpyOperator)
        return chebyshev_filter(S.matrix, X, degree, low, cut, high)


NUMPY = NumpyEngine()
