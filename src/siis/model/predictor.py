"""Scores of new examples: their neighbours' scores and models of the features, added up."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TypeAlias

import numpy as np

from siis._types import Features, Floats, Ints, Sparse
from siis.engine.rows import evenly
from siis.model.linear import LinearScores
from siis.model.scores import centred
from siis.model.trees import Forest

Model: TypeAlias = Forest | LinearScores
MOST_COMPARED = 5000  # vertices by which weights are fitted
NEIGHBORS = "neighbours"  # the mean score of the neighbours on the graph


@dataclass(frozen=True, eq=False)
class Predictor:
    """s(x) = sum_e weight_e s_e(x), (C10), with the neighbours on the graph first, then models of the features."""

    names: tuple[str, ...]  # (e,)
    weights: Floats  # (e,), of scores as they come
    models: tuple[Model, ...]  # (e - 1,)
    graph_scores: Floats  # (n_vertices, c)

    def score(self, X: Features, of_neighbors: Floats) -> Floats:
        """Scores of new examples, shape (n, c), given the means of their neighbours' scores; rows have mean 0."""
        scores = [of_neighbors, *(model(X) for model in self.models)]
        total = np.zeros_like(of_neighbors)
        for weight, found in zip(self.weights.tolist(), scores, strict=True):
            total += weight * found
        total -= np.mean(total, axis=1, keepdims=True)
        return total

    def score_vertices(self, W: Sparse, X: Features | None, rows: Ints) -> Floats:
        """Scores of some vertices as if they were new examples: by their neighbours, of weights W, and the models."""
        of_neighbors = neighbor_means(W, self.graph_scores, rows)
        return of_neighbors if X is None or not self.models else self.score(X[rows], of_neighbors)


def fit_predictor(W: Sparse, X: Features | None, scores: Floats, models: dict[str, Model]) -> Predictor:
    """Weights with which neighbours and models, by name, reproduce scores of vertices, each from its neighbours."""
    names = (NEIGHBORS, *models)
    if not models or X is None:
        return Predictor(names[:1], np.ones(1), (), scores)
    rows = evenly(len(scores), MOST_COMPARED)
    found = [neighbor_means(W, scores, rows), *(centred(model(X[rows])) for model in models.values())]
    A = np.stack([np.asarray(s, dtype=np.float64).ravel() for s in found], axis=1)
    gram = A.T @ A
    gram[np.diag_indices_from(gram)] += 1e-6 * max(float(np.trace(gram)) / len(gram), 1e-300)
    weights = np.linalg.solve(gram, A.T @ np.asarray(scores[rows], dtype=np.float64).ravel())
    return Predictor(names, weights, tuple(models.values()), scores)


def neighbor_means(W: Sparse, values: Floats, rows: Ints) -> Floats:
    """Weighted means of values at the neighbours of some vertices, shape (r, c); 0 where there are none."""
    degrees = np.asarray(W.sum(axis=1)).ravel()[rows]
    return np.asarray(W[rows] @ values) / np.where(degrees > 0, degrees, 1.0)[:, None]
