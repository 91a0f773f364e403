"""Compiled loops: sparse times block with the Chebyshev recurrence on it, passes over edges, nearest of a block.

They release the interpreter lock, and work on some of the rows or edges: threads share the pieces.
"""

from typing import Any

import numpy as np
from numba import njit

FEW_COLUMNS = 6  # of a group, below which one pass is faster than two


def compiled(loop: Any) -> Any:
    """Compile a loop when it is first called; kept on the disk where a folder for that can be written."""
    options: dict[str, Any] = {"nogil": True, "error_model": "numpy", "fastmath": {"reassoc", "contract"}}
    try:
        return njit(cache=True, **options)(loop)
    except RuntimeError:  # neither the package's folder nor the user's
        return njit(**options)(loop)


@njit(inline="always")
def add_product(indptr, indices, data, X, factor, i, row):  # type: ignore[no-untyped-def]
    """Add factor times row i of S X to ``row``: four neighbours at once, whose rows come from memory together."""
    width = X.shape[1]
    e, end = indptr[i], indptr[i + 1]
    while e + 4 <= end:
        x0, x1 = X[np.uintp(indices[e])], X[np.uintp(indices[e + 1])]  # unsigned: not counted from the end
        x2, x3 = X[np.uintp(indices[e + 2])], X[np.uintp(indices[e + 3])]
        s0, s1, s2, s3 = factor * data[e], factor * data[e + 1], factor * data[e + 2], factor * data[e + 3]
        for k in range(width):
            row[k] += (s0 * x0[k] + s1 * x1[k]) + (s2 * x2[k] + s3 * x3[k])
        e += 4
    while e < end:
        x, s = X[np.uintp(indices[e])], factor * data[e]
        for k in range(width):
            row[k] += s * x[k]
        e += 1


@compiled
def three_terms(indptr, indices, data, now, before, a, b, d, first, last):  # type: ignore[no-untyped-def]
    """Overwrite rows first..last of ``before`` by those of a S now + b now + d before."""
    width = now.shape[1]
    row = np.empty(width, now.dtype)
    for i in range(first, last):
        for k in range(width):
            row[k] = b * now[i, k] + d * before[i, k]
        add_product(indptr, indices, data, now, a, i, row)
        for k in range(width):
            before[i, k] = row[k]


@compiled
def product_rows(indptr, indices, data, X, out, first, last):  # type: ignore[no-untyped-def]
    """Rows first..last of S X."""
    row = np.empty(X.shape[1], X.dtype)
    for i in range(first, last):
        row[:] = 0
        add_product(indptr, indices, data, X, X.dtype.type(1), i, row)
        for k in range(X.shape[1]):
            out[i, k] = row[k]


@compiled
def diag_minus_matmul_rows(indptr, indices, data, diagonal, X, out, first, last):  # type: ignore[no-untyped-def]
    """Rows first..last of diagonal X - S X, the diagonal one for each group of columns: shape (n, k)."""
    width, n_groups = X.shape[1], diagonal.shape[1]
    c = width // n_groups
    row = np.empty(width, X.dtype)
    for i in range(first, last):
        for g in range(n_groups):
            d = diagonal[i, g]
            for k in range(g * c, (g + 1) * c):
                row[k] = d * X[i, k]
        add_product(indptr, indices, data, X, X.dtype.type(-1), i, row)
        for k in range(width):
            out[i, k] = row[k]


@compiled
def cg_update_rows(X, R, D, MD, step, first, last):  # type: ignore[no-untyped-def]
    """Rows first..last of X + step D and of R - step MD, in place."""
    for i in range(first, last):
        for k in range(X.shape[1]):
            X[i, k] += step[k] * D[i, k]
            R[i, k] -= step[k] * MD[i, k]


@compiled
def cg_direction_rows(D, Z, ratio, first, last):  # type: ignore[no-untyped-def]
    """Rows first..last of ratio D + Z, in place."""
    for i in range(first, last):
        for k in range(D.shape[1]):
            D[i, k] = ratio[k] * D[i, k] + Z[i, k]


@compiled
def edge_step(first, tails, weight, penalty, reach, relaxation, F, N, f, out, heads_from, heads_to):  # type: ignore[no-untyped-def]
    """One iteration along the edges i < j of some heads i; ``out`` begins at the first of these heads.

    N = relaxation w (F_i - F_j) + (1 - relaxation f) N,  f = max(1 - reach / (p ||N||), 0) for each group of columns,
    and w p (2 f - 1) N is added to row i of ``out`` and taken from row j.
    """
    if F.shape[1] < FEW_COLUMNS * f.shape[1]:
        _edge_step_of_few(first, tails, weight, penalty, reach, relaxation, F, N, f, out, heads_from, heads_to)
    else:
        _edge_step_of_many(first, tails, weight, penalty, reach, relaxation, F, N, f, out, heads_from, heads_to)


