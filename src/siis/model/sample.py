"""A sample of large data on which members are chosen: of the examples, of the labels and of many classes."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import scipy.sparse as sp
from sklearn.preprocessing import normalize

from siis._types import Features, Floats, Ints
from siis.labels import VertexLabels
from siis.labels.folds import classes_in_order

MOST_VERTICES, MOST_LABELS = 2_500, 600  # in a sample
LEAST_LABELS = 400  # fewer cannot rank members, however thinly labels are spread
MOST_CLASSES = 64  # all of which are in it
GROUPS = 4  # of more classes: groups of near ones, in which are those that are confused
LEAST, LARGEST, ENOUGH = 16, 40, 600  # classes in a group: as many as it takes for so many labels
BLOCK = 2**22  # products of examples and classes at once


@dataclass(frozen=True, eq=False)
class Sample:
    """Examples, classes and labels on which members are chosen."""

    X: Features  # (n_sample, d)
    given: VertexLabels  # of the classes in it
    labels: Ints  # which of all labels these are
    classes: Ints  # which of all classes these are


def draw_sample(X: Features, given: VertexLabels, seed: int) -> Sample:
    """All there is; of many classes some groups of near ones; of many vertices some, labelled ones first."""
    n, c = X.shape[0], given.n_classes
    rng = np.random.default_rng(seed)
    vertices, labels, classes = np.arange(n), np.arange(given.rows.size), np.arange(c)
    if c > MOST_CLASSES and np.bincount(given.codes).max() > 1:  # else nothing can be held out
        classes, vertices = _near_classes(X, given, rng)
        labels = np.flatnonzero(np.isin(given.codes, classes))
        vertices = np.union1d(vertices, given.rows[labels])
    if vertices.size > MOST_VERTICES or labels.size > MOST_LABELS:
        # as thinly spread as they are: where half of the examples have one, hardly any smoothing seems to be enough
        n_labels = int(np.clip(MOST_VERTICES * labels.size / vertices.size, LEAST_LABELS, MOST_LABELS))
        labels = np.sort(rng.permutation(labels)[:n_labels])
        at = np.unique(given.rows[labels])
        others = np.setdiff1d(vertices, given.rows)
        others = rng.permutation(others)[: MOST_VERTICES - at.size]
        vertices = np.sort(np.concatenate([at, others]))
    place = np.full(n, -1)
    place[vertices] = np.arange(vertices.size)
    some = given.subset(labels).relabel(place)
    Y = some.Y[:, classes]
    some = VertexLabels(some.rows, Y / Y.sum(axis=1, keepdims=True), some.weights, some.counts)
    return Sample(X[vertices], some, labels, classes)


def _near_classes(X: Features, given: VertexLabels, rng: np.random.Generator) -> tuple[Ints, Ints]:
    """Groups of classes whose means are close to each other, and the vertices that are closest to these means.

    Of columns of unit variance; of rows of unit length where they are sparse.
    """
    codes, c = given.codes, given.n_classes
    counts = np.bincount(codes, minlength=c)
    shares = sp.csr_array((1 / counts[codes], (codes, given.rows)), shape=(c, X.shape[0]))
    if sp.issparse(X):
        Z = sp.csr_array(normalize(X))
        means = sp.csr_array(normalize(shares @ Z))
    else:
        deviation = X.std(axis=0)
        Z = np.asarray((X - X.mean(axis=0)) / np.where(deviation > 0, deviation, 1.0))
        means = np.asarray(shares @ Z)
    in_order = classes_in_order(codes)
    drawn = rng.permutation(in_order[counts[in_order] > 1])[:GROUPS]
    size = int(np.clip(ENOUGH * c / (GROUPS * codes.size), LEAST, LARGEST))
    near = np.argsort(-_closeness(means[drawn], means), axis=1, kind="stable")[:, :size]
    classes = np.unique(near)
    step = max(1, BLOCK // c)
    closest = [np.argmax(_closeness(Z[a : a + step], means), axis=1) for a in range(0, Z.shape[0], step)]
    return classes, np.flatnonzero(np.isin(np.concatenate(closest), classes))


def _closeness(A: Features, means: Features) -> Floats:
    """A'm - m'm / 2 for all pairs, shape (n_a, c): the larger, the closer."""
    products = A @ means.T
    if sp.issparse(products):
        return np.asarray(products.toarray())
    return np.asarray(products - np.einsum("ij,ij->i", means, means) / 2)
