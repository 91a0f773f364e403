"""A graph whose vertices lie in several places: the part that one shard knows."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from itertools import pairwise

import numpy as np
import scipy.sparse as sp
from scipy.sparse.csgraph import connected_components

from siis._types import Floats, Ints, Sparse
from siis.engine.group import Group
from siis.engine.sharded import Halo
from siis.graph.graph import NEGLIGIBLE, ONE_SIDED_SHARE, Edges, Graph


@dataclass(frozen=True, eq=False)
class GraphShard(Graph):
    """Vertices of one shard, their edges, and the vertices of others at the far ends of these.

    It has the face of a Graph, for the vertices here; vertices of all shards have numbers that follow each other.

    Attributes
    ----------
    weights : csr_array of shape (n, n + h)
        Of the vertices here, to these and to h vertices of others.
    halo : Halo
        Where those lie.
    first : int
        Number of the first vertex here among all.
    others : ndarray of shape (h,)
        Numbers of the others, ascending.
    degrees_of_others : ndarray of shape (h,)
    part : ndarray of shape (n,)
        The connected component of each vertex, numbered by first vertices among all.
    n_parts : int
        How many components there are in all.
    """

    halo: Halo
    first: int
    others: Ints
    degrees_of_others: Floats
    part: Ints
    n_parts: int

    def __post_init__(self) -> None:
        pass  # built from parts that were checked

    @property
    def component(self) -> Ints:
        """The connected component of each vertex here, numbered by first vertices among all."""
        return self.part

    @property
    def n_components(self) -> int:
        """Number of connected components of the whole graph."""
        return self.n_parts

    @property
    def n_edges(self) -> int:
        """Edges of which the first end is here."""
        return int(self.edges.tails.size)

    @cached_property
    def numbers(self) -> Ints:
        """Numbers among all of the vertices here and of the others."""
        return np.concatenate([self.first + np.arange(self.n_vertices), self.others])

    @property
    def degree_sums(self) -> Floats:
        """d_i + d_j for each stored entry of the weights."""
        every = np.concatenate([self.degrees, self.degrees_of_others])
        rows = np.repeat(np.arange(self.n_vertices), np.diff(self.weights.indptr))
        return np.asarray(every[rows] + every[self.weights.indices])

    @cached_property
    def laplacian(self) -> Sparse:
        """D - W, shape (n, n + h)."""
        n = self.n_vertices
        diagonal = sp.csr_array((self.degrees, np.arange(n), np.arange(n + 1)), shape=self.weights.shape)
        return sp.csr_array(diagonal - self.weights)

    @cached_property
    def edges(self) -> Edges:
        """Edges of which the first end is here; the number of an entry's edge is known of none."""
        W, n = self.weights, self.n_vertices
        rows = np.repeat(np.arange(n), np.diff(W.indptr))
        is_first = self.numbers[W.indices] > self.first + rows
        first = np.concatenate([[0], np.cumsum(np.bincount(rows[is_first], minlength=n))]).astype(W.indptr.dtype)
        return Edges(first, W.indices[is_first], W.data[is_first], np.zeros(0, dtype=np.int64))

    @cached_property
    def incidence(self) -> Sparse:
        """P, shape (E, n + h): rows of the edges of which the first end is here."""
        edges = self.edges
        entries = np.column_stack([edges.weights, -edges.weights]).ravel()
        columns = np.column_stack([edges.heads, edges.tails]).ravel()
        indptr = np.arange(0, 2 * self.n_edges + 1, 2)
        return sp.csr_array((entries, columns, indptr), shape=(self.n_edges, self.halo.n_rows))


def shard_of(group: Group, W: Sparse, bounds: Ints) -> GraphShard:
    """Give a shard its part of a graph; all shards must call it at once.

    Parameters
    ----------
    group : Group
    W : csr_array of shape (n, N)
        Symmetric weights of the vertices here to all.
    bounds : ndarray of shape (size + 1,)
        Number of the first vertex of each shard, and of all.

    Returns
    -------
    GraphShard
    """
    first, last = int(bounds[group.rank]), int(bounds[group.rank + 1])
    n = last - first
    is_own = (W.indices >= first) & (W.indices < last)
    others = np.unique(W.indices[~is_own])
    columns = np.where(is_own, W.indices - first, n + np.searchsorted(others, W.indices))
    local = sp.csr_array((W.data, columns.astype(np.int32), W.indptr), shape=(n, n + others.size))
    local.sort_indices()
    halo = halo_of(group, others, bounds)
    degrees = np.asarray(local.sum(axis=1)).ravel()
    far = np.zeros(others.size)
    _fetch(group, halo, degrees, far)
    component, n_parts = _components(group, local, halo)
    return GraphShard(local, halo, first, others, far, component, n_parts)


