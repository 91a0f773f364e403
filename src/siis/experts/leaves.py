"""A graph of examples that fall into the same leaves of a forest, and what the labels say over it."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
import scipy.sparse as sp
from sklearn.decomposition import TruncatedSVD
from sklearn.ensemble import RandomForestClassifier

from siis._types import Features, Floats, Ints
from siis.engine.threads import n_threads
from siis.evidence import read, smooth_labels
from siis.experts.forest import Forest, as_arrays, as_indexed, one_forest, single
from siis.experts.linear import moments
from siis.graph import neighbors_between
from siis.graph.rough import graph_weights
from siis.labels import Supervision

N_TREES = 100
DIMENSIONS = 50
N_NEIGHBORS, KIND = 20, "union"
FIDELITY, PULL = 0.1, 1e-4
ASKED = 10  # neighbours of a new example
MOST_VERTICES = 10_000  # beyond, forests and graphs of all folds would take longer than all the rest


@dataclass(frozen=True, eq=False)
class LeafGraph:
    """Labels smoothed over neighbours in the space of a forest's leaves.

    Attributes
    ----------
    forest : Forest
    axes : ndarray of shape (k, q)
        The point of each leaf, by the forest's numbers of its nodes; an example is the sum over its leaves, (C10b).
    points : ndarray of shape (n, q)
        Of the vertices.
    scores : ndarray of shape (n, c)
        What is read there.
    """

    forest: Forest
    axes: Floats
    points: Floats
    scores: Floats

    def __call__(self, X: Features) -> Floats:
        """Score examples: the mean over the nearest vertices.

        Parameters
        ----------
        X : array or csr_array of shape (n, d)

        Returns
        -------
        ndarray of shape (n, c)
        """
        Z = np.empty((X.shape[0], self.points.shape[1]))
        for rows, leaves in self.forest.leaves(X):
            Z[rows] = self.axes[leaves].sum(axis=1)
        near = neighbors_between(Z, self.points, min(ASKED, len(self.points)))
        return np.asarray(self.scores[near.indices].mean(axis=1))


def leaf_scores(
    X: Features,
    given: Supervision,
    parts: Sequence[Ints],
    reading: str,
    seed: int,
    is_worth: Callable[[Ints, Floats], bool] = lambda held, scores: True,
) -> tuple[Floats | None, Floats, LeafGraph | None]:
    """Score all vertices; and held-out labels by a forest and a graph that were made without them, fold by fold.

    Parameters
    ----------
    X : array or csr_array of shape (n, d)
    given : Supervision
        One label for each labelled example.
    parts : sequence of ndarray
        Indices of the labels that are held out together.
    reading : str
    seed : int
    is_worth : callable
        Takes the labels of the first part and what is read of them: whether to go on.

    Returns
    -------
    scores : ndarray of shape (n, c), or None
        None, as the model, where it was not worth to go on.
    held_out : ndarray of shape (l, c)
        0 where a label is held out in none of the parts, or was not reached.
    model : LeafGraph or None
    """
    center, scale = (None, None) if sp.issparse(X) else moments(X)
    points = as_indexed(X) if sp.issparse(X) else single(X, center, scale)
    held_out = np.zeros((given.rows.size, given.n_classes))
    for k, held in enumerate(parts):
        stay = np.setdiff1d(np.arange(given.rows.size), held)
        held_out[held] = _smoothed(points, given.picked(stay), reading, seed)[3][given.rows[held]]
        if k == 0 and not is_worth(held, held_out[held]):
            return None, held_out, None
    model, axes, Z, scores = _smoothed(points, given, reading, seed)
    return scores, held_out, LeafGraph(as_arrays(model, given.n_classes, center, scale), axes, Z, scores)


def _smoothed(
    points: Features, given: Supervision, reading: str, seed: int
) -> tuple[RandomForestClassifier, Floats, Floats, Floats]:
    """Grow a forest; the points of its leaves and of all examples, and what is read over their graph."""
    model = RandomForestClassifier(N_TREES, random_state=seed, n_jobs=n_threads())
    with one_forest():
        model.fit(points[given.rows], given.codes, sample_weight=given.relative_votes)
        every = model.apply(points)
    sizes = [tree.tree_.node_count for tree in model.estimators_]
    every = every + np.cumsum([0, *sizes[:-1]])
    leaves, place = np.unique(every, axis=0, return_inverse=True)  # equal ones are one vertex: no ties, no order
    place = place.ravel()
    n, given = len(leaves), given.moved(place).merged()
    indptr = np.arange(n + 1, dtype=np.int64) * N_TREES
    shared = sp.csr_array((np.ones(leaves.size), leaves.ravel(), indptr), shape=(n, sum(sizes)))
    if n < 3:  # no tree has found anything
        return model, np.zeros((sum(sizes), 1)), np.zeros((place.size, 1)), np.zeros((place.size, given.n_classes))
    q = min(DIMENSIONS, *(size - 1 for size in shared.shape))
    axes = np.ascontiguousarray(TruncatedSVD(q, n_iter=2, random_state=seed).fit(shared).components_.T)
    Z = np.asarray(shared @ axes)
    W = graph_weights(Z, min(N_NEIGHBORS, n - 1), KIND)
    return model, axes, Z[place], read(smooth_labels(W, given, FIDELITY, PULL), reading)[place]
