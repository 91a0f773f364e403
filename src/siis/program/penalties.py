"""Penalties: weighted sums of a norm of rows, each with its value, its proximal map and its dual ball.

Another penalty of the edges is one more class here and one argument, ``Program(..., edge_penalty=Another)``.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import Any

from siis.engine import Engine
from siis.engine.edges import EdgeRows, WeightedEdges
from siis.engine.rows import row_norms
from siis.engine.types import Array, Namespace, Precision


@dataclass(frozen=True, eq=False)
class Penalty(ABC):
    """sum_i weight_i ||N_i|| for rows N_i of any array N, (..., c), of the library with the functions ``xp``."""

    weight: Any  # a number, or one for each row
    xp: Namespace

    @abstractmethod
    def norms(self, N: Array) -> Array:
        """||N_i|| of each row, shape (...)."""

    @abstractmethod
    def prox_factors(self, N: Array, threshold: Array | float) -> Array:
        """The factors f, (..., 1) or (..., c), with f N = argmin_Q threshold ||Q|| + ||Q - N||^2 / 2 in each row."""

    @abstractmethod
    def dual_norms(self, V: Array) -> Array:
        """The dual norm of each row, shape (...): the penalty's dual ball holds V if none exceeds the weight."""

    @abstractmethod
    def project(self, V: Array) -> Array:
        """The nearest point of the dual ball."""

    def value(self, norms: Array) -> float:
        """The penalty of rows with these norms."""
        if isinstance(self.weight, float | int):
            return self.weight * float(self.xp.sum(norms))
        return float(self.xp.sum(self.weight * norms))

    def prox(self, N: Array, threshold: Array | float) -> Array:
        """S_t(N), the proximal map of t ||.||."""
        return self.prox_factors(N, threshold) * N

    def largest_feasible_scale(self, V: Array) -> float:
        """The largest s with s V in the dual ball."""
        xp, norms = self.xp, self.dual_norms(V)
        live = norms > 0
        return float(xp.min(xp.where(live, self.weight / xp.where(live, norms, 1.0), float("inf"))))

    def edge_rows(self, engine: Engine, graph: WeightedEdges, n_groups: int, c: int, dtype: Precision) -> EdgeRows:
        """The rows that ADMM keeps at the edges, with a factor for each entry."""
        rows = EdgeRows(engine, graph, n_groups, c, dtype)
        rows.f = engine.zeros(rows.N.shape, dtype)
        return rows

    def edge_norms(self, rows: EdgeRows, F: Array) -> Array:
        """Norms of the rows of P F in each group, shape (E, n_groups)."""
        return self.norms(self.xp.reshape(rows.differences(F), rows.N.shape))


class RowNorm(Penalty):
    """The (2,1) norm of the paper's graph trend filtering term (weight gamma) and fidelity term (weight alpha)."""

    def norms(self, N: Array) -> Array:
        """Euclidean norms."""
        return row_norms(N, self.xp)

    def prox_factors(self, N: Array, threshold: Array | float) -> Array:
        """max(1 - t / ||N_i||, 0), and 0 where N_i = 0: row shrinkage, the paper's (9) and (12)."""
        xp, norms = self.xp, row_norms(N, self.xp)
        positive = norms > 0
        factors = xp.where(positive, xp.clip(1 - threshold / xp.where(positive, norms, 1.0), 0.0, None), 0.0)
        return factors[..., None]

    def dual_norms(self, V: Array) -> Array:
        """Euclidean norms: the norm is its own dual."""
        return row_norms(V, self.xp)

    def project(self, V: Array) -> Array:
        """Shorten rows to the weight."""
        xp = self.xp
        return V * xp.clip(self.weight / xp.clip(row_norms(V, xp), 1e-300, None), None, 1.0)[..., None]

    def edge_rows(self, engine: Engine, graph: WeightedEdges, n_groups: int, c: int, dtype: Precision) -> EdgeRows:
        """The rows with the engine's own pass over the edges."""
        return engine.edge_rows(graph, n_groups, c, dtype)

    def edge_norms(self, rows: EdgeRows, F: Array) -> Array:
        """By the engine's own pass."""
        return rows.norms(F)
