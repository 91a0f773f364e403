"""Products with blocks of NumPy's columns, in threads.

Work is cut into pieces whose number does not depend on the machine, so that the number of cores changes no rounding.
(Small products are NumPy's own, and round as the linear algebra library beneath it does.)
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import pairwise
from typing import Any

import numpy as np
import scipy.sparse as sp

from siis._types import Floats, Sparse
from siis.engine.loops import product_rows, three_terms
from siis.engine.threads import in_threads, pause_point

WIDEST_GROUP, NARROWEST_GROUP = 64, 16  # columns of a block that are multiplied together
PIECES = 4  # of a pass over rows or edges
WORTH_THREADS = 5_000_000  # multiplications of dense blocks, below which one thread is faster
WORTH_SPARSE = 2_000_000  # the same of a sparse matrix, which wait for memory


def compact(M: Any, dtype: type[np.floating[Any]]) -> Sparse:
    """The matrix in one precision, with short indices where they suffice: one compiled loop serves all."""
    M = sp.csr_array(M, dtype=dtype)
    if max(*M.shape, M.nnz) < np.iinfo(np.int32).max:
        M.indices, M.indptr = M.indices.astype(np.int32, copy=False), M.indptr.astype(np.int32, copy=False)
    return M


def product(S: Sparse, X: Floats) -> Floats:
    """Multiply a sparse matrix with a block of the same precision: S X. S: (r, n); X: (n, p); returns (r, p)."""
    worth_threads = S.nnz * X.shape[1] > WORTH_SPARSE
    if X.shape[1] < NARROWEST_GROUP and not worth_threads:
        return np.asarray(S @ X)  # SciPy's loop, faster on few columns
    X = np.ascontiguousarray(X)
    out = np.empty((S.shape[0], X.shape[1]), X.dtype)
    pieces = pieces_of(S.shape[0], S.nnz * X.shape[1])
    in_threads(lambda rows: product_rows(S.indptr, S.indices, S.data, X, out, rows.start, rows.stop), pieces)
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


def pieces_of(n: int, n_multiplications: int) -> list[slice]:
    """Pieces of n rows of a sparse product for threads; one where the work is too little."""
    return row_pieces(n) if n_multiplications > WORTH_SPARSE else [slice(0, n)]


def row_pieces(n: int) -> list[slice]:
    """Cut n rows into pieces that threads can share."""
    ends = np.linspace(0, n, PIECES + 1).astype(int)
    return [slice(int(a), int(b)) for a, b in pairwise(ends)]


def chebyshev_recurrence(degree: int, low: float, cut: float, high: float) -> Iterator[tuple[float, float, float]]:
    """Factors a, b, d of each step, a S now + b now + d before, of ``Engine.chebyshev``, scaled against overflow.

    The polynomial is p(t) = T_d((t - c) / e) / T_d((low - c) / e), c and e the centre and half-width of [cut, high].
    """
    c, e = (high + cut) / 2, (high - cut) / 2
    sigma = e / (low - c)
    ratio = 2 / sigma
    yield sigma / e, -c * sigma / e, 0.0
    for _ in range(degree - 1):
        following = 1 / (ratio - sigma)
        a = 2 * following / e
        yield a, -a * c, -sigma * following
        sigma = following


def chebyshev_filter(S: Sparse, X: Floats, degree: int, low: float, cut: float, high: float) -> Floats:
    """``Engine.chebyshev`` in compiled loops; wide blocks are cut by columns for the cache, narrow ones by rows."""
    n_columns, kind = X.shape[1], X.dtype.type
    width = int(np.clip(-(-n_columns // PIECES), NARROWEST_GROUP, WIDEST_GROUP))
    filtered = np.empty_like(X)
    by_rows = n_columns < PIECES * NARROWEST_GROUP and S.nnz * n_columns > WORTH_SPARSE
    if by_rows:
        width = n_columns
    pieces = row_pieces(len(X)) if by_rows else [slice(0, len(X))]

    def columns(first: int) -> None:
        now = np.array(X[:, first : first + width], order="C")
        before = np.zeros_like(now)

        def step(now: Floats, before: Floats, factors: list[Any]) -> None:
            in_threads(
                lambda rows: three_terms(S.indptr, S.indices, S.data, now, before, *factors, rows.start, rows.stop),
                pieces,
            )

        for factors in chebyshev_recurrence(degree, low, cut, high):
            pause_point()
            step(now, before, [kind(factor) for factor in factors])
            before, now = now, before
        filtered[:, first : first + width] = now

    in_threads(columns, list(range(0, n_columns, width)))
    return filtered
