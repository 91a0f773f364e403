"""A sharded graph: the part of one shard."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from itertools import pairwise
from typing import Any

import numpy as np
import scipy.sparse as sp
from scipy.sparse.csgraph import connected_components

from siis._types import Floats, Ints, Sparse
from siis.engine.group import Group
from siis.engine.loops import components, count_first_ends, less_weights, row_sums, take_first_ends
from siis.engine.sharded import Halo
from siis.graph.graph import NEGLIGIBLE, ONE_SIDED_SHARE, Edges, Graph
from siis.graph.lists import drop_small, symmetric_rows

ENTRIES_AT_ONCE = 2**21  # entries that are looked at together


@dataclass(frozen=True, eq=False)
class GraphShard(Graph):
    """The vertices of one shard, numbered consecutively, their edges, and the other shards' vertices at these."""

    halo: Halo  # where those lie
    first: int  # number of the first vertex here among all
    others: Ints  # (h,), numbers of the others, ascending
    degrees_of_others: Floats  # (h,)
    part: Ints  # (n,), the connected component of each vertex, numbered by first vertices among all
    n_parts: int  # how many components there are in all

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
        """Global numbers of the vertices here, then of the others."""
        return np.concatenate([self.first + np.arange(self.n_vertices), self.others])

    @property
    def degree_sums(self) -> Floats:
        """d_i + d_j for each stored entry of the weights."""
        every = np.concatenate([self.degrees, self.degrees_of_others])
        rows = np.repeat(np.arange(self.n_vertices, dtype=np.int32), np.diff(self.weights.indptr))
        sums = every[rows]
        sums += every[self.weights.indices]
        return np.asarray(sums)

    @cached_property
    def degrees(self) -> Floats:
        """Sum of the weights at each vertex here, shape (n,)."""
        return row_sums(self.weights.indptr, self.weights.data)  # type: ignore[no-any-return]

    @property
    def laplacian(self) -> Sparse:
        """D - W, shape (n, n + h), in the precision of W; not cached: it is as large as W."""
        W = self.weights
        indptr = W.indptr + np.arange(W.indptr.size, dtype=W.indptr.dtype)
        indices, data = np.empty(indptr[-1], W.indices.dtype), np.empty(indptr[-1], W.dtype)
        less_weights(W.indptr, W.indices, W.data, self.degrees, indices, data)
        return sp.csr_array((data, indices, indptr), shape=W.shape)

    @cached_property
    def edges(self) -> Edges:
        """Edges of which the first end is here; ``entries`` is empty."""
        W, numbers = self.weights, self.numbers
        first = np.zeros_like(W.indptr)
        count_first_ends(W.indptr, W.indices, numbers, first)
        tails, weights = np.empty(first[-1], W.indices.dtype), np.empty(first[-1], W.dtype)
        take_first_ends(W.indptr, W.indices, W.data, numbers, tails, weights)
        return Edges(first, tails, weights, np.zeros(0, dtype=np.int64))


def build_shard(group: Group, W: Sparse, bounds: Ints) -> GraphShard:
    """One shard's part of W: (n, N), all shards at once; bounds: (size + 1,), first numbers of the shards, and N."""
    first, last = int(bounds[group.rank]), int(bounds[group.rank + 1])
    n, others = last - first, np.zeros(0, dtype=W.indices.dtype)
    for part in _pieces(W.indices):
        others = np.union1d(others, part[(part < first) | (part >= last)])
    columns = np.empty(W.indices.size, np.int32)
    for part, out in zip(_pieces(W.indices), _pieces(columns), strict=True):
        is_own = (part >= first) & (part < last)
        out[:] = np.where(is_own, part - first, n + np.searchsorted(others, part))
    local = sp.csr_array((W.data, columns, W.indptr), shape=(n, n + others.size))
    local.sort_indices()
    others = others.astype(np.int64)
    halo = build_halo(group, others, bounds)
    component, n_parts = _components(group, local, halo)
    graph = GraphShard(local, halo, first, others, np.zeros(others.size), component, n_parts)
    _fetch(group, halo, graph.degrees, graph.degrees_of_others)
    return graph