def halo_of(group: Group, others: Ints, bounds: Ints) -> Halo:
    """Tell the other shards which of their rows are needed here, and learn which of these they need.

    Parameters
    ----------
    group : Group
    others : ndarray of shape (h,)
        Numbers of rows of others, ascending.
    bounds : ndarray of shape (size + 1,)

    Returns
    -------
    Halo
    """
    ends = np.searchsorted(others, bounds)
    asked = group.swap([others[a:b] - bounds[rank] for rank, (a, b) in enumerate(pairwise(ends))])
    n = int(bounds[group.rank + 1] - bounds[group.rank])
    fetched = {rank: slice(n + int(a), n + int(b)) for rank, (a, b) in enumerate(pairwise(ends)) if b > a}
    return Halo(n, {rank: rows for rank, rows in enumerate(asked) if rows.size and rank != group.rank}, fetched)


def joined_rows(group: Group, indices: Ints, weights: Floats, bounds: Ints, kind: str) -> Sparse:
    """Make directed neighbourhoods of the vertices here rows of a symmetric matrix.

    Parameters
    ----------
    group : Group
    indices : ndarray of shape (n, K)
        Numbers of neighbours; -1 where a place is empty.
    weights : ndarray of shape (n, K)
    bounds : ndarray of shape (size + 1,)
    kind : {"union", "mutual"}

    Returns
    -------
    csr_array of shape (n, N)
    """
    first, n, n_all = int(bounds[group.rank]), len(indices), int(bounds[-1])
    rows = np.repeat(np.arange(n), indices.shape[1])
    heads, tails, values = first + rows, indices.ravel(), weights.ravel()
    named = tails >= 0
    heads, tails, values = heads[named], tails[named], values[named]
    directed = sp.csr_array((values, (heads - first, tails)), shape=(n, n_all))
    order = np.argsort(tails, kind="stable")
    ends = np.searchsorted(tails[order], bounds)
    parts = [order[a:b] for a, b in pairwise(ends)]
    pairs = group.swap([np.stack([heads[part], tails[part]]) for part in parts])
    given = group.swap([values[part] for part in parts])
    heads, tails = np.concatenate(pairs, axis=1)
    back = sp.csr_array((np.concatenate(given), (tails - first, heads)), shape=(n, n_all))
    union = directed.maximum(back)
    if kind == "mutual":
        union = sp.csr_array(ONE_SIDED_SHARE * union + (1 - ONE_SIDED_SHARE) * directed.minimum(back))
    largest = group.joined(float(union.data.max(initial=0.0)), max)
    union.data[union.data <= NEGLIGIBLE * largest] = 0.0
    union.eliminate_zeros()
    union.sort_indices()
    return sp.csr_array(union)


def _fetch(group: Group, halo: Halo, own: Floats, into: Floats) -> None:
    """Values at the vertices of others."""
    parts = {rank: own[rows] for rank, rows in halo.sent.items()}
    for rank, part in group.exchange(parts, list(halo.fetched)).items():
        place = halo.fetched[rank]
        into[place.start - halo.n_own : place.stop - halo.n_own] = part


def _components(group: Group, W: Sparse, halo: Halo) -> tuple[Ints, int]:
    """Components here, joined by the edges between shards; numbered by their first vertices."""
    n = W.shape[0]
    k, own = connected_components(W[:, :n], directed=False)
    _, earliest = np.unique(own, return_index=True)
    rank = np.empty(k, dtype=np.int64)
    rank[np.argsort(earliest, kind="stable")] = np.arange(k)
    counts = group.gather(int(k))
    own = rank[own] + sum(counts[: group.rank])
    far = np.zeros(W.shape[1] - n)
    _fetch(group, halo, own.astype(np.float64), far)
    across = W[:, n:].tocoo()
    pairs = np.unique(np.stack([own[across.row], far[across.col].astype(np.int64)], axis=1), axis=0)
    every = np.concatenate(group.gather(pairs))
    total = sum(counts)
    joint = sp.csr_array((np.ones(len(every)), (every[:, 0], every[:, 1])), shape=(total, total))
    _, label = connected_components(joint, directed=False)
    _, place, number = np.unique(label, return_index=True, return_inverse=True)
    in_order = np.empty(place.size, dtype=np.int64)
    in_order[np.argsort(place, kind="stable")] = np.arange(place.size)
    return in_order[number[own]], int(place.size)
