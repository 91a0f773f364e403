"""Distributions of examples: their vertices' for training examples, their neighbours' for new ones."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import scipy.sparse as sp

from siis._types import Bools, Features, Floats, Sparse
from siis.engine import Engine
from siis.estimators.result import FitResult
from siis.graph import neighbors_between, prepare
from siis.graph.graph import ASYMMETRY
from siis.labels import GivenLabels, gather
from siis.model.located import FittedGraph


def with_examples(
    result: FitResult, X: Features, labels: GivenLabels, engine: Engine, own: Floats | None = None
) -> FitResult:
    """The result with verified labels in its answers, and with a distribution for each example, X: (n, d).

    own, (l, c): distributions of labelled examples that differ from those of their vertices; NaN where they do not.
    """
    distributions, vertex = result.vertex_distributions, result.placed.vertex
    sure = labels.verified[labels.used]
    if sure.any():  # where labels of a vertex differ, their mean
        at = gather(vertex[labels.verified], labels.Y[sure], labels.weights[sure], labels.kinds[sure]).aggregate()
        distributions[at.rows] = at.Y
    P, reached, is_off = distributions[vertex], result.vertex_reached[vertex], vertex < 0
    if is_off.any():
        P[is_off], reached[is_off] = predict_new(result, X[is_off], engine)
    if own is not None:
        at_label = vertex[labels.used]
        is_verified = (at_label >= 0) & np.isin(at_label, vertex[labels.verified])  # an equal example's label decides
        differs = ~np.isnan(own[:, 0]) & ~is_verified
        P[np.flatnonzero(labels.used)[differs]] = own[differs]
    return replace(result, distributions=P, reached=reached)


def predict_new(result: FitResult, X: Features, engine: Engine) -> tuple[Floats, Bools]:
    """Distributions of new examples, (n, c), and whether a label reaches one of their neighbours, (n,)."""
    if result.placed.points is None:
        return _by_given_weights(result, sp.csr_array(X))
    X = _as_fitted(result.fitted, X)
    weights, is_known = neighbor_weights(result, X, engine)
    answers = _means(weights, result.vertex_distributions, result.prior)
    average = result.average
    if average is not None and result.quality is not None and average.predictor.models and not is_known.all():
        new, columns = np.flatnonzero(~is_known), average.supported
        of_neighbors = _means(weights[new], average.predictor.graph_scores, np.zeros(columns.size))
        answers[new] = 0.0
        scores = average.predictor.score(X[new], of_neighbors)
        answers[np.ix_(new, columns)] = result.quality.noise.probabilities(scores)
    return answers, _reached(result, weights)


def _by_given_weights(result: FitResult, W: Sparse) -> tuple[Floats, Bools]:
    """By weights between new and training examples, (n, n_vertices), or by the training graph itself."""
    trained = result.placed.graph.weights
    largest = trained.data.max(initial=0.0)
    if W.shape == trained.shape and abs(W - trained).max() <= ASYMMETRY * largest:
        return result.vertex_distributions.copy(), result.vertex_reached.copy()
    if (W.data < 0).any():
        raise ValueError(f"weights must be non-negative; the smallest is {W.data.min():.3g}")
    weights = sp.csr_array(W @ sp.diags_array(result.vertex_reached.astype(np.float64)))
    return _means(weights, result.vertex_distributions, result.prior), _reached(result, weights)


def neighbor_weights(result: FitResult, X: Features, engine: Engine) -> tuple[Sparse, Bools]:
    """Weights of reached vertices, 1 at the nearest, and which examples equal a vertex, which then counts alone."""
    fitted, placed = result.fitted, result.placed
    k = min(result.n_neighbors, placed.graph.n_vertices)
    located = prepare(X, result.metric) if fitted.space is None else fitted.locate(X, engine)
    found = neighbors_between(located, placed.points, k, engine)
    is_equal = found.distances == 0
    counts = np.where(is_equal.any(axis=1)[:, None], is_equal, result.vertex_reached[found.indices])
    nearest = np.min(found.distances, axis=1, where=counts, initial=np.inf)[:, None]
    weights = np.zeros(counts.shape)
    exponents = (nearest**2 - found.distances**2) / (2 * placed.bandwidth**2)
    np.exp(exponents, where=counts, out=weights)
    indptr = np.arange(0, found.indices.size + 1, k)
    shape = (X.shape[0], placed.graph.n_vertices)
    return sp.csr_array((weights.ravel(), found.indices.ravel(), indptr), shape=shape), is_equal.any(axis=1)


def _means(weights: Sparse, values: Floats, otherwise: Floats) -> Floats:
    """Weighted means of values at the vertices, (n, c); ``otherwise``, (c,), where there is no weight."""
    total = np.asarray(weights.sum(axis=1)).ravel()
    means = np.tile(otherwise, (weights.shape[0], 1))
    means[total > 0] = (weights[total > 0] @ values) / total[total > 0][:, None]
    return means


def _reached(result: FitResult, weights: Sparse) -> Bools:
    return np.asarray(weights @ result.vertex_reached.astype(np.float64) > 0)


def _as_fitted(fitted: FittedGraph, X: Features) -> Features:
    """Examples as a sparse or a dense array, as those of the fit were."""
    if sp.issparse(X) == fitted.is_sparse:
        return X
    return X.toarray() if sp.issparse(X) else sp.csr_array(X)
