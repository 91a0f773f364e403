"""Nearest neighbours on a device of PyTorch: exactly by bins, or within overlapping cells where points are many.

Exactly: scores of a block of queries and all points by one product; the smallest of each bin of points; the K nearest
lie in the K bins with the smallest minima, so the search for them goes over bins and then inside a few of these.
Within cells: each point belongs to the few cells whose centres are nearest, is compared to all others there, and the
best of its cells are merged.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import scipy.sparse as sp
import torch

from siis._types import Bools, Floats, Ints, Sparse
from siis.engine.types import Array, Report

KINDS: dict[type, Any] = {np.float64: torch.float64, np.float32: torch.float32, np.int64: torch.int64}
DLPACK = {"cpu": (1,), "cuda": (2, 10)}  # numbers of devices there; 10: AMD's
MOST_EXACT_POINTS = 200_000  # points that are all compared with each other
BIN_SIZE = 256  # points
QUERIES_AT_ONCE = 2048  # in one block; fewer where memory is short
LEAST_QUERIES_AT_ONCE = 64
SCORES_AT_ONCE = 2**28  # numbers in a block of queries and points that may be many
CELLS = 4  # of each point
POINTS_PER_CELL = 2000
SAMPLED_PER_CENTER, CENTER_ROUNDS = 200, 8  # points for each centre, and rounds, by which centres are found


class TorchSearch:
    """The neighbour search of one device, as ``siis.engine.base.NeighborSearch``."""

    def __init__(self, device: torch.device) -> None:
        self.device = device
        self._copy: tuple[Floats, Array] | None = None  # an array of the host, and the same on the device

    def register(self, host: Floats, given: Any) -> None:
        """Remember examples that were given as an array of this device."""
        if not hasattr(given, "__dlpack_device__") or isinstance(given, np.ndarray):
            return
        if int(given.__dlpack_device__()[0]) not in DLPACK.get(self.device.type, ()):
            return
        there = given.detach() if isinstance(given, torch.Tensor) else torch.from_dlpack(given)
        if there.dtype == KINDS[host.dtype.type]:
            self._copy = host, there.to(self.device)

    def track(self, host: Floats, rows: Ints, picked: Floats) -> None:
        """Pick the same rows on the device."""
        if self._copy is not None and self._copy[0] is host:
            self._copy = picked, self._copy[1][torch.tensor(rows, device=self.device)]

    def to_device(self, points: Floats) -> Array:
        """The tensor in the precision of the points; what is there already is not sent again."""
        if isinstance(points, torch.Tensor):
            return points
        if self._copy is not None and self._copy[0] is points:
            return self._copy[1]
        return torch.tensor(np.ascontiguousarray(points), device=self.device)

    def nearest(self, points: Array, n_wanted: int, seed: int, report: Report) -> tuple[Ints, Floats]:
        """Exactly, or within overlapping cells, in single precision about the mean."""
        given = self.to_device(points)
        X = (given - given.double().mean(dim=0).to(given.dtype)).to(torch.float32)
        found = _exact(X, n_wanted, report) if len(X) <= MOST_EXACT_POINTS else _in_cells(X, n_wanted, seed, report)
        del X
        return _ranked(given, given, found)

    def nearest_between(
        self, queries: Array, points: Array, n_wanted: int, n_fetched: int
    ) -> tuple[Ints, Floats, Bools]:
        """All queries are compared with all points in single precision."""
        queries, points = self.to_device(queries), self.to_device(points)
        center = points.double().mean(dim=0).to(points.dtype)
        left, right = queries - center, points - center
        largest = max(float(left.abs().amax()), float(right.abs().amax())) or 1.0
        a, b = (left / largest).float(), (right / largest).float()
        del left, right
        found = torch.empty((len(a), n_fetched), dtype=torch.int64, device=a.device)
        farthest = torch.empty(len(a), dtype=torch.float64, device=a.device)
        at_once = max(1, min(QUERIES_AT_ONCE, SCORES_AT_ONCE // len(b)))
        for first, last, (values, columns) in _least_scores(a, b, n_fetched, at_once):
            found[first:last], farthest[first:last] = columns, values[:, -1].double()
        own, largest_square = (a * a).sum(1).double(), (b * b).sum(1).max().double()
        error = torch.finfo(torch.float32).eps * (8 + a.shape[1] ** 0.5) * (own + largest_square)
        indices, distances = _ranked(queries, points, found)
        beyond = largest * (farthest + own - error).clamp(min=0).sqrt().cpu().numpy()
        return indices, distances, (distances[:, n_wanted - 1] > beyond) & (n_fetched < len(b))

    def pairs(self, indices: Ints, weights: Floats) -> tuple[Sparse, Floats]:
        """By sorting pairs on the device."""
        (n, K), device = indices.shape, self.device
        heads = torch.arange(n, device=device).repeat_interleave(K)
        tails, w = (torch.from_numpy(np.ascontiguousarray(a)).to(device).reshape(-1) for a in (indices, weights))
        keys, order = torch.sort(torch.cat([heads * n + tails, tails * n + heads]), stable=True)
        del heads, tails
        w = torch.cat([w, w])[order]
        is_new = torch.ones_like(keys, dtype=torch.bool)
        is_new[1:] = keys[1:] != keys[:-1]
        first = torch.nonzero(is_new)[:, 0]
        following = (first + 1).clamp(max=len(keys) - 1)
        is_pair = ~is_new[following] & (following > first)  # both ends name each other
        one, other = w[first], w[following]
        largest = torch.where(is_pair, torch.maximum(one, other), one)
        smallest = torch.where(is_pair, torch.minimum(one, other), torch.zeros_like(one))
        keys = keys[first]
        index = torch.int32 if max(n, len(keys)) < 2**31 else torch.int64
        ends = torch.searchsorted(keys, torch.arange(n + 1, device=device) * n)
        parts = largest, (keys % n).to(index), ends.to(index)
        W = sp.csr_array(tuple(part.cpu().numpy() for part in parts), shape=(n, n))
        return W, smallest.cpu().numpy()


def smallest(products: Array, k: int) -> tuple[Array, Array]:
    """The k smallest entries of rows (q, n), ascending, and their columns; by minima of bins where rows are long."""
    q, n = products.shape
    if n < 4 * k * BIN_SIZE:
        return torch.topk(products, k, dim=1, largest=False)  # type: ignore[no-any-return]
    n_bins = -(-n // BIN_SIZE)
    padded = torch.nn.functional.pad(products, (0, n_bins * BIN_SIZE - n), value=torch.inf).view(q, n_bins, BIN_SIZE)
    bins = torch.topk(padded.amin(dim=2), k, dim=1, largest=False).indices
    inside = torch.gather(padded, 1, bins[:, :, None].expand(-1, -1, BIN_SIZE)).reshape(q, k * BIN_SIZE)
    values, places = torch.topk(inside, k, dim=1, largest=False)
    return values, torch.gather(bins, 1, places // BIN_SIZE) * BIN_SIZE + places % BIN_SIZE


def _ranked(queries: Array, points: Array, found: Array) -> tuple[Ints, Floats]:
    """Distances of the found points, ascending, ties by index."""
    indices, distances = np.empty(found.shape, dtype=np.int64), np.empty(found.shape)
    hosts = torch.from_numpy(indices), torch.from_numpy(distances)

    def block(first: int, last: int) -> tuple[Array, Array]:
        names = found[first:last].long()
        difference = points[names.clamp(min=0)].double() - queries[first:last, None].double()
        lengths = (difference * difference).sum(-1).sqrt()
        lengths = torch.where(names < 0, torch.inf, lengths)
        largest = torch.where(torch.isinf(lengths), 0.0, lengths).amax(dim=1, keepdim=True)
        order = torch.argsort(names, dim=1, stable=True)
        names, lengths = torch.gather(names, 1, order), torch.gather(lengths, 1, order)
        ties = torch.round(1e9 * lengths / torch.where(largest > 0, largest, 1.0))
        order = torch.argsort(ties, dim=1, stable=True)
        return torch.gather(names, 1, order), torch.gather(lengths, 1, order)

    for first, last, (names, lengths) in _by_blocks(block, len(found), 64 * QUERIES_AT_ONCE):
        for host, part in zip(hosts, (names, lengths), strict=True):
            host[first:last].copy_(part)  # into its place, without a copy on the way
    return indices, distances


def _exact(X: Array, n_wanted: int, report: Report) -> Array:
    found = torch.empty((len(X), n_wanted), dtype=torch.int64, device=X.device)
    for first, last, (_, columns) in _least_scores(X, X, n_wanted):
        found[first:last] = columns
        report(last / len(X))
    return found


def _least_scores(
    A: Array, B: Array, k: int, queries: int = QUERIES_AT_ONCE
) -> Iterator[tuple[int, int, tuple[Array, Array]]]:
    """The k least ||b||^2 - 2 a'b of each row a of A, and the rows b of B, by blocks of rows of A."""
    squares = (B * B).sum(1)

    def block(first: int, last: int) -> tuple[Array, Array]:
        return smallest(torch.addmm(squares[None], A[first:last], B.T, alpha=-2), k)

    return _by_blocks(block, len(A), queries)


