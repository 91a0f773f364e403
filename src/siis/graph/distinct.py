"""Equal examples are one vertex: find the distinct rows of X, in an order that does not depend on that of X."""

from dataclasses import dataclass
from hashlib import blake2b
from itertools import pairwise

import numpy as np
import scipy.sparse as sp

from siis._types import Bools, Features, Floats, Ints

ROWS_AT_ONCE = 4096  # rows whose marks are mixed together
INCREMENT, FIRST_FACTOR, SECOND_FACTOR = (
    np.uint64(k) for k in (0x9E3779B97F4A7C15, 0xBF58476D1CE4E5B9, 0x94D049BB133111EB)
)


@dataclass(frozen=True, eq=False)
class DistinctRows:
    """The distinct rows of X."""

    X: Features  # (n_distinct, d), one copy of each distinct row
    vertex: Ints  # (n,), the distinct row that each row of the original X equals
    rows: Ints  # (n_distinct,), a row of the original X that is equal to each


def distinct_rows(X: Features) -> DistinctRows:
    """Merge equal rows of X.

    Examples that are equal carry one answer, so they share one vertex; copies would otherwise fill each
    other's neighbour lists and cut themselves off from everyone else. The vertices are ordered by their content:
    whoever permutes the examples, or scales X, gets the same graph in the same order, ties between neighbours
    included.
    """
    order, starts = _sparse_order(X) if sp.issparse(X) else _dense_order(X)
    vertex = np.empty(X.shape[0], dtype=np.int64)
    vertex[order] = np.cumsum(starts) - 1
    rows = order[starts]
    return DistinctRows(X[rows], vertex, rows)


def _sparse_order(X: Features) -> tuple[Ints, Bools]:
    """Rows sorted by content, and whether each differs from the one before."""
    keys = _sparse_keys(X)
    order = sorted(range(len(keys)), key=keys.__getitem__)
    starts = [True] + [keys[a] != keys[b] for a, b in pairwise(order)]
    return np.asarray(order), np.asarray(starts)


def _dense_order(X: Floats) -> tuple[Ints, Bools]:
    """The same, column after column; only rows that are equal so far are compared again."""
    n = X.shape[0]
    order, starts = np.arange(n), np.zeros(n, dtype=bool)
    starts[0] = True
    for column in X.T:
        open_ = ~starts
        open_[:-1] |= ~starts[1:]  # in a run of two rows or more
        places = np.flatnonzero(open_)
        if not places.size:
            break
        values = column[order[places]]
        if (values == values[0]).all():
            continue
        run = np.cumsum(starts)[places]
        ranked = np.lexsort((values, run))
        order[places], values = order[places][ranked], values[ranked]
        starts[places[1:]] |= (values[1:] != values[:-1]) & (run[1:] == run[:-1])
    return order, starts


def fingerprints(X: Features) -> Ints:
    """Hash each row by its content: equal rows have equal numbers, others differ (up to chance, 2^-64)."""
    if not sp.issparse(X):
        return _dense_marks(X)
    digests = b"".join(blake2b(key, digest_size=8).digest() for key in _sparse_keys(X))
    return np.frombuffer(digests, dtype=np.int64)


def _dense_marks(X: Floats) -> Ints:
    """Bits of each row's numbers, mixed one after the other (the finaliser of splitmix64)."""
    marks = np.zeros(len(X), dtype=np.uint64)
    for a in range(0, len(X), ROWS_AT_ONCE):
        columns = (
            np.asarray(X[a : a + ROWS_AT_ONCE] + 0.0, dtype=np.float64).T.copy().view(np.uint64)
        )  # -0.0 equals 0.0
        mark = np.full(columns.shape[1], X.shape[1], dtype=np.uint64)
        for bits in columns:
            mark += bits + INCREMENT
            mark ^= mark >> np.uint64(30)
            mark *= FIRST_FACTOR
            mark ^= mark >> np.uint64(27)
            mark *= SECOND_FACTOR
            mark ^= mark >> np.uint64(31)
        marks[a : a + ROWS_AT_ONCE] = mark
    return marks.view(np.int64)


def _sparse_keys(X: Features) -> list[bytes]:
    X = sp.csr_array(X, copy=True)
    X.sum_duplicates()
    X.eliminate_zeros()
    indices, data = X.indices.astype(">i8"), X.data.astype(">f8")
    counts = np.diff(X.indptr).astype(">i8")
    cuts = enumerate(pairwise(X.indptr))
    return [counts[i].tobytes() + indices[a:b].tobytes() + data[a:b].tobytes() for i, (a, b) in cuts]