@compiled
def _edge_step_of_few(first, tails, weight, penalty, reach, relaxation, F, N, f, out, heads_from, heads_to):  # type: ignore[no-untyped-def]
    """``edge_step`` column by column."""
    one, two, zero = F.dtype.type(1), F.dtype.type(2), F.dtype.type(0)
    n_groups = f.shape[1]
    c = F.shape[1] // n_groups
    for i in range(heads_from, heads_to):
        for e in range(first[i], first[i + 1]):
            j, w, p = tails[e], weight[e], penalty[e]
            step, a, b = relaxation * w, i - heads_from, j - heads_from
            for g in range(n_groups):
                keep = one - relaxation * f[e, g]
                square = zero
                for k in range(g * c, (g + 1) * c):
                    value = keep * N[e, k] + step * (F[i, k] - F[j, k])
                    N[e, k] = value
                    square += value * value
                length = p * np.sqrt(square)
                kept = max(one - reach / length, zero) if length > zero else zero
                f[e, g] = kept
                factor = w * p * (two * kept - one)
                for k in range(g * c, (g + 1) * c):
                    value = factor * N[e, k]
                    out[a, k] += value
                    out[b, k] -= value


@compiled
def _edge_step_of_many(first, tails, weight, penalty, reach, relaxation, F, N, f, out, heads_from, heads_to):  # type: ignore[no-untyped-def]
    """``edge_step`` through a local row, which aliases nothing, so that several columns are computed at a time."""
    one, two, zero = F.dtype.type(1), F.dtype.type(2), F.dtype.type(0)
    n_groups = f.shape[1]
    c = F.shape[1] // n_groups
    row = np.empty(c, F.dtype)
    for i in range(heads_from, heads_to):
        for e in range(first[i], first[i + 1]):
            j, w, p = np.uintp(tails[e]), weight[e], penalty[e]
            step, a, b = relaxation * w, np.uintp(i - heads_from), j - np.uintp(heads_from)
            for g in range(n_groups):
                keep, at = one - relaxation * f[e, g], g * c
                square = zero
                for k in range(c):
                    value = keep * N[e, at + k] + step * (F[i, at + k] - F[j, at + k])
                    row[k] = value
                    square += value * value
                length = p * np.sqrt(square)
                kept = max(one - reach / length, zero) if length > zero else zero
                f[e, g] = kept
                factor = w * p * (two * kept - one)
                for k in range(c):
                    N[e, at + k] = row[k]
                    out[a, at + k] += factor * row[k]
                for k in range(c):
                    out[b, at + k] -= factor * row[k]


@compiled
def edge_divergence(first, tails, weight, penalty, f, slope, offset, N, out, heads_from, heads_to):  # type: ignore[no-untyped-def]
    """Add w p (slope f + offset) N of each edge i < j to row i of ``out``, and take it from row j."""
    n_groups = f.shape[1]
    c = N.shape[1] // n_groups
    for i in range(heads_from, heads_to):
        for e in range(first[i], first[i + 1]):
            a, b = i - heads_from, tails[e] - heads_from
            for g in range(n_groups):
                factor = weight[e] * penalty[e] * (slope * f[e, g] + offset)
                for k in range(g * c, (g + 1) * c):
                    value = factor * N[e, k]
                    out[a, k] += value
                    out[b, k] -= value


@compiled
def edge_norms(first, tails, weight, F, out, heads_from, heads_to):  # type: ignore[no-untyped-def]
    """Norms of w (F_i - F_j) along the edges i < j, one for each group of columns."""
    n_groups = out.shape[1]
    c = F.shape[1] // n_groups
    for i in range(heads_from, heads_to):
        for e in range(first[i], first[i + 1]):
            j = tails[e]
            for g in range(n_groups):
                square = F.dtype.type(0)
                for k in range(g * c, (g + 1) * c):
                    difference = F[i, k] - F[j, k]
                    square += difference * difference
                out[e, g] = weight[e] * np.sqrt(square)


@compiled
def components(indptr, indices):  # type: ignore[no-untyped-def]
    """The component of each vertex, numbered by first vertices; columns beyond the rows join nothing."""
    n = indptr.size - 1
    component, waiting = np.full(n, -1, np.int64), np.empty(n, np.int64)
    found = 0
    for start in range(n):
        if component[start] >= 0:
            continue
        component[start], waiting[0], left = found, start, 1
        while left:
            left -= 1
            i = waiting[left]
            for e in range(indptr[i], indptr[i + 1]):
                j = indices[e]
                if j < n and component[j] < 0:
                    component[j] = found
                    waiting[left] = j
                    left += 1
        found += 1
    return component


@compiled
def number_edges(indptr, indices, data, first, tails, weights, entries):  # type: ignore[no-untyped-def]
    """Number the edges i < j of sorted rows, and their entries; those below the diagonal come in order of i."""
    n = indptr.size - 1
    place = indptr[:-1].copy()
    edge = 0
    for i in range(n):
        first[i] = edge
        for e in range(indptr[i], indptr[i + 1]):
            j = indices[e]
            if j > i:
                tails[edge], weights[edge], entries[e] = j, data[e], edge
                entries[place[j]] = edge
                place[j] += 1
                edge += 1
    first[n] = edge


