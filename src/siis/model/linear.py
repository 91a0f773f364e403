"""Ridge regression of the label rows on the features, with leave-one-out answers in closed form."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import scipy.linalg as sl
import scipy.sparse as sp
from sklearn.preprocessing import normalize

from siis._types import Bools, Features, Floats, answer_type
from siis.labels import VertexLabels

RIDGES = 10.0 ** np.arange(-4, 2.1, 0.5)  # over the mean eigenvalue
MOST_IN_DUAL = 2000  # labels, where there are more columns than labels; the others are scored out of sample
MOST_PRIMAL = 2000  # columns
ROWS = 100_000  # by which columns are centred and scaled, where there are more
BLOCK = 2**24  # scores at once


@dataclass(frozen=True, eq=False)
class LinearScores:
    """f(x) = mean + ((x - center) / scale)' coefficients; sparse rows are scaled to length 1 instead."""

    center: Floats | None  # (d,), None for sparse features
    scale: Floats | None
    coefficients: Floats  # (d, c)
    mean: Floats  # (c,)

    def __call__(self, X: Features) -> Floats:
        """Scores of examples, shape (n, c)."""
        n, c = X.shape[0], self.mean.size
        scores = np.empty((n, c), answer_type(n, c))
        step = max(1, BLOCK // max(c, X.shape[1]))
        for a in range(0, n, step):
            scores[a : a + step] = self.mean + _scaled(X[a : a + step], self.center, self.scale) @ self.coefficients
        return scores


def linear_scores(X: Features, given: VertexLabels) -> tuple[Floats, Floats, LinearScores]:
    """Scores of all vertices, (n, c), of each label by the others alone, (l, c), and the model.

    Minimises sum_i w_i ||y_i - q - B' (z_i - m)||^2 + ridge ||B||^2, where z are the features of unit variance (of
    sparse X: rows of unit length), m their weighted mean over the labels and q the labels' frequencies, so that q is
    the best intercept. With H the hat matrix, the answer without label i is y_i - (y_i - f_i) / (1 - H_ii); the ridge
    is the one whose answers have the least squared error. One label for each labelled example.
    """
    everything, which = given, np.arange(given.rows.size)
    if given.rows.size > MOST_IN_DUAL and X.shape[1] > MOST_PRIMAL:
        which = np.linspace(0, given.rows.size - 1, MOST_IN_DUAL).astype(np.int64)
        given = given.subset(which)
    center, scale = (None, None) if sp.issparse(X) else moments(X)
    A = _scaled(X[given.rows], center, scale)
    share = given.counts / given.counts.sum()
    shift = np.asarray(A.T @ share)
    root = np.sqrt(given.normalized_counts)[:, None]
    A = A.multiply(root).tocsr() if sp.issparse(A) else root * (A - shift)
    q = given.prior
    R = root * (given.Y - q)
    U, values = _left_vectors(A, root, shift if sp.issparse(A) else np.zeros_like(shift))
    rotated, squares = U.T @ R, U**2
    unit = float(values.mean()) if values.size else 1.0
    best, error, held = 1.0, np.inf, given.Y
    for ridge in RIDGES * unit:
        shrink = values / (values + ridge)
        leverage = np.minimum(squares @ shrink + share, 1 - 1e-6)
        misses = (R - U @ (shrink[:, None] * rotated)) / (1 - leverage)[:, None]  # root times (C9)
        if (total := float(np.sum(misses**2))) < error * (1 - 1e-9):
            best, error, held = ridge, total, given.Y - misses / root
    dual = (R - U @ ((values / (values + best))[:, None] * rotated)) / best
    B = np.asarray(A.T @ dual)  # A'(AA' + ridge)^-1 R; what is taken off sparse A adds nothing, as root'R is 0
    model = LinearScores(center, scale, B, q - shift @ B)
    held_out = held if which.size == everything.rows.size else model(X[everything.rows])
    held_out[which] = held
    return model(X), held_out, model


def _left_vectors(A: Features, root: Floats, shift: Floats) -> tuple[Floats, Floats]:
    """Left singular vectors and squared singular values of A - root shift', shapes (l, r) and (r,).

    Where the shift is not 0, it is the mean of A over the squares of the root: A' root = (root' root) shift.
    """
    is_dual = A.shape[0] <= A.shape[1]
    gram = A @ A.T if is_dual else A.T @ A
    gram = gram.toarray() if sp.issparse(gram) else gram
    if is_dual:
        at = np.asarray(A @ shift)[:, None]
        gram = gram - at @ root.T - root @ at.T + (shift @ shift) * (root @ root.T)
    else:
        gram = gram - float(np.sum(root**2)) * np.outer(shift, shift)
    values, V = sl.eigh(gram, check_finite=False)
    kept = values > 1e-10 * max(float(values[-1]), 1e-300)
    V, values = V[:, kept], values[kept]
    return V if is_dual else np.asarray(A @ V - root * (shift @ V)) / np.sqrt(values), values


def moments(X: Floats) -> tuple[Floats, Floats]:
    """Mean and standard deviation of the columns; a constant one is divided by infinity. By some rows of many."""
    X = X[:: max(1, len(X) // ROWS)]
    center, deviation = X.mean(axis=0, dtype=np.float64), X.std(axis=0, dtype=np.float64)
    return center, np.where(live_columns(center, deviation), deviation, np.inf)


def live_columns(center: Floats, deviation: Floats) -> Bools:
    """Columns that are not constant but for rounding, shape (d,)."""
    largest = max(float(deviation.max(initial=0.0)), float(np.abs(center).max(initial=0.0)))
    return np.asarray(deviation > 1e-12 * largest)


def _scaled(X: Features, center: Floats | None, scale: Floats | None) -> Features:
    if center is None or scale is None:
        return sp.csr_array(normalize(X))
    return np.asarray((X - center) / scale)
