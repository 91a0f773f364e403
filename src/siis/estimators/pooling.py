"""Who answers for new examples, and the scores of all vertices and held-out labels."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TypeAlias

from siis._types import Features, Floats
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
