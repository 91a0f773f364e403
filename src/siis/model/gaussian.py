"""Kernel ridge regression of the label rows on the points, with leave-one-out answers in closed form."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import nullcontext
from dataclasses import dataclass

import numpy as np
import scipy.linalg as sl

from siis._types import Floats, Ints, answer_type
from siis.engine import NUMPY, Engine
from siis.engine.blocks import row_pieces
from siis.engine.rows import dots
from siis.engine.threads import Result, in_threads, one_blas_thread
from siis.engine.types import Array, Namespace
from siis.labels import VertexLabels

MOST_EXACT = 1500  # labels that are all centres; more would cost their cube
FEW_CENTERS = 1000  # where labels are more
JITTER = 1e-9  # on the diagonal of the centres' kernel: rounding may make it singular
FEW_LABELS = 500  # up to which threads of the linear algebra library cost more than they save
SINGLE_FROM = 2**24  # points times centres, from which on single precision is worth it,
SINGLE_ERROR = 1e-3  # and the rounding of a score up to which it will do
FARTHEST = 1e6  # widths of the kernel, beyond which the kernel is 0
BLOCK = 2**18  # numbers in one block of the kernel, which stays in a core's cache
BLOCK_ELSEWHERE = 2**26  # the same off the host, where it is not caches that count


@dataclass(frozen=True, eq=False)
class GaussianScores:
    """f(x) = mean + sum_j exp(-width ||x - z_j||^2) a_j, (C1)."""

    centers: Floats  # (p, d), the z_j
    coefficients: Floats  # (p, c), the a_j
    mean: Floats  # (c,)
    width: float

    def __call__(self, points: Floats, engine: Engine = NUMPY) -> Floats:
        """Scores of points, shape (n, c)."""
        scores = np.empty((len(points), self.mean.size), answer_type(len(points), self.mean.size))
        most = BLOCK if engine.is_host else BLOCK_ELSEWHERE
        step = max(1, most // max(len(self.centers), self.mean.size))
        centre, unit = self.centers.mean(axis=0), np.sqrt(self.width)  # whatever the units of the points are
        centers = unit * (self.centers - centre)
        is_large = len(points) * len(self.centers) >= SINGLE_FROM
        kind = np.float32 if is_large and self._rounding(centers) <= SINGLE_ERROR else np.float64
        B, coefficients = (engine.asarray(a, kind) for a in (centers, self.coefficients))

        def score(a: int) -> None:
            A = np.clip(unit * (points[a : a + step] - centre), -FARTHEST, FARTHEST)
            K = squared_distances(engine.asarray(A, kind), B, engine.xp)
            K *= -1
            K = np.exp(K, out=K) if engine.is_host else engine.xp.exp(K)
            scores[a : a + step] = self.mean + engine.numpy(K @ coefficients)

        blocks = range(0, len(points), step)
        if engine.is_host:
            with one_blas_thread():
                in_threads(score, blocks)
        else:
            for a in blocks:
                score(a)
        return scores

    def _rounding(self, centers: Floats) -> float:
        """How far rounding may move a score in single precision, estimated: that of exp(-D), times the sum of |a_j|.

        In units in which the width is 1, with r the largest norm of a centre about their mean: of points x within
        2 r, D is off by some 10 r^2 roundings; farther out, ||x||^2 exp(-D) <= 4 / e, since there D >= ||x||^2 / 4.
        """
        p, d = centers.shape
        roundings = 8 + np.log2(p) + np.log2(d) + 10 * float(dots(centers, centers, -1).max())
        return float(np.finfo(np.float32).eps) / 2 * float(roundings * np.abs(self.coefficients).sum(axis=0).max())


def squared_distances(A: Array, B: Array, xp: Namespace = np) -> Array:
    """Compute ||a - b||^2 for all pairs, shape (n_a, n_b); about the mean of B, where it keeps its digits."""
    center = xp.mean(B, axis=0)
    A, B = A - center, B - center
    squares = A @ B.T
    squares *= -2
    squares += dots(A, A, -1, xp)[:, None]
    squares += dots(B, B, -1, xp)
    return np.maximum(squares, 0.0, out=squares) if xp is np else xp.clip(squares, 0.0, None)


def gaussian_kernel(A: Floats, B: Floats, width: float) -> Floats:
    """Compute exp(-width ||a - b||^2) for all pairs, shape (n_a, n_b), by blocks that stay in a core's cache."""
    K = np.empty((len(A), len(B)))
    step = max(1, BLOCK // max(len(B), 1))
    for a in range(0, len(A), step):
        some = squared_distances(A[a : a + step], B)
        some *= -width
        np.exp(some, out=K[a : a + step])
    return K


def gaussian_scores(
    points: Floats, given: VertexLabels, width: float, ridge: float, engine: Engine = NUMPY
) -> tuple[Floats, GaussianScores]:
    """Scores of all points, shape (n, c), the labelled ones without their own labels; one label for each vertex."""
    if given.rows.size > MOST_EXACT:
        centers = points[_some(given.rows, FEW_CENTERS)]
        L, B = _features(points[given.rows], centers, width)
        a, held_out = _fit_features(B, given, ridge, _weighted_gram(B, given.normalized_weights))
        coefficients = sl.solve_triangular(L.T, a, lower=False, check_finite=False)
    else:
        centers = points[given.rows]
        K = gaussian_kernel(centers, centers, width)
        coefficients, held_out = _fit_kernel(K, given, ridge)
    model = GaussianScores(centers, coefficients, given.prior, width)
    scores = model(points, engine)
    scores[given.rows] = held_out
    return scores, model


def _fit_kernel(K: Floats, given: VertexLabels, ridge: float) -> tuple[Floats, Floats]:
    """Coefficients (C1) for the kernel of the labelled points, shape (l, l), and the leave-one-out answers (C2)."""
    M = K.copy()
    M[np.diag_indices_from(M)] += ridge / given.normalized_weights
    with one_blas_thread() if len(M) <= FEW_LABELS else nullcontext():
        inverse = sl.cho_solve(sl.cho_factor(M, check_finite=False), np.eye(len(M)), check_finite=False)
    coefficients = inverse @ (given.Y - given.prior)  # (C1)
    return coefficients, given.Y - coefficients / np.diagonal(inverse)[:, None]  # (C2)


def _fit_features(B: Floats, given: VertexLabels, ridge: float, M: Floats) -> tuple[Floats, Floats]:
    """The same for ridge regression on B, shape (l, p), with M = B' W B, which is overwritten: (C1b), (C2b)."""
    weights, Y = given.normalized_weights, given.Y - given.prior
    M[np.diag_indices_from(M)] += ridge
    R = sl.cholesky(M, lower=True, check_finite=False)
    a = sl.cho_solve((R, True), B.T @ (weights[:, None] * Y), check_finite=False)  # (C1b)
    leverage = np.empty(len(B))

    def measure(rows: slice) -> None:
        half = sl.solve_triangular(R, B[rows].T, lower=True, check_finite=False)
        leverage[rows] = weights[rows] * dots(half, half, -2)

    _by_rows(measure, len(B))
    return a, given.Y - (Y - B @ a) / (1 - leverage)[:, None]  # (C2b)


def _weighted_gram(B: Floats, weights: Floats) -> Floats:
    """B' diag(weights) B: of products of matrices with their own transposes, which take half of the work."""

    def gram(rows: slice) -> Floats:
        half = np.sqrt(weights[rows])[:, None] * B[rows]
        return np.asarray(half.T @ half)

    total: Floats = sum(_by_rows(gram, len(B)))  # type: ignore[assignment]
    return total


def _features(points: Floats, centers: Floats, width: float) -> tuple[Floats, Floats]:
    """L with L L' = k(centres, centres), and the rows B = k(points, centres) L'^-1, so that B B' is nearly k."""
    K = gaussian_kernel(centers, centers, width)
    K[np.diag_indices_from(K)] += JITTER
    L = sl.cholesky(K, lower=True, check_finite=False)
    B = np.empty((len(points), len(centers)))

    def fill(rows: slice) -> None:
        of_points = gaussian_kernel(points[rows], centers, width)
        B[rows] = sl.solve_triangular(L, of_points.T, lower=True, check_finite=False).T

    _by_rows(fill, len(points))
    return L, B


def _by_rows(work: Callable[[slice], Result], n: int) -> list[Result]:
    """Pieces of rows in threads, whose number does not depend on the machine."""
    with one_blas_thread():
        return in_threads(work, row_pieces(n))


def _some(rows: Ints, most: int) -> Ints:
    """At most so many, evenly spread."""
    return rows[np.linspace(0, rows.size - 1, most).astype(np.int64)]
