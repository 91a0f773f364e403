"""What the graph and the models of the features say together, of every vertex and of every held-out label."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
import scipy.sparse as sp

from siis._types import Features, Floats, Ints
from siis.estimators.evidence import Evidence
from siis.experts import Forest, LinearScores, Pool, fit_pool, forest_scores, linear_scores
from siis.experts.forest import LEAVES, MOST_COLUMNS
from siis.progress import Progress
from siis.result_table import Table

GRAPH = "graph"
LEAST_LABELS = 10  # below, a model of the features alone says nothing


@dataclass(frozen=True, eq=False)
class Pooled:
    """Class scores of all vertices and of held-out labels, and what is needed to score new examples.

    Attributes
    ----------
    pool : Pool
        The graph first, then the models.
    models : tuple of Forest and LinearScores
    graph : ndarray of shape (n_vertices, c)
        What the graph says.
    final : ndarray of shape (n_vertices, c)
        What all say together.
    held_out : ndarray of shape (h, c)
        The same of held-out labels.
    table : Table
        Experts, their weight and how many of the held-out labels each meets.
    """

    pool: Pool
    models: tuple[Forest | LinearScores, ...]
    graph: Floats
    final: Floats
    held_out: Floats
    table: Table

    def score(self, X: Features, graph: Floats) -> Floats:
        """Score new examples.

        Parameters
        ----------
        X : array or csr_array of shape (n, d)
        graph : ndarray of shape (n, c)
            What the graph says of them.

        Returns
        -------
        ndarray of shape (n, c)
        """
        return self.pool([graph, *(model(X) for model in self.models)])


def pool_experts(evidence: Evidence, graph: Floats, X: Features | None, seed: int, progress: Progress) -> Pooled:
    """Ask the models of the features, and weigh what they and the graph say by held-out labels.

    Parameters
    ----------
    evidence : Evidence
    graph : ndarray of shape (n_vertices, c)
        What the graph says of all vertices.
    X : array or csr_array of shape (n_vertices, d), or None
        The examples at the vertices; None for a ready-made graph.
    seed : int
    progress : Progress

    Returns
    -------
    Pooled
    """
    names, scores, models = [GRAPH], [graph], []
    if X is not None and evidence.rows.size >= LEAST_LABELS:
        with progress.stage("experts"):
            given = evidence.given
            if X.shape[1] <= MOST_COLUMNS:
                for leaf in LEAVES:
                    found = forest_scores(X, given, leaf, seed)
                    names.append(f"forest, leaves of {leaf}")
                    scores.append(found[0])
                    models.append(found[1])
            found_linear = linear_scores(X, given)
            names.append("linear model")
            scores.append(found_linear[0])
            models.append(found_linear[1])
    rows = evidence.rows
    held_out = [evidence.readings, *(found[rows] for found in scores[1:])]
    place = np.searchsorted(evidence.given.rows, rows)
    given = evidence.given.picked(place)
    pool = fit_pool(tuple(names), held_out, scores, given, given.votes)
    table = Table.from_rows(
        [
            {"expert": name, "weight": float(weight), "accuracy": _met(held, given.Y, given.votes)}
            for name, weight, held in zip(names, pool.weights, held_out, strict=True)
        ],
        ("expert", "weight", "accuracy"),
    )
    return Pooled(pool, tuple(models), graph, pool(scores), pool(held_out), table)


def _met(scores: Floats, Y: Floats, votes: Floats) -> float:
    """Share of the held-out labels that is met."""
    if not len(Y):
        return float("nan")
    return float(votes @ Y[np.arange(len(Y)), np.argmax(scores, axis=1)] / votes.sum())
