"""The graph: symmetric, non-negative, zero diagonal, checked when it is built."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np
import scipy.sparse as sp

from siis._types import Bools, Floats, Ints, Sparse
from siis.engine import NUMPY, Engine
from siis.engine.loops import components, number_edges
from siis.graph.neighbors import Neighbors

SMALLEST, LARGEST = 1e-100, 1e100  # beyond, squares leave double precision
NEGLIGIBLE = 1e-12  # times the largest weight: equal to no edge in double precision
ASYMMETRY = 1e-10  # times the largest weight: rounding, averaged away
ONE_SIDED_SHARE = 0.01  # of its weight, kept by an edge that is not mutual


@dataclass(frozen=True, eq=False)
class Edges:
    """Undirected edges i < j, sorted by i, then j."""

    first: Ints  # (n + 1,), the edges of head i are first[i] to first[i + 1] - 1
    tails: Ints  # (E,), j
    weights: Floats  # (E,)
    entries: Ints  # (2 E,), the edge of each stored entry of the matrix of weights

    @cached_property
    def heads(self) -> Ints:
        """The smaller end i of each edge, shape (E,)."""
        return np.repeat(np.arange(self.first.size - 1, dtype=self.tails.dtype), np.diff(self.first))


@dataclass(frozen=True, eq=False)
class Graph:
    """An undirected, weighted graph.

    Attributes
    ----------
    weights : csr_array of shape (n, n)
        W: symmetric, non-negative, zero diagonal. Weights below 1e-12 of the largest are no edges.
    """

    weights: Sparse

    def __post_init__(self) -> None:
        W = sp.csr_array(self.weights, dtype=np.float64)
        if W.shape[0] != W.shape[1]:
            raise ValueError(f"a graph must be a square matrix; found shape {W.shape}")
        if not np.isfinite(W.data).all():
            raise ValueError("weights must be finite; found NaN or infinity. Remove these edges.")
        if (W.data < 0).any():
            raise ValueError(
                f"weights must be non-negative; the smallest is {W.data.min():.3g}. Use similarities, not distances."
            )
        if (W.diagonal() != 0).any():
            raise ValueError(
                f"the diagonal must be zero; {np.count_nonzero(W.diagonal())} entries are not. "
                "Remove the loops: W.setdiag(0), or np.fill_diagonal(W, 0)."
            )
        largest = W.data.max(initial=0.0)
        if largest and not SMALLEST <= largest <= LARGEST:
            raise ValueError(
                f"the largest weight must lie in {SMALLEST:g}..{LARGEST:g}; found {largest:.3g}. Rescale."
            )
        asymmetry = abs(W - W.T).max() if W.nnz else 0.0
        if asymmetry > ASYMMETRY * largest:
            raise ValueError(
                f"weights must be symmetric; max |W - W'| = {asymmetry:.1e}. Symmetrise with W.maximum(W.T), or "
                "np.maximum(W, W.T)."
            )
        self._take(sp.csr_array((W + W.T) / 2))

    def _take(self, W: Sparse) -> None:
        """Store valid weights without negligible ones."""
        negligible = W.data <= NEGLIGIBLE * W.data.max(initial=0.0)
        if negligible.any():
            W = W.copy()
            W.data[negligible] = 0.0
            W.eliminate_zeros()
        W.sort_indices()
        for part in (W.data, W.indices, W.indptr):
            part.flags.writeable = False  # shared by everything that is built on the graph
        object.__setattr__(self, "weights", W)

    @classmethod
    def symmetric(cls, W: Sparse) -> Graph:
        """A graph of weights that are symmetric, non-negative and 0 on the diagonal by construction.

        W, (n, n), is in double precision; its arrays are kept and become read-only.
        """
        graph = object.__new__(cls)
        graph._take(W)
        return graph

    @property
    def n_vertices(self) -> int:
        """Number of vertices, n."""
        return int(self.weights.shape[0])

    @property
    def n_edges(self) -> int:
        """Number of undirected edges, E."""
        return int(self.weights.nnz // 2)

    @cached_property
    def degrees(self) -> Floats:
        """Sum of the weights at each vertex, shape (n,)."""
        return np.asarray(self.weights.sum(axis=1), dtype=np.float64)

    @property
    def degree_sums(self) -> Floats:
        """d_i + d_j for each stored entry of the weights, shape (2 E,)."""
        rows = np.repeat(np.arange(self.n_vertices), np.diff(self.weights.indptr))
        return np.asarray(self.degrees[rows] + self.degrees[self.weights.indices])

    @cached_property
    def laplacian(self) -> Sparse:
        """L = D - W, shape (n, n)."""
        return sp.csr_array(sp.diags_array(self.degrees) - self.weights)

    @cached_property
    def edges(self) -> Edges:
        """The edges i < j, each once."""
        W, E = self.weights, self.n_edges
        first, entries = np.empty_like(W.indptr), np.empty(W.nnz, dtype=W.indptr.dtype)
        tails, weights = np.empty(E, dtype=W.indices.dtype), np.empty(E)
        number_edges(W.indptr, W.indices, W.data, first, tails, weights, entries)
        return Edges(first, tails, weights, entries)

    @cached_property
    def incidence(self) -> Sparse:
        """P, the paper's (1), shape (E, n), of a shard (E, n + h): w_ij (e_i - e_j) for edge (i, j), i < j."""
        edges = self.edges
        entries = np.column_stack([edges.weights, -edges.weights]).ravel()
        columns = np.column_stack([edges.heads, edges.tails]).ravel()
        indptr = np.arange(0, 2 * self.n_edges + 1, 2)
        return sp.csr_array((entries, columns, indptr), shape=(self.n_edges, self.weights.shape[1]))

    @cached_property
    def component(self) -> Ints:
        """The connected component of each vertex, shape (n,), numbered from 0."""
        return components_of(self.weights)

    @property
    def n_components(self) -> int:
        """Number of connected components."""
        return int(self.component.max(initial=-1)) + 1

    def reached_from(self, vertices: Ints) -> Bools:
        """Whether each vertex lies in a component of one of the given vertices, shape (n,)."""
        return np.isin(self.component, self.component[vertices])

    def subgraph(self, keep: Bools) -> Graph:
        """The graph of some vertices, by a mask of shape (n,)."""
        return self if keep.all() else Graph.symmetric(self.weights[keep][:, keep])


def components_of(W: Sparse) -> Ints:
    """Number the connected components of a symmetric matrix by their first vertices."""
    return components(W.indptr, W.indices)  # type: ignore[no-any-return]


def join(neighbors: Neighbors, weights: Floats, kind: str = "union", engine: Engine = NUMPY) -> Sparse:
    """Make directed neighbourhoods with weights, (n, K), a symmetric matrix, (n, n).

    "union" keeps an edge where either end names the other; "mutual" gives edges that only one end names 1 % of their
    weight, so that the graph stays connected.
    """
    if engine.search is not None:
        union, smallest = engine.search.pairs(neighbors.indices, weights)
        if kind == "mutual":
            union.data = ONE_SIDED_SHARE * union.data + (1 - ONE_SIDED_SHARE) * smallest
        return union
    n, k = neighbors.indices.shape
    indptr = np.arange(0, n * k + 1, k)
    directed = sp.csr_array((weights.ravel(), neighbors.indices.ravel(), indptr), shape=(n, n))
    union = directed.maximum(directed.T)
    if kind == "union":
        return union
    return sp.csr_array(ONE_SIDED_SHARE * union + (1 - ONE_SIDED_SHARE) * directed.minimum(directed.T))