def _by_blocks(
    work: Callable[[int, int], Any], n: int, queries: int = QUERIES_AT_ONCE
) -> Iterator[tuple[int, int, Any]]:
    """Results of ``work`` by blocks of rows; blocks are smaller where the device's memory is full."""
    first = 0
    while first < n:
        last = min(first + queries, n)
        try:
            found = work(first, last)
        except torch.OutOfMemoryError:
            if queries <= LEAST_QUERIES_AT_ONCE:
                raise
            queries //= 2
            torch.cuda.empty_cache()
            continue
        yield first, last, found
        first = last


def _centers(X: Array, k: int, seed: int) -> Array:
    """Centres of cells: means of what is nearest to them, a few rounds on a sample."""
    generator = torch.Generator(device="cpu").manual_seed(seed)
    sample = torch.randperm(len(X), generator=generator)[: min(SAMPLED_PER_CENTER * k, len(X))].to(X.device)
    S = X[sample]
    centers = S[:k].clone()
    for _ in range(CENTER_ROUNDS):
        member = _nearest_cells(S, centers, 1)[:, 0]
        order = torch.argsort(member, stable=True)
        counts = torch.bincount(member, minlength=k)
        ends = torch.cumsum(counts, 0)
        totals = torch.cat([torch.zeros_like(S[:1], dtype=torch.float64), torch.cumsum(S[order].double(), 0)])
        sums = totals[ends] - totals[ends - counts]  # in order, not in that of threads: the same each time
        centers = torch.where(counts[:, None] > 0, sums / counts.clamp(min=1)[:, None], centers.double()).float()
    return centers


