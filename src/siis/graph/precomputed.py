"""Graphs that the user gives: distances instead of weights are refused."""

from __future__ import annotations

from typing import Any

import numpy as np
import scipy.sparse as sp
from scipy.stats import rankdata

from siis._types import Floats, Sparse
from siis.errors import Message
from siis.graph.graph import Graph

LEAST_VERTICES = 10  # vertices: smaller matrices do not show what they hold
SAMPLED_VERTICES = 500  # vertices of a full matrix that are looked at
FULL_SHARE = 0.9  # share of the pairs that have an entry, from which on a matrix is full
NEGATIVE, UNEQUAL = 10.0, 2.0  # centred distances: the lowest eigenvalue over the highest, and over the mean one
SAMPLED_EDGES = 2000  # of a sparse graph that are looked at
FALLING = -0.25  # rank correlation of entries with shares of common neighbours, below which they are distances
MOST_LARGE_EDGES = 0.95  # share of edges of a graph of distances that are of the k largest of an end
STANDARD_ERRORS = 3.0  # standard errors that it must lie below that


def graph_of_weights(W: Any) -> Graph:
    """Check a ready-made graph, (n, n)."""
    graph = Graph(W)
    if are_distances(graph.weights):
        raise ValueError(
            Message(
                "{precomputed} takes the weights of a graph, large where examples are alike; this matrix "
                "looks like distances, which are small there. Turn distances D into weights, for instance "
                "np.exp(-D**2 / (2 * np.median(D)**2)) with zeros on the diagonal, or fit to the features."
            )
        )
    return graph


def are_distances(W: Sparse) -> bool:
    """Whether a matrix holds distances, not weights.

    A full centred matrix of distances has negative eigenvalues far below the others. In a sparse graph of weights,
    the ends of large entries have many neighbours in common; of distances, few. A graph of nearest neighbours has its
    edges at the small distances, or the large weights, of their ends.
    """
    n = W.shape[0]
    if n < LEAST_VERTICES or W.nnz == 0:
        return False
    rng = np.random.default_rng(0)
    if W.nnz >= FULL_SHARE * n * (n - 1):
        some = np.sort(rng.choice(n, min(n, SAMPLED_VERTICES), replace=False))
        return _is_negative(W[some][:, some].toarray())
    if _joins_at_small(W):
        return True
    heads = np.repeat(np.arange(n), np.diff(W.indptr))
    some = rng.choice(W.nnz, min(W.nnz, SAMPLED_EDGES), replace=False)
    i, j = heads[some], W.indices[some]
    joined = sp.csr_array((np.ones(W.nnz), W.indices, W.indptr), shape=W.shape)
    common = np.asarray(joined[i].multiply(joined[j]).sum(axis=1)).ravel()
    degrees = np.diff(W.indptr)
    shares = common / (degrees[i] + degrees[j] - common)
    return bool(_rank_correlation(W.data[some], shares) < FALLING - STANDARD_ERRORS / np.sqrt(max(some.size, 1)))


def _is_negative(D: Floats) -> bool:
    """Whether a centred matrix has negative eigenvalues alone, some far below the mean."""
    centred = D - D.mean(axis=0) - D.mean(axis=1)[:, None] + D.mean()
    values = np.linalg.eigvalsh(centred)
    lowest = -float(values[0])
    return lowest > NEGATIVE * max(float(values[-1]), 0.0) and lowest > UNEQUAL * float(np.abs(values).mean())


def _joins_at_small(W: Sparse) -> bool:
    """Whether each edge is among the k smallest of an end, as of nearest neighbours, many not among the largest."""
    degrees = np.diff(W.indptr)
    k = int(degrees.min())
    if k == 0:
        return False
    heads = np.repeat(np.arange(W.shape[0]), degrees)
    ordered = W.data[np.lexsort((W.data, heads))]
    smallest, largest = ordered[W.indptr[:-1] + k - 1], ordered[W.indptr[1:] - k]
    is_small = (W.data <= smallest[heads]) | (W.data <= smallest[W.indices])
    is_large = (W.data >= largest[heads]) | (W.data >= largest[W.indices])
    return bool(is_small.all() and is_large.mean() < MOST_LARGE_EDGES)


def _rank_correlation(a: Floats, b: Floats) -> float:
    ranks = np.stack([rankdata(a), rankdata(b)])
    ranks -= ranks.mean(axis=1, keepdims=True)
    lengths = float(np.prod(np.linalg.norm(ranks, axis=1)))
    return float(ranks[0] @ ranks[1]) / lengths if lengths > 0 else 0.0
