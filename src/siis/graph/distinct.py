"""Equal examples are one vertex: find the distinct rows of X, in an order that X's order does not touch."""

from dataclasses import dataclass
from hashlib import blake2b

import numpy as np
import scipy.sparse as sp

from siis._types import Features, Ints


@dataclass(frozen=True, eq=False)
class DistinctRows:
    """The distinct rows of X.

    Attributes
    ----------
    X : array or csr_array of shape (n_distinct, d)
        One copy of each distinct row.
    vertex : ndarray of shape (n,)
        The distinct row that each row of the original X equals.
    """

    X: Features
    vertex: Ints


def distinct_rows(X: Features) -> DistinctRows:
    """Merge equal rows of X.

    Examples that are equal carry one answer, so they share one vertex; copies would otherwise fill each
    other's neighbour lists and cut themselves off from everyone else. The vertices are ordered by a digest of
    their content: whoever permutes the examples gets the same graph, in the same order.

    Parameters
    ----------
    X : array or csr_array of shape (n, d)

    Returns
    -------
    DistinctRows
    """
    digests = np.array(_sparse_digests(X) if sp.issparse(X) else _dense_digests(X), dtype="S16")
    _, first, vertex = np.unique(digests, return_index=True, return_inverse=True)
    return DistinctRows(X[first], vertex.astype(np.int64))


def _digest(content: bytes) -> bytes:
    return blake2b(content, digest_size=16).digest()


def _dense_digests(X: Features) -> list[bytes]:
    return [_digest((row + 0.0).tobytes()) for row in X]  # + 0.0: -0.0 equals 0.0


def _sparse_digests(X: Features) -> list[bytes]:
    X = sp.csr_array(X, copy=True)
    X.sum_duplicates()
    X.eliminate_zeros()
    cuts = zip(X.indptr[:-1], X.indptr[1:], strict=True)
    indices = X.indices.astype(np.int64)
    return [_digest(indices[a:b].tobytes() + X.data[a:b].tobytes()) for a, b in cuts]