def _nearest_cells(X: Array, centers: Array, n_cells: int) -> Array:
    found = torch.empty((len(X), n_cells), dtype=torch.int64, device=X.device)
    for first, last, (_, cells) in _least_scores(X, centers, n_cells, 32 * QUERIES_AT_ONCE):
        found[first:last] = cells
    return found


def _in_cells(X: Array, n_wanted: int, seed: int, report: Report) -> Array:
    n, k = len(X), max(CELLS, len(X) // POINTS_PER_CELL)
    cells = _nearest_cells(X, _centers(X, k, seed), CELLS)
    flat = cells.reshape(-1)
    order = torch.argsort(flat, stable=True)
    ends = torch.cumsum(torch.bincount(flat, minlength=k), 0).tolist()
    indices = torch.full((n, CELLS * n_wanted), -1, dtype=torch.int32, device=X.device)
    scores = torch.full((n, CELLS * n_wanted), torch.inf, device=X.device)
    first = 0
    for c, last in enumerate(ends):
        entries, first = order[first:last], last
        rows, slots = entries // CELLS, entries % CELLS
        P = X[rows]
        for a, b, (values, columns) in _least_scores(P, P, min(n_wanted, len(P)), 4 * QUERIES_AT_ONCE):
            at = slots[a:b, None] * n_wanted + torch.arange(values.shape[1], device=X.device)[None]
            indices[rows[a:b, None], at] = rows[columns].int()
            scores[rows[a:b, None], at] = values
        report((c + 1) / (len(ends) + 1))
    return _merged(indices, scores, n_wanted)


def _merged(indices: Array, scores: Array, n_wanted: int) -> Array:
    """The best of all lists of a point; a point in two lists counts once."""
    found = torch.empty((len(indices), n_wanted), dtype=torch.int32, device=indices.device)

    def block(first: int, last: int) -> Array:
        named, order = torch.sort(indices[first:last], dim=1, stable=True)
        values = torch.gather(scores[first:last], 1, order)
        values[:, 1:][named[:, 1:] == named[:, :-1]] = torch.inf
        best = torch.topk(values, n_wanted, dim=1, largest=False)
        return torch.where(torch.isinf(best.values), -1, torch.gather(named, 1, best.indices))

    for first, last, best in _by_blocks(block, len(indices), 512 * QUERIES_AT_ONCE):
        found[first:last] = best
    return found
