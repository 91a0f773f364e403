"""Fitted trees as arrays, which score new examples and can be saved."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import scipy.sparse as sp

from siis._types import Features, Floats, Ints

FLOOR = 0.02  # of the probability 1 / c: a class without a vote is unlikely, not impossible
BLOCK = 2**22  # places in trees at once


@dataclass(frozen=True, eq=False)
class Forest:
    """Trees as arrays, all nodes after each other: t trees of k nodes."""

    roots: Ints  # (t,)
    feature: Ints  # (k,), column of a node's split; -1 in a leaf
    threshold: Floats  # (k,), examples with no more than this go left
    left: Ints  # (k,), nodes after this one; 0 in a leaf
    right: Ints
    votes: Floats  # (k, c), shares of the classes in leaves
    center: Floats | None  # (d,); columns are centred and scaled first, so that single precision tells their values
    scale: Floats | None  # apart; None for sparse ones

    def __call__(self, X: Features) -> Floats:
        """Logarithms of the mean votes for examples, shape (n, c)."""
        votes = np.empty((X.shape[0], self.votes.shape[1]))
        for rows, leaves in self.leaves(X):
            votes[rows] = self.votes[leaves].mean(axis=1)
        return _logarithms(votes)

    def leaves(self, X: Features) -> Iterator[tuple[slice, Ints]]:
        """Leaf of each example in each tree: (rows, leaves of shape (rows, t)), by blocks of rows."""
        step = max(1, BLOCK // self.roots.size)
        for a in range(0, X.shape[0], step):
            part = X[a : a + step]
            yield slice(a, a + part.shape[0]), self._leaves(single(part, self.center, self.scale))

    def _leaves(self, rows: Floats) -> Ints:
        at = np.tile(self.roots, (len(rows), 1))
        which = np.arange(len(rows))[:, None]
        while (inner := self.feature[at] >= 0).any():
            goes_left = rows[which, np.maximum(self.feature[at], 0)] <= self.threshold[at]
            at = np.where(inner, np.where(goes_left, self.left[at], self.right[at]), at)
        return at


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


def _logarithms(votes: Floats) -> Floats:
    return np.asarray(np.log(np.maximum(votes, FLOOR / votes.shape[1])))
