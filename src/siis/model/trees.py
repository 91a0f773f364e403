"""Fitted trees as arrays, which score new examples and can be saved."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import scipy.sparse as sp

from siis._types import Features, Floats, Ints
from siis.engine.loops import tree_votes
from siis.engine.threads import in_threads

FLOOR = 0.02  # of the probability 1 / c: a class without a vote is unlikely, not impossible
BLOCK = 512  # rows of a piece of work
NO_COUNTS = np.zeros((0, 0), dtype=np.int64)


@dataclass(frozen=True, eq=False)
class Forest:
    """Trees as arrays, all nodes after each other: t trees of k nodes."""

    roots: Ints  # (t,)
    feature: Ints  # (k,), column of a node's split; -1 in a leaf
    threshold: Floats  # (k,), examples with no more than this go left
    left: Ints  # (k,), nodes after this one; 0 in a leaf
    right: Ints
    votes: Floats  # (k, c), shares of the classes in leaves
    center: Floats | None  # (d,); columns are centred and scaled first, so that single precision can separate
    scale: Floats | None  # their values; None for sparse ones

    def __call__(self, X: Features) -> Floats:
        """Logarithms of the mean votes for examples, shape (n, c)."""
        votes = self.mean_votes(lambda rows: single(X[rows], self.center, self.scale), X.shape[0])
        return np.asarray(np.log(np.maximum(votes, FLOOR / votes.shape[1])))

    def mean_votes(self, rows_of: Callable[[slice], Floats], n: int, counts: Ints = NO_COUNTS) -> Floats:
        """Mean votes for rows in single precision, centred and scaled, shape (n, c).

        counts, (t, n): only by the trees in which a row counts 0 times; 1 / c for each class where there is none.
        """
        c = self.votes.shape[1]

        def piece(rows: slice) -> Floats:
            part = rows_of(rows)
            votes, n_used = np.zeros((len(part), c)), np.zeros(len(part))
            arrays = self.roots, self.feature, self.threshold, self.left, self.right, self.votes
            tree_votes(part, *arrays, np.ascontiguousarray(counts[:, rows]), votes, n_used)
            return np.asarray(np.where(n_used > 0, votes.T / np.maximum(n_used, 1), 1 / c).T)

        return np.concatenate(in_threads(piece, [slice(a, min(a + BLOCK, n)) for a in range(0, n, BLOCK)]))


def as_arrays(grown: Sequence[Any], center: Floats | None, scale: Floats | None) -> Forest:
    """Trees fitted to label rows, of examples centred and scaled so, as arrays."""
    trees = [tree.tree_ for tree in grown]
    roots = np.cumsum([0, *(tree.node_count for tree in trees[:-1])])
    votes = np.concatenate([tree.value.reshape(tree.node_count, -1) for tree in trees]).astype(np.float32)
    feature = np.concatenate([tree.feature for tree in trees])
    left = np.concatenate([tree.children_left + root for tree, root in zip(trees, roots, strict=True)])
    right = np.concatenate([tree.children_right + root for tree, root in zip(trees, roots, strict=True)])
    return Forest(
        roots.astype(np.int32),
        np.where(feature < 0, -1, feature).astype(np.int32),
        np.concatenate([tree.threshold for tree in trees]),
        np.where(feature < 0, 0, left).astype(np.int32),
        np.where(feature < 0, 0, right).astype(np.int32),
        votes,
        center,
        scale,
    )


def single(X: Features, center: Floats | None, scale: Floats | None) -> Floats:
    """Dense examples in single precision, centred and scaled."""
    if sp.issparse(X):
        X = X.toarray()
    return np.asarray(X if center is None or scale is None else (X - center) / scale, dtype=np.float32)


def as_indexed(X: Features) -> Features:
    """Sparse matrices in single precision with 32-bit indices, as trees want them."""
    if not sp.issparse(X):
        return X
    X = sp.csr_matrix(X, dtype=np.float32)
    X.indices, X.indptr = X.indices.astype(np.int32), X.indptr.astype(np.int32)
    return X
