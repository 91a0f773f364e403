"""The rows of the graph trend filter: one array of edges times columns, updated in one pass."""

from __future__ import annotations

from collections.abc import Callable
from itertools import pairwise
from typing import Any

import numpy as np

from siis._types import Floats
from siis.graph import Graph
from siis.kernels import PIECES, edge_norms, edge_pull, edge_step
from siis.rows import group_norms, shrink_factors
from siis.threads import in_threads

WORTH_PIECES = 500_000  # numbers in N, below which one piece is faster


class EdgeRows:
    """N, one row for each edge and a group of columns for each program, with the factors f that shrink it: Q = f N.

    The edges are cut into pieces by their heads; each piece adds to its own copy of the result, and the copies are
    summed in order: the answer does not depend on the number of threads.

    Parameters
    ----------
    graph : Graph
    n_groups, c : int
    dtype : type
    """

    def __init__(self, graph: Graph, n_groups: int, c: int, dtype: Any) -> None:
        edges = graph.edges
        self.n, self.dtype = graph.n_vertices, dtype
        self.arrays = edges.first, edges.tails, edges.weights.astype(dtype)
        self.N = np.zeros((graph.n_edges, n_groups * c), dtype)
        self.f = np.zeros((graph.n_edges, n_groups), dtype)
        self.p = np.ones(graph.n_edges, dtype)
        n_pieces = PIECES if self.N.size > WORTH_PIECES else 1
        shares = np.linspace(0, graph.n_edges, n_pieces + 1)
        heads = np.searchsorted(edges.first, shares, side="left")
        heads[0], heads[-1] = 0, self.n
        self.pieces = [(int(a), int(b)) for a, b in pairwise(heads) if a < b]

    def set_penalties(self, p: Floats, gamma: float) -> None:
        """Take penalties p, shape (E,), and shrink: f = max(1 - gamma / (p ||N||), 0)."""
        self.p = p.astype(self.dtype)
        norms = group_norms(self.N, self.f.shape[1])
        self.f = shrink_factors(norms, gamma / self.p[:, None]).astype(self.dtype)

    def step(self, F: Floats, gamma: float, relaxation: float) -> Floats:
        """N = relaxation P F + (1 - relaxation f) N, shrink, and give P' p (2 f - 1) N, shape (n, k c)."""
        kind = self.dtype
        first, tails, weights = self.arrays
        F = np.ascontiguousarray(F)

        def piece(out: Floats, a: int, b: int) -> None:
            edge_step(first, tails, weights, self.p, kind(gamma), kind(relaxation), F, self.N, self.f, out, a, b)

        return self._gathered(piece)

    def pull(self, slope: float, offset: float) -> Floats:
        """P' p (slope f + offset) N, shape (n, k c)."""
        kind = self.dtype
        first, tails, weights = self.arrays

        def piece(out: Floats, a: int, b: int) -> None:
            edge_pull(first, tails, weights, self.p, self.f, kind(slope), kind(offset), self.N, out, a, b)

        return self._gathered(piece)

    def norms(self, F: Floats) -> Floats:
        """Row norms of P F in each group, shape (E, k)."""
        out = np.empty(self.f.shape, self.dtype)
        first, tails, weights = self.arrays
        F = np.ascontiguousarray(F)
        in_threads(lambda piece: edge_norms(first, tails, weights, F, out, *piece), self.pieces)
        return out.astype(np.float64)

    def rescale(self, ratio: Floats) -> None:
        """N = Q + multiplier / q with q = p / ratio: Q and the multipliers stay while penalties change."""
        c = self.N.shape[1] // self.f.shape[1]
        for g in range(self.f.shape[1]):
            factor = self.f[:, g] + (1 - self.f[:, g]) * ratio
            self.N[:, g * c : (g + 1) * c] *= factor.astype(self.dtype)[:, None]

    def multipliers(self, g: int) -> Floats:
        """Give the multipliers p (1 - f) N of one group, shape (E, c)."""
        c = self.N.shape[1] // self.f.shape[1]
        factor = self.p * (1 - self.f[:, g])
        return np.asarray(factor[:, None] * self.N[:, g * c : (g + 1) * c], dtype=np.float64)

    def taken(self, g: int, scale: float) -> Floats:
        """The multipliers of one group times a factor, in the place of N, which is of no use afterwards."""
        c = self.N.shape[1] // self.f.shape[1]
        rows = self.N[:, g * c : (g + 1) * c]
        rows *= (scale * self.p * (1 - self.f[:, g])).astype(self.dtype)[:, None]
        return rows

    def _gathered(self, work: Callable[[Floats, int, int], None]) -> Floats:
        """Sum what the pieces add to the vertices; edges of heads a, a + 1, ... have no end before a."""
        width = self.N.shape[1]

        def piece(heads: tuple[int, int]) -> Floats:
            out = np.zeros((self.n - heads[0], width), self.dtype)
            work(out, *heads)
            return out

        parts = in_threads(piece, self.pieces)
        total = parts[0] if parts else np.zeros((self.n, width), self.dtype)
        for (a, _), part in zip(self.pieces[1:], parts[1:], strict=True):
            total[a:] += part
        return total
