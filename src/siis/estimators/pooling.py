"""Who answers for new examples, and the scores of all vertices and held-out labels."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TypeAlias

import numpy as np

from siis._types import Features, Floats, Ints, Sparse
from siis.experts import Forest, LinearScores, Pool
from siis.result_table import Table

Model: TypeAlias = Forest | LinearScores


@dataclass(frozen=True, eq=False)
class Voices:
    """Models that score new examples.

    Attributes
    ----------
    pool : Pool
        The neighbours on the graph first, then the models.
    models : tuple of Forest and LinearScores
    graph : ndarray of shape (n_vertices, c)
        Scores of the vertices.
    """

    pool: Pool
    models: tuple[Model, ...]
    graph: Floats

    def score(self, X: Features, graph: Floats) -> Floats:
        """Score new examples.

        Parameters
        ----------
        X : array or csr_array of shape (n, d)
        graph : ndarray of shape (n, c)
            Means of their neighbours' scores.

        Returns
        -------
        ndarray of shape (n, c)
        """
        return self.pool([graph, *(model(X) for model in self.models)])

    def score_vertices(self, W: Sparse, X: Features | None, rows: Ints) -> Floats:
        """Score some vertices as if they were new examples: by their neighbours, of weights W, and the models."""
        around = neighbor_means(W, self.graph, rows)
        return around if X is None or not self.models else self.score(X[rows], around)


def neighbor_means(W: Sparse, values: Floats, rows: Ints) -> Floats:
    """Weighted means of values at the neighbours of some vertices, shape (r, c); 0 where there are none."""
    degrees = np.asarray(W.sum(axis=1)).ravel()[rows]
    return np.asarray(W[rows] @ values) / np.where(degrees > 0, degrees, 1.0)[:, None]


@dataclass(frozen=True, eq=False)
class Pooled:
    """Class scores of all vertices and of held-out labels.

    Attributes
    ----------
    voices : Voices
    final : ndarray of shape (n_vertices, c)
    held_out : ndarray of shape (h, c)
    table : Table
        Families of members, their weights and held-out accuracy; last, of all together.
    """

    voices: Voices
    final: Floats
    held_out: Floats
    table: Table
