"""Quadratic smoothing of labels over a graph: cheap enough to try many graphs."""

import numpy as np
import scipy.sparse as sp

from siis._types import Floats, Sparse
from siis.labels import Supervision
from siis.threads import pause_point

MAX_ITER = 400


def smooth_labels(
    W: Sparse,
    given: Supervision,
    fidelity: float,
    pull: float = 0.0,
    scores: Floats | None = None,
    tol: float = 1e-3,
    start: Floats | None = None,
) -> Floats:
    """Minimise over F, by conjugate gradients on all columns at once,

        1/2 sum_ij w_ij ||f_i - f_j||^2 + d sum_i fidelity w_i ||f_i - (y_i - mean)||^2 + d pull sum_i ||f_i - s_i||^2

    where d is the mean degree, w_i the weight of a label over their mean, and s the scores.

    Parameters
    ----------
    W : csr_array of shape (n, n)
        Weights of the graph.
    given : Supervision
        One label for each vertex.
    fidelity : float
    pull : float
        Small and positive: vertices that no label reaches follow the scores (or 0).
    scores : ndarray of shape (n, c), optional
        0 if left out.
    tol : float
        Residual over right-hand side, for each column.
    start : ndarray of shape (n, c), optional

    Returns
    -------
    ndarray of shape (n, c)
    """
    degrees = np.asarray(W.sum(axis=1)).ravel()
    unit = float(degrees.mean()) or 1.0
    degrees = degrees / unit  # all in units of the mean degree
    trust = np.full(degrees.size, pull)
    B = np.zeros((degrees.size, given.n_classes)) if scores is None else pull * scores
    label_trust = fidelity * given.weights / given.weights.mean()
    trust[given.rows] += label_trust
    B[given.rows] += label_trust[:, None] * (given.Y - given.prior)
    scale = 1 / np.sqrt(degrees + trust)
    S = sp.csr_array(W, copy=True)
    S.data = (S.data / unit * np.repeat(scale, np.diff(S.indptr)) * scale[S.indices]).astype(np.float32)
    scale = scale[:, None]
    B = (scale * B).astype(np.float32)
    X = np.zeros_like(B) if start is None else (start / scale).astype(np.float32)
    return np.asarray(scale * _conjugate_gradients(S, B, X, tol))


def _conjugate_gradients(S: Sparse, B: Floats, X: Floats, tol: float) -> Floats:
    """Solve (I - S) X = B."""
    R = B - X + S @ X
    D = R.copy()
    rho = np.einsum("ij,ij->j", R, R)
    goal = tol**2 * np.einsum("ij,ij->j", B, B)
    for _ in range(MAX_ITER):
        pause_point()
        if (rho <= goal).all():
            break
        MD = D - S @ D
        curvature = np.einsum("ij,ij->j", D, MD)
        step = np.divide(rho, curvature, out=np.zeros_like(rho), where=curvature > 0)
        X += step * D
        R -= step * MD
        rho, before = np.einsum("ij,ij->j", R, R), rho
        D *= np.divide(rho, before, out=np.zeros_like(rho), where=before > 0)
        D += R
    return X
