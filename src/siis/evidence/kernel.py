"""Kernel ridge regression of the label rows on the points, with leave-one-out answers in closed form."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import scipy.linalg as sl

from siis._types import Floats
from siis.labels import Supervision

WIDTHS = (0.1, 0.3, 1.0, 3.0)  # over the median squared distance between labelled points
RIDGES = 10.0 ** np.arange(-3, 2.5, 0.5)
MOST_CENTERS = 2000  # labels that train the model; more would cost their cube
MOST_TO_CHOOSE = 700  # labels by which width and ridge are chosen
BLOCK = 2**23  # numbers in one block of the kernel


@dataclass(frozen=True, eq=False)
class Kernel:
    """k(x, z) = exp(-width ||x - z||^2), and the ridge that goes with it."""

    width: float
    ridge: float


@dataclass(frozen=True, eq=False)
class KernelScores:
    """f(x) = mean + sum_j k(x, z_j) a_j, (C1).

    Attributes
    ----------
    centers : ndarray of shape (p, d)
    coefficients : ndarray of shape (p, c)
    mean : ndarray of shape (c,)
    width : float
    """

    centers: Floats
    coefficients: Floats
    mean: Floats
    width: float

    def __call__(self, points: Floats) -> Floats:
        """Score points.

        Parameters
        ----------
        points : ndarray of shape (n, d)

        Returns
        -------
        ndarray of shape (n, c)
        """
        scores = np.empty((len(points), self.mean.size))
        step = max(1, BLOCK // len(self.centers))
        for a in range(0, len(points), step):
            K = np.exp(-self.width * squared_distances(points[a : a + step], self.centers))
            scores[a : a + step] = self.mean + K @ self.coefficients
        return scores


def squared_distances(A: Floats, B: Floats) -> Floats:
    """Compute ||a - b||^2 for all pairs, shape (n_a, n_b); about the mean of B, where it keeps its digits."""
    center = B.mean(axis=0)
    A, B = A - center, B - center
    squares = np.einsum("ij,ij->i", A, A)[:, None] + np.einsum("ij,ij->i", B, B) - 2 * (A @ B.T)
    return np.asarray(np.maximum(squares, 0.0, out=squares))


def choose_kernel(points: Floats, given: Supervision) -> Kernel:
    """Choose width and ridge by the squared error of the leave-one-out answers.

    With M = K + ridge diag(1 / w) and a = M^-1 (Y - mean), the answer without label i is y_i - a_i / (M^-1)_ii.

    Parameters
    ----------
    points : ndarray of shape (n, d)
    given : Supervision
        One label for each vertex.

    Returns
    -------
    Kernel
    """
    given = _subset(given, MOST_TO_CHOOSE)
    D = squared_distances(points[given.rows], points[given.rows])
    off = D[np.triu_indices(len(D), 1)]
    unit = float(np.median(off[off > 0])) if (off > 0).any() else 1.0
    Y, weights = given.Y - given.prior, given.weights / given.weights.mean()
    root = np.sqrt(weights)[:, None]
    best, error = Kernel(1 / unit, 1.0), np.inf
    for width in WIDTHS:
        values, V = sl.eigh(root * np.exp(-width / unit * D) * root.T, overwrite_a=True, check_finite=False)
        rotated, squares = V.T @ (root * Y), V**2
        for ridge in RIDGES:
            inverse = 1 / (np.maximum(values, 0.0) + ridge)
            misses = (V @ (inverse[:, None] * rotated)) / (squares @ inverse)[:, None]  # (C2) times root
            if (total := float(np.sum(misses**2))) < error * (1 - 1e-9):
                best, error = Kernel(width / unit, float(ridge)), total
    return best


def kernel_scores(points: Floats, given: Supervision, kernel: Kernel) -> tuple[Floats, KernelScores]:
    """Score all points; the labelled ones by the others' labels alone.

    Parameters
    ----------
    points : ndarray of shape (n, d)
    given : Supervision
        One label for each vertex.
    kernel : Kernel

    Returns
    -------
    scores : ndarray of shape (n, c)
    model : KernelScores
    """
    given = _subset(given, MOST_CENTERS)
    mean = given.prior
    weights = given.weights / given.weights.mean()
    centers = points[given.rows]
    M = np.exp(-kernel.width * squared_distances(centers, centers))
    M[np.diag_indices_from(M)] += kernel.ridge / weights
    inverse = sl.cho_solve(sl.cho_factor(M, check_finite=False), np.eye(len(M)), check_finite=False)
    coefficients = inverse @ (given.Y - mean)  # (C1)
    model = KernelScores(centers, coefficients, mean, kernel.width)
    scores = model(points)
    scores[given.rows] = given.Y - coefficients / np.diagonal(inverse)[:, None]  # (C2)
    return scores, model


def _subset(given: Supervision, most: int) -> Supervision:
    """At most so many of the labels, evenly spread over the vertices; the others' scores are out of sample."""
    if given.rows.size <= most:
        return given
    return given.picked(np.linspace(0, given.rows.size - 1, most).astype(np.int64))
