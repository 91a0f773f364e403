"""A sharded graph: the part of one shard."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from itertools import pairwise
from typing import Any

import numpy as np
import scipy.sparse as sp

from siis._types import Floats, Ints, Sparse
from siis.distributed.communicator import Communicator
from siis.distributed.neighbor_lists import drop_small, symmetric_rows
from siis.distributed.sharded_engine import Halo, ShardedEngine
from siis.engine.loops import components, count_first_ends, less_weights, row_sums, take_first_ends
from siis.graph.graph import NEGLIGIBLE, ONE_SIDED_SHARE, Edges, Graph, components_of

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


def build_shard(comm: Communicator, W: Sparse, bounds: Ints) -> GraphShard:
    """One shard's part of W: (n, N), all shards at once; bounds: (size + 1,), first numbers of the shards, and N."""
    first, last = int(bounds[comm.rank]), int(bounds[comm.rank + 1])
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
    halo = _build_halo(comm, others, bounds)
    engine = ShardedEngine(comm, halo)
    part, n_parts = _components(comm, local, engine)
    degrees = engine.with_halo(row_sums(local.indptr, local.data))[n:].astype(np.float64)
    return GraphShard(local, halo, first, others, degrees, part, n_parts)


def _pieces(entries: Any) -> list[Any]:
    """Cut an array into pieces that take little memory."""
    return [entries[a : a + ENTRIES_AT_ONCE] for a in range(0, entries.size, ENTRIES_AT_ONCE)]


def _build_halo(comm: Communicator, others: Ints, bounds: Ints) -> Halo:
    """Exchange with the other shards which rows each needs of the others. others: (h,)."""
    ends = np.searchsorted(others, bounds)
    requested = comm.alltoall([others[a:b] - bounds[rank] for rank, (a, b) in enumerate(pairwise(ends))])
    n = int(bounds[comm.rank + 1] - bounds[comm.rank])
    fetched = {rank: slice(n + int(a), n + int(b)) for rank, (a, b) in enumerate(pairwise(ends)) if b > a}
    return Halo(n, {rank: rows for rank, rows in enumerate(requested) if rows.size and rank != comm.rank}, fetched)


def symmetric_weights(comm: Communicator, indices: Ints, weights: Floats, bounds: Ints, kind: str) -> Sparse:
    """Symmetric rows here, (n, N), of directed neighbours: indices (global, -1 if empty) and weights, (n, K)."""
    first = int(bounds[comm.rank])
    given = [_pairs_between(indices, weights, first, int(a), int(b)) for a, b in pairwise(bounds)]
    given[comm.rank] = _pairs_between(indices, weights, first, 0, 0)  # those are found in the lists
    pairs = comm.alltoall([pair for pair, _ in given])
    values = np.concatenate(comm.alltoall([value for _, value in given]))
    tails, heads = np.concatenate(pairs, axis=1)
    one_sided = ONE_SIDED_SHARE if kind == "mutual" else 1.0
    entries = symmetric_rows(indices, weights, first, heads - first, tails, values, one_sided)
    largest = comm.allreduce(float(entries[2].max(initial=0.0)), max)
    indptr, columns, data = drop_small(*entries, NEGLIGIBLE * largest)
    if data.size < np.iinfo(np.int32).max:
        indptr = indptr.astype(np.int32)
    return sp.csr_array((data, columns, indptr), shape=(len(indices), int(bounds[-1])))


def _pairs_between(indices: Ints, weights: Floats, first: int, a: int, b: int) -> tuple[Ints, Floats]:
    """Pairs of a vertex here and a neighbour in a..b - 1, shape (2, r), and their weights."""
    rows, places = np.nonzero((indices >= a) & (indices < b))
    return np.stack([first + rows, indices[rows, places]]).astype(np.int64, copy=False), weights[rows, places]


def _components(comm: Communicator, W: Sparse, engine: ShardedEngine) -> tuple[Ints, int]:
    """Components here, joined by the edges between shards; numbered by their first vertices."""
    n, own = W.shape[0], components(W.indptr, W.indices)
    counts = comm.allgather(int(own.max(initial=-1)) + 1)
    own += sum(counts[: comm.rank])
    across = np.flatnonzero(W.indices >= n)
    heads = np.searchsorted(W.indptr, across, side="right") - 1
    every = engine.with_halo(own)
    pairs = np.unique(np.stack([every[heads], every[W.indices[across]]], axis=1), axis=0)
    ends, total = np.concatenate(comm.allgather(pairs)).T, sum(counts)
    joint = sp.csr_array((np.ones(ends.shape[1]), (ends[0], ends[1])), shape=(total, total))
    label = components_of(sp.csr_array(joint + joint.T))
    return label[own], int(label.max(initial=-1)) + 1