@compiled
def keep_nearest(scores, first, indices, values):  # type: ignore[no-untyped-def]
    """Keep the smallest scores of each row, ascending, with their columns."""
    n_rows, n = scores.shape
    k = indices.shape[1]
    for i in range(n_rows):
        r = first + i
        found = 0
        for j in range(n):
            score = scores[i, j]
            if found == k and score >= values[r, k - 1]:
                continue
            place = found if found < k else k - 1
            while place > 0 and values[r, place - 1] > score:
                values[r, place] = values[r, place - 1]
                indices[r, place] = indices[r, place - 1]
                place -= 1
            values[r, place] = score
            indices[r, place] = j
            found = min(found + 1, k)


@compiled
def pair_distances(queries, points, indices, out, first, last):  # type: ignore[no-untyped-def]
    """Euclidean distances of queries to some points each, from coordinate differences, in double precision."""
    d = points.shape[1]
    for i in range(first, last):
        for k in range(indices.shape[1]):
            j = indices[i, k]
            square = 0.0
            for a in range(d):
                difference = np.float64(points[j, a]) - np.float64(queries[i, a])
                square += difference * difference
            out[i, k] = np.sqrt(square)


@compiled
def row_sums(indptr, data):  # type: ignore[no-untyped-def]
    """Sums of the rows of a sparse matrix, in double precision."""
    n = indptr.size - 1
    out = np.zeros(n)
    for i in range(n):
        total = 0.0
        for e in range(indptr[i], indptr[i + 1]):
            total += data[e]
        out[i] = total
    return out


@compiled
def less_weights(indptr, indices, data, degrees, columns, entries):  # type: ignore[no-untyped-def]
    """Rows of D - W with ascending columns, each one entry longer than that of W, whose diagonal is empty."""
    for i in range(indptr.size - 1):
        place, is_there = indptr[i] + i, False
        for e in range(indptr[i], indptr[i + 1]):
            if not is_there and indices[e] > i:
                columns[place], entries[place], is_there = i, degrees[i], True
                place += 1
            columns[place], entries[place] = indices[e], -data[e]
            place += 1
        if not is_there:
            columns[place], entries[place] = i, degrees[i]


@compiled
def count_first_ends(indptr, indices, numbers, first):  # type: ignore[no-untyped-def]
    """The first edge of each head, edges i < j ordered by the numbers of their ends."""
    for i in range(indptr.size - 1):
        n_edges = first[i]
        for e in range(indptr[i], indptr[i + 1]):
            if numbers[indices[e]] > numbers[i]:
                n_edges += 1
        first[i + 1] = n_edges


@compiled
def take_first_ends(indptr, indices, data, numbers, tails, weights):  # type: ignore[no-untyped-def]
    """The other ends and the weights of these edges."""
    edge = 0
    for i in range(indptr.size - 1):
        for e in range(indptr[i], indptr[i + 1]):
            if numbers[indices[e]] > numbers[i]:
                tails[edge], weights[edge] = indices[e], data[e]
                edge += 1


@compiled
def scaled_entries(indptr, indices, data, scale, every, out):  # type: ignore[no-untyped-def]
    """Entries of diag(scale) M diag(every)."""
    for i in range(indptr.size - 1):
        for e in range(indptr[i], indptr[i + 1]):
            out[e] = scale[i] * data[e] * every[indices[e]]


@compiled
def end_sums(first, tails, values, out):  # type: ignore[no-untyped-def]
    """Add the value of each edge to both of its ends."""
    for i in range(first.size - 1):
        for e in range(first[i], first[i + 1]):
            out[i] += values[e]
            out[tails[e]] += values[e]


@compiled
def column_dots(X, Y):  # type: ignore[no-untyped-def]
    """Dot products of columns, in double precision."""
    n, width = X.shape
    out = np.zeros(width)
    for i in range(n):
        for k in range(width):
            out[k] += np.float64(X[i, k]) * np.float64(Y[i, k])
    return out


@compiled
def tree_votes(rows, roots, feature, threshold, left, right, votes, counts, out, n_used):  # type: ignore[no-untyped-def]
    """Add to ``out`` the votes of the leaves of each row, and to ``n_used`` how many trees these are.

    counts, (t, n): only trees in which it is 0 for the row; of shape (0, 0): all.
    """
    for t in range(roots.size):  # a tree stays in the cache for all rows
        for i in range(len(rows)):
            if counts.size and counts[t, i]:
                continue
            node = roots[t]
            while feature[node] >= 0:
                node = left[node] if rows[i, feature[node]] <= threshold[node] else right[node]
            for k in range(votes.shape[1]):
                out[i, k] += votes[node, k]
            n_used[i] += 1
