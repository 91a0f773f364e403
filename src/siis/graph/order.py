"""Numbering of vertices in which neighbours lie close to each other: products with the graph are bound by memory."""

from __future__ import annotations

import numpy as np
import scipy.sparse as sp
from scipy.sparse.csgraph import reverse_cuthill_mckee

from siis._types import Ints, Sparse

GROUP = 8192  # vertices that are kept together: their rows of a block fit into a core's own cache
ROUNDS = 15


def local_order(W: Sparse) -> Ints:
    """Order vertices so that most of the neighbours of each are among the next few thousand.

    Reverse Cuthill-McKee gives a first order. Cut into groups of a few thousand, each vertex then joins, round after
    round, the group with which it has most weight; groups follow each other, and in each the first order.

    Returns the former number of each vertex, (n,).
    """
    n = W.shape[0]
    first = reverse_cuthill_mckee(sp.csr_matrix(W), symmetric_mode=True)
    place = np.empty(n, dtype=np.int64)
    place[first] = np.arange(n)
    group = place // GROUP
    own = sp.csr_matrix(W) + sp.identity(n, format="csr") * 1e-9 * float(W.data.max(initial=1.0))
    for _ in range(ROUNDS):
        members = sp.csr_matrix((np.ones(n), group, np.arange(n + 1)), shape=(n, group.max() + 1))
        votes = sp.csr_matrix(own @ members)
        most = np.maximum.reduceat(votes.data, votes.indptr[:-1])
        rows = np.repeat(np.arange(n), np.diff(votes.indptr))
        won = votes.data == most[rows]
        group = np.full(n, group.max() + 1)
        np.minimum.at(group, rows[won], votes.indices[won])
    return np.lexsort((place, group))
