"""Compiled loops: sparse times block with the Chebyshev recurrence on it, passes over edges, nearest of a block.

They release the interpreter lock and are run in threads over pieces whose number does not depend on the machine, so
that the same input gives the same bytes anywhere.
"""

from __future__ import annotations

from itertools import pairwise
from typing import Any

import numpy as np
import scipy.sparse as sp
from numba import njit

from siis._types import Floats, Sparse
from siis.threads import in_threads, pause_point

compiled = njit(nogil=True, cache=True, error_model="numpy", fastmath={"reassoc", "contract"})

WIDEST, NARROWEST = 64, 16  # columns of a block that are multiplied together
PIECES = 4  # of a pass over rows or edges
WORTH_THREADS = 5_000_000  # multiplications, below which one thread is faster


@compiled
def _three_terms(indptr, indices, data, now, before, a, b, d, first, last):  # type: ignore[no-untyped-def]
    """Overwrite rows first..last of ``before`` by those of a S now + b now + d before."""
    width = now.shape[1]
    row = np.empty(width, now.dtype)
    for i in range(first, last):
        for k in range(width):
            row[k] = b * now[i, k] + d * before[i, k]
        for e in range(indptr[i], indptr[i + 1]):
            j, s = indices[e], a * data[e]
            for k in range(width):
                row[k] += s * now[j, k]
        for k in range(width):
            before[i, k] = row[k]


@compiled
def _product_rows(indptr, indices, data, X, out, first, last):  # type: ignore[no-untyped-def]
    """Rows first..last of S X."""
    width = X.shape[1]
    row = np.empty(width, X.dtype)
    for i in range(first, last):
        row[:] = 0
        for e in range(indptr[i], indptr[i + 1]):
            j, s = indices[e], data[e]
            for k in range(width):
                row[k] += s * X[j, k]
        for k in range(width):
            out[i, k] = row[k]


def compact(M: Any, dtype: type[np.floating[Any]]) -> Sparse:
    """The matrix in one precision, with short indices where they suffice: one compiled loop serves all."""
    M = sp.csr_array(M, dtype=dtype)
    if max(*M.shape, M.nnz) < np.iinfo(np.int32).max:
        M.indices, M.indptr = M.indices.astype(np.int32, copy=False), M.indptr.astype(np.int32, copy=False)
    return M


def product(S: Sparse, X: Floats) -> Floats:
    """Multiply a sparse matrix with a block of the same precision: S X.

    Parameters
    ----------
    S : csr_array of shape (r, n)
    X : ndarray of shape (n, p)

    Returns
    -------
    ndarray of shape (r, p)
    """
    X = np.ascontiguousarray(X)
    out = np.empty((S.shape[0], X.shape[1]), X.dtype)
    pieces = row_pieces(S.shape[0]) if S.nnz * X.shape[1] > WORTH_THREADS else [slice(0, S.shape[0])]
    in_threads(lambda rows: _product_rows(S.indptr, S.indices, S.data, X, out, rows.start, rows.stop), pieces)
    return out


def tall_product(U: Floats, A: Floats) -> Floats:
    """U A for a tall U, shape (n, m), and a narrow A, shape (m, c), by pieces of rows."""
    if U.size * A.shape[1] < WORTH_THREADS:
        return np.asarray(U @ A)
    out = np.empty((U.shape[0], A.shape[1]), np.result_type(U, A))
    in_threads(lambda rows: np.matmul(U[rows], A, out=out[rows]), row_pieces(U.shape[0]))
    return out


def tall_transposed(U: Floats, F: Floats) -> Floats:
    """U' F for a tall U, shape (n, m), and F, shape (n, c), by pieces of rows."""
    if U.size * F.shape[1] < WORTH_THREADS:
        return np.asarray(U.T @ F)
    total: Floats = sum(in_threads(lambda rows: U[rows].T @ F[rows], row_pieces(U.shape[0])))  # type: ignore[assignment]
    return total


def row_pieces(n: int) -> list[slice]:
    """Cut n rows into pieces that threads can share."""
    ends = np.linspace(0, n, PIECES + 1).astype(int)
    return [slice(int(a), int(b)) for a, b in pairwise(ends)]


def chebyshev_filter(S: Sparse, X: Floats, degree: int, low: float, cut: float, high: float) -> Floats:
    """Apply the Chebyshev polynomial that is 1 at ``low`` and small on [cut, high].

    p(S) X with p(t) = T_d((t - c) / e) / T_d((low - c) / e), c and e the centre and half-width of [cut, high], by
    the three-term recurrence scaled against overflow. Columns are independent, and wide blocks are cut into some that
    are done together, so that the recurrence stays in the processor's cache; narrow ones are cut by rows.

    Parameters
    ----------
    S : csr_array of shape (n, n)
    X : ndarray of shape (n, p), of the same precision
    degree : int
    low, cut, high : float
        ``low < cut < high``; the spectrum of S lies below ``high``.

    Returns
    -------
    ndarray of shape (n, p)
    """
    c, e = (high + cut) / 2, (high - cut) / 2
    n_columns, kind = X.shape[1], X.dtype.type
    width = int(np.clip(-(-n_columns // PIECES), NARROWEST, WIDEST))
    filtered = np.empty_like(X)
    by_rows = n_columns < PIECES * NARROWEST and S.nnz * n_columns > WORTH_THREADS
    if by_rows:
        width = n_columns
    pieces = row_pieces(len(X)) if by_rows else [slice(0, len(X))]

    def columns(first: int) -> None:
        sigma = e / (low - c)
        ratio = 2 / sigma
        before = np.array(X[:, first : first + width], order="C")
        now = np.zeros_like(before)

        def step(now: Floats, before: Floats, a: float, b: float, d: float) -> None:
            factors = kind(a), kind(b), kind(d)
            in_threads(
                lambda rows: _three_terms(S.indptr, S.indices, S.data, now, before, *factors, rows.start, rows.stop),
                pieces,
            )

        step(before, now, sigma / e, -c * sigma / e, 0.0)
        for _ in range(degree - 1):
            pause_point()
            following = 1 / (ratio - sigma)
            a = 2 * following / e
            step(now, before, a, -a * c, -sigma * following)
            before, now, sigma = now, before, following
        filtered[:, first : first + width] = now

    in_threads(columns, list(range(0, n_columns, width)))
    return filtered


@compiled
def edge_step(first, tails, weight, penalty, reach, relaxation, F, N, f, out, heads_from, heads_to):  # type: ignore[no-untyped-def]
    """One iteration along the edges i < j of some heads i; ``out`` begins at the first of these heads.

    N = relaxation w (F_i - F_j) + (1 - relaxation f) N,  f = max(1 - reach / (p ||N||), 0) for each group of columns,
    and w p (2 f - 1) N is added to row i of ``out`` and taken from row j.
    """
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
def edge_pull(first, tails, weight, penalty, f, slope, offset, N, out, heads_from, heads_to):  # type: ignore[no-untyped-def]
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
def keep_nearest(scores, first, indices, values):  # type: ignore[no-untyped-def]
    """Keep the smallest scores of each row, ascending, with the columns in which they stand."""
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
