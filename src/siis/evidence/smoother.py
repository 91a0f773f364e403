"""Quadratic smoothing of labels over a graph: cheap enough to try many graphs."""

from collections.abc import Sequence

import numpy as np

from siis._types import Floats, Sparse, answer_type
from siis.engine import NUMPY, Engine, Operator
from siis.engine.cg import conjugate_gradients
from siis.engine.correction import subspace_correction
from siis.engine.threads import one_blas_thread
from siis.engine.types import Array
from siis.labels import VertexLabels

MAX_ITER = 400
MOST_AT_ONCE = 2**22  # numbers in a block of columns: each block ends when its own columns are solved
MOST_ELSEWHERE = 2**27  # the same off the host, where it is not caches that count
STRONG_PRIOR = 0.01  # weight of the scores from which on there is little for a subspace to spare
MOST_SMOOTH = 64  # functions of the subspace that are used, the smoothest ones
LEAST_COLUMNS, FEW_COLUMNS = 64, 16  # in a block, however many vertices there are; and where memory is short


def smooth_labels(
    W: Sparse,
    given: VertexLabels,
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
    the weight of a label over the mean weight, and s the scores.

    Parameters
    ----------
    W : csr_array of shape (n, n)
        Weights of the graph.
    given : VertexLabels
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
    starts, priors = None if start is None else [start], None if scores is None else [scores]
    return smooth_folds(W, [given], fidelity, (prior_weight,), priors, tol, starts, engine)[0]


def smooth_folds(
    W: Sparse,
    given: Sequence[VertexLabels],
    fidelity: float,
    prior_weights: Sequence[float],
    scores: Sequence[Floats] | None = None,
    tol: float = 1e-3,
    start: Sequence[Floats] | None = None,
    engine: Engine = NUMPY,
    subspace: Array | None = None,
) -> list[Floats]:
    """Smooth several sets of labels over one graph at once, (C3): folds cost little more than one.

    With D the degrees, d their mean and T_k the weights of labels and prior of set k, F_k = (D/d - W/d + T_k)^-1
    (...). All are scaled alike, so that the largest of their diagonals is 1, and solved in single precision as
    columns of one block, or of several where it would be too large.

    Parameters
    ----------
    W : csr_array of shape (n, n)
    given : sequence of k VertexLabels
        Of the same classes.
    fidelity : float
    prior_weights : sequence of k floats
    scores : sequence of k ndarrays of shape (n, c), optional
    tol : float
    start : sequence of k ndarrays of shape (n, c), optional
    engine : Engine
    subspace : Array of shape (n, m), optional
        Smooth functions on the vertices, the smoothest first, as of a basis: the system is preconditioned by its
        solution in their span, for a fraction of the iterations. Where classes are more than functions it is not
        used: about as many functions change slowly as there are classes, and those that are left out would stay. Nor
        where the scores weigh so much that the system is easy.
        Where memory is short it is overwritten.

    Returns
    -------
    list of k ndarrays of shape (n, c)
    """
    degrees = np.asarray(W.sum(axis=1)).ravel()
    unit = float(engine.mean(degrees)) or 1.0
    n, c = degrees.size, given[0].n_classes
    diagonal = np.empty((n, len(given)))
    for k, (labels, prior_weight) in enumerate(zip(given, prior_weights, strict=True)):
        diagonal[:, k] = degrees / unit + prior_weight  # all in units of the mean degree
        diagonal[labels.rows, k] += fidelity * labels.normalized_weights
    scale = 1 / np.sqrt(diagonal.max(axis=1))
    S = engine.scaled(W, scale / np.sqrt(unit), np.float32)
    diagonal *= scale[:, None] ** 2
    scaled = engine.asarray(diagonal, np.float32)
    smooth = [np.empty((n, c), np.float32 if engine.low_memory else answer_type(n, c)) for _ in given]
    most = MOST_AT_ONCE if engine.is_host else MOST_ELSEWHERE
    least = FEW_COLUMNS if engine.low_memory else LEAST_COLUMNS
    step = max(1, most // (engine.total_count(n) * len(given)), least // len(given))

    precondition = None
    if subspace is not None and c <= min(MOST_SMOOTH, subspace.shape[1]) and min(prior_weights) < STRONG_PRIOR:
        first = subspace[:, : min(MOST_SMOOTH, subspace.shape[1])]  # F = scale X
        Z, upwards = engine.asarray(first, np.float32), engine.asarray(1 / scale, np.float32)[:, None]
        if engine.low_memory:
            Z *= upwards
        else:
            Z = Z * upwards
        with one_blas_thread():
            precondition = subspace_correction(engine, Z, _energies(engine, Z, S, scaled))

    def solved(columns: slice) -> Floats:
        width = columns.stop - columns.start
        B = np.zeros((n, len(given), width), dtype=np.float32)
        for k, (labels, prior_weight) in enumerate(zip(given, prior_weights, strict=True)):
            rows, excess = labels.rows, labels.Y[:, columns] - labels.prior[columns]
            excess = (fidelity * labels.normalized_weights)[:, None] * excess
            if scores is not None:
                np.multiply((prior_weight * scale)[:, None], scores[k][:, columns], out=B[:, k], casting="same_kind")
                excess += prior_weight * scores[k][rows, columns]
            B[rows, k] = scale[rows][:, None] * excess

        def apply(X: Array) -> Array:
            return engine.diag_minus_matmul(scaled, S, X)  # (C3), with unit diagonal but where a label is held out

        first = None if start is None else np.stack([F[:, columns] for F in start], axis=1) / scale[:, None, None]
        X = None if first is None else engine.asarray(first.reshape(n, len(given) * width), np.float32)
        right = engine.asarray(B.reshape(n, len(given) * width), np.float32)
        with one_blas_thread():  # pieces of tall products have threads of their own
            X, _ = conjugate_gradients(engine, apply, right, X, tol, MAX_ITER, precondition)
        X *= engine.asarray(scale, np.float32)[:, None]
        return engine.host(X).reshape(n, len(given), width)

    for a in range(0, c, step):
        columns = slice(a, min(a + step, c))
        F = solved(columns)
        for k, of_set in enumerate(smooth):
            of_set[:, columns] = F[:, k]
    return smooth


def _energies(engine: Engine, Z: Array, S: Operator, diagonal: Array) -> list[Floats]:
    """Z'(diag(d_g) - S)Z for each column d_g of the diagonals, by blocks of columns where memory is short."""
    m, k = Z.shape[1], diagonal.shape[1]
    parts: list[list[Floats]] = [[] for _ in range(k)]
    for a in range(0, m, engine.widest):
        some = Z[:, a : min(a + engine.widest, m)]
        images = engine.keep(S @ some)
        for g, part in enumerate(parts):
            part.append(engine.inner(Z, diagonal[:, g : g + 1] * some - images))
    return [np.hstack(part) for part in parts]
