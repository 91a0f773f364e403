"""Class scores of several models added up."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from siis._types import Floats


@dataclass(frozen=True, eq=False)
class Pool:
    """s(x) = sum_e weight_e s_e(x), (C10).

    Attributes
    ----------
    names : tuple of str
        Of the experts.
    weights : ndarray of shape (e,)
        On their scores as they come; what is pooled has a deviation of 1.
    """

    names: tuple[str, ...]
    weights: Floats

    def __call__(self, scores: list[Floats]) -> Floats:
        """Add up the experts' scores.

        Parameters
        ----------
        scores : list of e ndarrays of shape (n, c)

        Returns
        -------
        ndarray of shape (n, c)
            Without a mean over the classes.
        """
        total = np.zeros_like(scores[0])
        for weight, found in zip(self.weights.tolist(), scores, strict=True):
            total += weight * found
        total -= np.mean(total, axis=1, keepdims=True)
        return total