def _pieces(entries: Any) -> list[Any]:
    """Cut an array into pieces that take little memory."""
    return [entries[a : a + ENTRIES_AT_ONCE] for a in range(0, entries.size, ENTRIES_AT_ONCE)]


def build_halo(group: Group, others: Ints, bounds: Ints) -> Halo:
    """Exchange with the other shards which rows each needs of the others. others: (h,)."""
    ends = np.searchsorted(others, bounds)
    requested = group.alltoall([others[a:b] - bounds[rank] for rank, (a, b) in enumerate(pairwise(ends))])
    n = int(bounds[group.rank + 1] - bounds[group.rank])
    fetched = {rank: slice(n + int(a), n + int(b)) for rank, (a, b) in enumerate(pairwise(ends)) if b > a}
    return Halo(n, {rank: rows for rank, rows in enumerate(requested) if rows.size and rank != group.rank}, fetched)


def symmetric_weights(group: Group, indices: Ints, weights: Floats, bounds: Ints, kind: str) -> Sparse:
    """Symmetric rows here, (n, N), of directed neighbours: indices (global, -1 if empty) and weights, (n, K)."""
    first, last = int(bounds[group.rank]), int(bounds[group.rank + 1])
    n = last - first
    given = [_named(indices, weights, first, int(a), int(b)) for a, b in pairwise(bounds)]
    given[group.rank] = _named(indices, weights, first, 0, 0)  # those are found in the lists
    pairs = group.alltoall([pair for pair, _ in given])
    values = np.concatenate(group.alltoall([value for _, value in given]))
    tails, heads = np.concatenate(pairs, axis=1)
    one_sided = ONE_SIDED_SHARE if kind == "mutual" else 1.0
    entries = symmetric_rows(indices, weights, first, heads - first, tails, values, one_sided)
    largest = group.allreduce(float(entries[2].max(initial=0.0)), max)
    indptr, columns, data = drop_small(*entries, NEGLIGIBLE * largest)
    if data.size < np.iinfo(np.int32).max:
        indptr = indptr.astype(np.int32)
    return sp.csr_array((data, columns, indptr), shape=(n, int(bounds[-1])))


def _named(indices: Ints, weights: Floats, first: int, a: int, b: int) -> tuple[Ints, Floats]:
    """Pairs of a vertex here and a neighbour in a..b - 1, shape (2, r), and their weights."""
    rows, places = np.nonzero((indices >= a) & (indices < b))
    return np.stack([first + rows, indices[rows, places]]).astype(np.int64, copy=False), weights[rows, places]


def _fetch(group: Group, halo: Halo, own: Floats, into: Floats) -> None:
    """Fetch values at the vertices of other shards."""
    parts = {rank: own[rows] for rank, rows in halo.sent.items()}
    for rank, part in group.neighbor_exchange(parts, list(halo.fetched)).items():
        place = halo.fetched[rank]
        into[place.start - halo.n_own : place.stop - halo.n_own] = part


def _components(group: Group, W: Sparse, halo: Halo) -> tuple[Ints, int]:
    """Components here, joined by the edges between shards; numbered by their first vertices."""
    n = W.shape[0]
    own = components(W.indptr, W.indices)
    k = int(own.max(initial=-1)) + 1
    counts = group.allgather(k)
    own += sum(counts[: group.rank])
    far = np.zeros(W.shape[1] - n)
    _fetch(group, halo, own.astype(np.float64), far)
    across = np.flatnonzero(W.indices >= n)
    near = own[np.searchsorted(W.indptr, across, side="right") - 1]
    pairs = np.unique(np.stack([near, far[W.indices[across] - n].astype(np.int64)], axis=1), axis=0)
    every = np.concatenate(group.allgather(pairs))
    total = sum(counts)
    joint = sp.csr_array((np.ones(len(every)), (every[:, 0], every[:, 1])), shape=(total, total))
    _, label = connected_components(joint, directed=False)
    _, place, number = np.unique(label, return_index=True, return_inverse=True)
    in_order = np.empty(place.size, dtype=np.int64)
    in_order[np.argsort(place, kind="stable")] = np.arange(place.size)
    return in_order[number[own]], int(place.size)
