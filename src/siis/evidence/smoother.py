"""Quadratic smoothing of labels over a graph: cheap enough to try many graphs."""

import numpy as np
import scipy.sparse as sp

from siis._types import Floats, Sparse
from siis.engine import NUMPY, Engine
from siis.engine.cg import conjugate_gradients
from siis.engine.types import Array
from siis.labels import Supervision

MAX_ITER = 400


def smooth_labels(
    W: Sparse,
    given: Supervision,
    fidelity: float,
    prior_weight: float = 0.0,
    scores: Floats | None = None,
    tol: float = 1e-3,
    start: Floats | None = None,
    engine: Engine = NUMPY,
) -> Floats:
    """Minimise over F, by conjugate gradients on all columns at once,

        1/2 sum_ij w_ij ||f_i - f_j||^2 + d fidelity sum_i w_i ||f_i - (y_i - mean)||^2
            + d prior_weight sum_i ||f_i - s_i||^2                                                          (C3)

    where w_ij are the weights of the graph, d is its mean degree, y_i the labels and ``mean`` their frequencies, w_i
    the weight of a label over the mean weight, and s the scores. With D the degrees and T the weights of labels and
    prior, F = (D/d - W/d + T)^-1 (...); it is scaled to a unit diagonal and solved in single precision.

    Parameters
    ----------
    W : csr_array of shape (n, n)
        Weights of the graph.
    given : Supervision
        One label for each vertex.
    fidelity : float
        Weight of the labels.
    prior_weight : float
        Weight of the scores; small and positive: vertices that no label reaches follow the scores (or 0).
    scores : ndarray of shape (n, c), optional
        s; 0 if left out.
    tol : float
        Residual over right-hand side, for each column.
    start : ndarray of shape (n, c), optional
    engine : Engine
        On which the system is solved.

    Returns
    -------
    ndarray of shape (n, c)
    """
    degrees = np.asarray(W.sum(axis=1)).ravel()
    unit = float(degrees.mean()) or 1.0
    degrees = degrees / unit  # all in units of the mean degree
    trust = np.full(degrees.size, prior_weight)
    B = np.zeros((degrees.size, given.n_classes)) if scores is None else prior_weight * scores
    label_trust = fidelity * given.weights / given.weights.mean()
    trust[given.rows] += label_trust
    B[given.rows] += label_trust[:, None] * (given.Y - given.prior)
    scale = 1 / np.sqrt(degrees + trust)
    entries = W.data / unit * np.repeat(scale, np.diff(W.indptr)) * scale[W.indices]
    S = engine.operator(sp.csr_array((entries, W.indices, W.indptr), shape=W.shape), np.float32)
    scale = scale[:, None]

    def apply(X: Array) -> Array:
        return X - S @ X  # I - S is the matrix of (C3) with unit diagonal

    X = None if start is None else engine.asarray(start / scale, np.float32)
    X, _ = conjugate_gradients(engine, apply, engine.asarray(scale * B, np.float32), X, tol, MAX_ITER)
    return np.asarray(scale * engine.numpy(X))
