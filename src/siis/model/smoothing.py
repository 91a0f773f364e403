"""Quadratic smoothing of labels over a graph."""

from collections.abc import Sequence

import numpy as np

from siis._types import Floats, Sparse, answer_type
from siis.engine import NUMPY, Engine, Operator
from siis.engine.linear_systems import conjugate_gradients, subspace_correction
from siis.engine.threads import one_blas_thread
from siis.engine.types import Array
from siis.labels import VertexLabels

MAX_ITER = 400
MOST_AT_ONCE = 2**22  # numbers in a block of columns: each block ends when its own columns are solved
MOST_ELSEWHERE = 2**27  # the same off the host, where it is not caches that count
SHIFT = 1e-4  # of the Laplacian, over the mean degree: vertices that no label reaches get 0
MOST_SMOOTH = 64  # functions of the subspace that are used, the smoothest ones
LEAST_COLUMNS, FEW_COLUMNS = 64, 16  # in a block, however many vertices there are; and where memory is short


def smooth_labels(
    W: Sparse,
    sets: Sequence[VertexLabels],
    fidelity: float,
    tol: float = 1e-3,
    engine: Engine = NUMPY,
    subspace: Array | None = None,
) -> list[Floats]:
    """Smooth several sets of labels over a graph, one label for each vertex: for each set the minimum over F of

        1/2 sum_ij w_ij ||f_i - f_j||^2 + d fidelity sum_i w_i ||f_i - (y_i - mean)||^2
            + d SHIFT sum_i ||f_i||^2                                                                       (C3)

    where w_ij are the weights of the graph, d is its mean degree, y_i the labels and ``mean`` their frequencies, w_i
    the weight of a label over the mean weight. Folds cost little more than one set: all are scaled alike, so that the
    largest of their diagonals is 1, and solved in single precision as columns of one block, or of several where it
    would be too large.

    tol: residual over right-hand side, for each column. subspace: (n, m), smooth functions on the vertices, the
    smoothest first, as of a basis: the system is preconditioned by its solution in their span, for a fraction of the
    iterations. Where classes are more than functions it is not used: about as many functions change slowly as there
    are classes, and those that are left out would stay. Where memory is short it is overwritten.
    Returns F of each set, (n, c).
    """
    degrees = np.asarray(W.sum(axis=1)).ravel()
    unit = float(engine.mean(degrees)) or 1.0
    n, c = degrees.size, sets[0].n_classes
    diagonal = np.empty((n, len(sets)))
    for k, labels in enumerate(sets):
        diagonal[:, k] = degrees / unit + SHIFT  # all in units of the mean degree
        diagonal[labels.rows, k] += fidelity * labels.normalized_weights
    scale = 1 / np.sqrt(diagonal.max(axis=1))
    S = engine.scaled(W, scale / np.sqrt(unit), np.float32)
    diagonal *= scale[:, None] ** 2
    scaled = engine.asarray(diagonal, np.float32)
    smooth = [np.empty((n, c), np.float32 if engine.low_memory else answer_type(n, c)) for _ in sets]
    most = MOST_AT_ONCE if engine.is_host else MOST_ELSEWHERE
    least = FEW_COLUMNS if engine.low_memory else LEAST_COLUMNS
    step = max(1, most // (engine.total_count(n) * len(sets)), least // len(sets))

    precondition = None
    if subspace is not None and c <= min(MOST_SMOOTH, subspace.shape[1]):
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
        B = np.zeros((n, len(sets), width), dtype=np.float32)
        for k, labels in enumerate(sets):
            excess = labels.Y[:, columns] - labels.prior[columns]
            excess = (fidelity * labels.normalized_weights)[:, None] * excess
            B[labels.rows, k] = scale[labels.rows][:, None] * excess

        def apply(X: Array) -> Array:
            return engine.diag_minus_matmul(scaled, S, X)  # (C3), with unit diagonal but where a label is held out

        right = engine.asarray(B.reshape(n, len(sets) * width), np.float32)
        with one_blas_thread():  # pieces of tall products have threads of their own
            X, _ = conjugate_gradients(engine, apply, right, None, tol, MAX_ITER, precondition)
        X *= engine.asarray(scale, np.float32)[:, None]
        return engine.host(X).reshape(n, len(sets), width)

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
