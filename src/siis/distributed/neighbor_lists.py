"""Compiled loops on lists of neighbours: insert candidates, merge lists, build a symmetric matrix.

Each works in place, on numbers of four bytes where these suffice: lists are the largest arrays of a graph in the
making.
"""

from __future__ import annotations

import numpy as np

from siis._types import Floats, Ints
from siis.engine.loops import compiled


@compiled
def by_cell(near, n_cells):  # type: ignore[no-untyped-def]
    """The rows that list each cell: those of cell k are rows[first[k]] to rows[first[k + 1] - 1]."""
    n, width = near.shape
    first = np.zeros(n_cells + 1, np.int64)
    for i in range(n):
        for k in range(width):
            first[near[i, k] + 1] += 1
    for k in range(n_cells):
        first[k + 1] += first[k]
    place, rows = first[:-1].copy(), np.empty(n * width, np.int32)
    for i in range(n):
        for k in range(width):
            cell = near[i, k]
            rows[place[cell]] = i
            place[cell] += 1
    return first, rows


@compiled
def _insert(indices, distances, row, index, distance):  # type: ignore[no-untyped-def]
    """Insert a neighbour into a list sorted by distance, then by index; the last one is dropped."""
    width = indices.shape[1]
    place = width
    while place > 0 and (
        distance < distances[row, place - 1]
        or (distance == distances[row, place - 1] and index < indices[row, place - 1])
    ):
        place -= 1
    if place == width:
        return
    for k in range(width - 1, place, -1):
        indices[row, k] = indices[row, k - 1]
        distances[row, k] = distances[row, k - 1]
    indices[row, place] = index
    distances[row, place] = distance


@compiled
def take_nearer(queries, at, points, found, offset, is_own, indices, distances):  # type: ignore[no-untyped-def]
    """Insert candidates into the lists of queries, by distances from coordinate differences.

    Candidate ``found[r, k]`` of query ``at[r]`` is point ``offset + found[r, k]``; no point is its own neighbour.
    """
    d, last = points.shape[1], indices.shape[1] - 1
    for r in range(at.size):
        q = at[r]
        for k in range(found.shape[1]):
            j = offset + found[r, k]
            if is_own and j == q:
                continue
            square = 0.0
            for a in range(d):
                difference = np.float64(points[j, a]) - np.float64(queries[q, a])
                square += difference * difference
            distance = np.float32(np.sqrt(square))
            if distance <= distances[q, last]:
                _insert(indices, distances, q, j, distance)


@compiled
def merge_lists(indices, distances, at, others, their_distances, offset):  # type: ignore[no-untyped-def]
    """Merge another shard's lists into rows ``at``; its points have global numbers from ``offset`` on."""
    last = indices.shape[1] - 1
    for r in range(at.size):
        row = at[r]
        for k in range(others.shape[1]):
            if others[r, k] < 0:
                break
            if their_distances[r, k] > distances[row, last]:
                break
            _insert(indices, distances, row, offset + others[r, k], their_distances[r, k])


@compiled
def _count(indices, first, n, heads, indptr):  # type: ignore[no-untyped-def]
    """Count entries of each row: its neighbours, vertices here that list it, and vertices elsewhere that do."""
    for i in range(indices.shape[0]):
        for k in range(indices.shape[1]):
            j = indices[i, k]
            if j >= 0:
                indptr[i + 1] += 1
                if first <= j < first + n:
                    indptr[j - first + 1] += 1
    for r in range(heads.size):
        indptr[heads[r] + 1] += 1
    for i in range(n):
        indptr[i + 1] += indptr[i]


@compiled
def _fill(indices, weights, first, heads, tails, values, indptr, columns, data):  # type: ignore[no-untyped-def]
    n = indices.shape[0]
    place = indptr[:-1].copy()
    for i in range(n):
        for k in range(indices.shape[1]):
            j = indices[i, k]
            if j < 0:
                continue
            columns[place[i]], data[place[i]] = j, weights[i, k]
            place[i] += 1
            if first <= j < first + n:
                columns[place[j - first]], data[place[j - first]] = first + i, weights[i, k]
                place[j - first] += 1
    for r in range(heads.size):
        i = heads[r]
        columns[place[i]], data[place[i]] = tails[r], values[r]
        place[i] += 1


@compiled
def _merge(indptr, columns, data, one_sided):  # type: ignore[no-untyped-def]
    """Sort each row, and make one of two entries of a pair: the larger; less where only one end names the other."""
    end, a = 0, 0
    for i in range(indptr.size - 1):
        b = indptr[i + 1]
        for e in range(a + 1, b):  # rows are short but for few
            column, value, place = columns[e], data[e], e
            while place > a and columns[place - 1] > column:
                columns[place], data[place] = columns[place - 1], data[place - 1]
                place -= 1
            columns[place], data[place] = column, value
        e = a
        while e < b:
            column, value = columns[e], data[e]
            if e + 1 < b and columns[e + 1] == column:
                low, high = min(value, data[e + 1]), max(value, data[e + 1])
                value = one_sided * high + (1 - one_sided) * low
                e += 1
            else:
                value = one_sided * value
            columns[end], data[end] = column, value
            end += 1
            e += 1
        a, indptr[i + 1] = b, end


@compiled
def _drop(indptr, columns, data, least):  # type: ignore[no-untyped-def]
    """Drop entries of at most this weight."""
    end, a = 0, 0
    for i in range(indptr.size - 1):
        b = indptr[i + 1]
        for e in range(a, b):
            if data[e] > least:
                columns[end], data[end] = columns[e], data[e]
                end += 1
        a, indptr[i + 1] = b, end


def symmetric_rows(
    indices: Ints, weights: Floats, first: int, heads: Ints, tails: Ints, values: Floats, one_sided: float
) -> tuple[Ints, Ints, Floats]:
    """Join lists of neighbours to rows of a symmetric matrix: indptr, columns (global, ascending in a row), data.

    indices: (n, K), global numbers, -1 if empty; weights: (n, K); ``first``: global number of the first vertex here.
    heads: (r,), local numbers of vertices that other shards name; tails, values: (r,), those others and their
    weights. ``one_sided`` is the share of its weight that an edge keeps which only one end names.
    """
    n = len(indices)
    indptr = np.zeros(n + 1, dtype=np.int64)
    _count(indices, first, n, heads, indptr)
    columns, data = np.empty(int(indptr[-1]), indices.dtype), np.empty(int(indptr[-1]), weights.dtype)
    _fill(indices, weights, first, heads, tails, values, indptr, columns, data)
    _merge(indptr, columns, data, weights.dtype.type(one_sided))
    return indptr, columns, data


def drop_small(indptr: Ints, columns: Ints, data: Floats, least: float) -> tuple[Ints, Ints, Floats]:
    """Drop entries of at most this weight, in place; returns the shortened arrays."""
    _drop(indptr, columns, data, data.dtype.type(least))
    end = int(indptr[-1])
    return indptr, columns[:end], data[:end]
