"""Ridge regression of label rows in a kernel, and its scores without one label or a block of labels, exactly."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import scipy.linalg as sl

from siis._types import Floats, Ints
from siis.model.link import MemberLabels

LEFT = 1e-9  # share of the other labels, below which they have no mean of their own
TINY = 1e-12  # deviation of a column of scores that says nothing


@dataclass(frozen=True, eq=False)
class Scale:
    """What columns of scores are shifted and divided by."""

    center: Floats
    unit: Floats

    @classmethod
    def none(cls, c: int) -> Scale:
        """Scores stay as they are."""
        return cls(np.zeros(c), np.ones(c))

    def __call__(self, scores: Floats) -> Floats:
        """Scaled scores."""
        return np.asarray((scores - self.center) / self.unit)


def scale_of(scores: Floats, prior: Floats | None = None) -> Scale:
    """The scale of scores, shape (n, c): their means and deviations; see ``units`` for those with a prior."""
    deviation = scores.std(axis=0)
    return Scale(scores.mean(axis=0) if prior is None else prior, units(deviation, prior is not None))


def units(deviation: Floats, is_balanced: bool) -> Floats:
    """What scores are divided by, shape (..., c): their deviations, where classes are of like size.

    Where they are not, the column of a large class varies more because there is more of it: it is balanced by the
    root of its deviation, and keeps its mean but for the frequency of the label.
    """
    safe = np.where(deviation > TINY, deviation, 1.0)
    if not is_balanced:
        return np.asarray(safe)
    return np.asarray(np.sqrt(safe * np.maximum(deviation.mean(axis=-1, keepdims=True), TINY)))


@dataclass(frozen=True, eq=False)
class Ridge:
    """The inverse of M = K + diag(1 / (fidelity w)) of the labelled vertices."""

    inverse: Floats  # (l, l)
    prior: Floats  # (l,), weights of the labels in the mean label; they sum to 1

    @classmethod
    def of(cls, K: Floats, labels: MemberLabels, fidelity: float) -> Ridge:
        """Factor the kernel of the labelled vertices, shape (l, l)."""
        M = np.array(K, dtype=np.float64)
        M[np.diag_indices_from(M)] += 1 / (fidelity * labels.weights)
        inverse, info = sl.lapack.dpotrf(M, lower=1, overwrite_a=1)
        if info == 0:
            inverse, info = sl.lapack.dpotri(inverse, lower=1, overwrite_c=1)
        if info != 0:
            raise np.linalg.LinAlgError("the kernel of the labelled examples is not positive definite")
        below = np.tril(inverse, -1)
        return cls(np.diag(np.diagonal(inverse)) + below + below.T, labels.counts / labels.counts.sum())

    def fit(self, T: Floats) -> tuple[Floats, Floats]:
        """Coefficients of the targets, shape (l, c), and their mean, (c,).  (D1)"""
        mean = self.prior @ T
        return self.inverse @ (T - mean), mean

    def alone(self, R: Floats, mean: Floats, T: Floats, columns: Floats, is_balanced: bool = False) -> Floats:
        """Standardised scores of each label by the others, exactly, shape (l, c).  (D1)

        The scale is that of the same scores on some vertices, whose columns of the kernel are given, shape (m, l): as
        if the model had been fitted without the label.
        """
        A, prior = self.inverse, self.prior[:, None]
        shift = prior * (mean - T) / np.maximum(1 - prior, LEFT)  # of the mean label, without the label
        ones = A.sum(axis=1)
        ratio = (R - shift * ones[:, None]) / np.diagonal(A)[:, None]
        K = columns.mean(axis=0)
        centred = columns - K
        C, u = centred @ A, centred @ ones
        scores, m = centred @ R, len(columns)
        variance = (
            np.mean(scores**2, axis=0)
            + shift**2 * np.mean(u**2)
            + np.mean(C * C, axis=0)[:, None] * ratio**2
            - 2 * shift * (u @ scores) / m
            - 2 * (C.T @ scores) / m * ratio
            + 2 * shift * ratio * (C.T @ u)[:, None] / m
        )
        center = mean + shift
        if not is_balanced:
            center = center + K @ R - shift * (K @ ones) - (K @ A)[:, None] * ratio
        return np.asarray((T - ratio - center) / units(np.sqrt(np.maximum(variance, 0)), is_balanced))

    def without(self, held: Ints, kept: Ints, T: Floats) -> Floats:
        """Scores of the kept labels without their own and without the held ones, shape (kept, c).  (D5)"""
        A = self.inverse
        excess = T[kept] - self._mean(kept, T[kept])
        cross = A[np.ix_(kept, held)]
        B = np.linalg.solve(A[np.ix_(held, held)], cross.T).T
        products = self._times_kept(kept, np.column_stack([excess, np.ones(kept.size)]))
        R = products[:, :-1] - B @ (cross.T @ excess)
        ones = products[:, -1] - B @ cross.sum(axis=0)
        diagonal = np.diagonal(A)[kept] - np.sum(B * cross, axis=1)
        prior = self.prior[kept][:, None] / self.prior[kept].sum()
        shift = -prior * excess / np.maximum(1 - prior, LEFT)
        return np.asarray(T[kept] - (R - shift * ones[:, None]) / diagonal[:, None])

    def held_out(self, held: Ints, kept: Ints, T: Floats, columns: Floats, is_balanced: bool = False) -> Floats:
        """Standardised scores of the held labels by targets of the kept ones, shape (held, c).  (D5)

        The scale is that of the same scores on some vertices, as in ``alone``.
        """
        A, mean = self.inverse, self._mean(kept, T)
        cross = A[np.ix_(held, kept)]
        excess = np.linalg.solve(A[np.ix_(held, held)], cross @ (T - mean))
        R = np.zeros((len(A), T.shape[1]))
        R[kept] = self._times_kept(kept, T - mean) - cross.T @ excess
        return scale_of(mean + columns @ R, mean if is_balanced else None)(mean - excess)

    def _times_kept(self, kept: Ints, values: Floats) -> Floats:
        """The kept block of the inverse times values, without a copy of it."""
        every = np.zeros((len(self.inverse), values.shape[1]))
        every[kept] = values
        return np.asarray((self.inverse @ every)[kept])

    def _mean(self, kept: Ints, T: Floats) -> Floats:
        return np.asarray(self.prior[kept] @ T / self.prior[kept].sum())
