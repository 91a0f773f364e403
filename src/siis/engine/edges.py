"""The rows of the graph trend filter: one array of edges times columns, updated along the edges."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any, Protocol

import numpy as np

from siis._types import Floats, Sparse
from siis.engine.lazy import cached_property
from siis.engine.rows import group_norms
from siis.engine.types import Array, Precision

if TYPE_CHECKING:
    from siis.engine.base import Engine, Operator


class WeightedEdges(Protocol):
    """The parts of a graph that the rows need."""

    @property
    def n_vertices(self) -> int:
        """Number of vertices, n."""

    @property
    def n_edges(self) -> int:
        """Number of edges, E."""

    @property
    def weights(self) -> Sparse:
        """W, shape (n, n)."""

    @property
    def degrees(self) -> Floats:
        """Sums of the rows of W, shape (n,)."""

    @property
    def degree_sums(self) -> Floats:
        """d_i + d_j for each stored entry of W."""

    @property
    def laplacian(self) -> Sparse:
        """D - W, shape (n, n)."""

    @property
    def incidence(self) -> Sparse:
        """P, shape (E, n)."""

    @property
    def edges(self) -> Any:
        """Heads, tails and weights of the edges."""


class EdgeMatrix:
    """Symmetric matrices whose entries are at the edges of one graph."""

    def __init__(self, engine: Engine, graph: WeightedEdges, dtype: Precision) -> None:
        self.engine, self.graph, self.dtype = engine, graph, dtype
        self.prepare()

    def prepare(self) -> None:
        """Bring the pattern to the engine."""
        self.pattern = self.engine.operator(self.graph.weights, self.dtype)

    @cached_property
    def squares(self) -> Array:
        """Squares of the graph's weights, shape (E,), in double precision."""
        return self.engine.asarray(self.graph.edges.weights**2, np.float64)

    def __call__(self, values: Array) -> tuple[Operator, Array]:
        """Give the matrix with a value at each edge, shape (E,), and the sums of its rows, shape (n,)."""
        entries = self.engine.take(values, self.graph.edges.entries, 0)
        edges, n, host = self.graph.edges, self.graph.n_vertices, self.engine.numpy(values)
        sums = np.bincount(edges.heads, host, n) + np.bincount(edges.tails, host, n)
        return self.pattern.with_entries(entries), self.engine.asarray(sums, np.float64)


class EdgeRows:
    """Rows N, (E, n_groups, c), with factors f, (E, n_groups, 1), Q = f N, and penalty parameters p, (E,).

    A ``penalty`` is one of ``siis.program.penalties``.
    """

    def __init__(self, engine: Engine, graph: WeightedEdges, n_groups: int, c: int, dtype: Precision) -> None:
        self.engine, self.dtype = engine, dtype
        self.N = self.zeros((graph.n_edges, n_groups, c))
        self.f = engine.zeros((graph.n_edges, n_groups, 1), dtype)
        self.p = engine.zeros((graph.n_edges,), dtype)
        self.prepare(graph)

    def zeros(self, shape: tuple[int, ...]) -> Array:
        """Memory for N."""
        return self.engine.zeros(shape, self.dtype)

    def prepare(self, graph: WeightedEdges) -> None:
        """Bring the edges and P' to the engine."""
        edges, engine = graph.edges, self.engine
        self.ends = [engine.asarray(ends, np.int64) for ends in (edges.heads, edges.tails)]
        self.weights = engine.asarray(edges.weights, self.dtype)[:, None]
        self.PT = engine.operator(graph.incidence, self.dtype).T

    def differences(self, F: Array) -> Array:
        """P F: w (F_i - F_j) along the edges, shape (E, k c)."""
        heads, tails = (self.engine.xp.take(F, ends, axis=0) for ends in self.ends)
        return self.weights * (heads - tails)

    def set_penalties(self, p: Array, penalty: Any) -> None:
        """Take penalty parameters p, shape (E,), and shrink."""
        self.p = self.engine.asarray(p, self.dtype)
        self._shrink(penalty)

    def step(self, F: Array, penalty: Any, relaxation: float) -> Array:
        """N = relaxation P F + (1 - relaxation f) N, shrink, and give P' p (2 f - 1) N, shape (n, k c)."""
        PF = self.engine.xp.reshape(self.differences(F), self.N.shape)
        self.N = self.engine.keep(relaxation * PF + (1 - relaxation * self.f) * self.N)
        self._shrink(penalty)
        return self.divergence(2.0, -1.0)

    def divergence(self, slope: float, offset: float) -> Array:
        """P' p (slope f + offset) N, shape (n, k c)."""
        flow = self.p[:, None, None] * (slope * self.f + offset) * self.N
        return self.PT @ self.engine.xp.reshape(flow, (flow.shape[0], flow.shape[1] * flow.shape[2]))

    def norms(self, F: Array) -> Array:
        """Euclidean row norms of P F in each group, shape (E, k), in double precision."""
        norms = group_norms(self.differences(F), self.N.shape[1], self.engine.xp)
        return self.engine.asarray(norms, np.float64)

    def edge_slices(self) -> Iterator[slice]:
        """The edges, piece by piece; here all at once."""
        yield slice(None)

    def rescale(self, ratio: Array) -> None:
        """N = Q + multiplier / q with q = p / ratio: Q and the multipliers stay while p becomes q."""
        for some in self.edge_slices():
            f = self.f[some, ...]
            self.N[some, ...] *= f + (1 - f) * self.engine.asarray(ratio[some], self.dtype)[:, None, None]

    def set_rows(self, N: Array) -> None:
        """Take N, shape (E, k c)."""
        for some in self.edge_slices():
            rows = self.engine.asarray(N[some, ...], self.dtype)
            self.N[some, ...] = self.engine.xp.reshape(rows, (rows.shape[0], *self.N.shape[1:]))

    def multipliers(self, g: int) -> Array:
        """Give the multipliers p (1 - f) N of one group, shape (E, c), in double precision."""
        return self.engine.asarray(self.p[:, None] * (1 - self.f[:, g, :]) * self.N[:, g, :], np.float64)

    def final_multipliers(self, g: int, scale: float) -> Array:
        """The multipliers of one group times a factor, in the place of N, which is of no use afterwards."""
        for some in self.edge_slices():
            self.N[some, g, :] *= scale * self.p[some][:, None] * (1 - self.f[some, g, :])
        return self.N[:, g, :]

    def _shrink(self, penalty: Any) -> None:
        """Set f for the rows N: the proximal map of the penalty over p.  (M2)."""
        for some in self.edge_slices():
            self.f[some, ...] = penalty.prox_factors(self.N[some, ...], penalty.weight / self.p[some][:, None])
