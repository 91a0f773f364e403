"""A preconditioner: the system is solved in a subspace, which holds what conjugate gradients find last."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np
import scipy.linalg as sl

from siis._types import Floats
from siis.engine.base import Engine
from siis.engine.types import Array

LEAST_EIGENVALUE = 1e-6  # of the largest in the subspace, and of the squared norms: less is rounding


def subspace_correction(engine: Engine, Z: Array, energies: Sequence[Floats]) -> Callable[[Array], Array]:
    """R -> (I - Z G^-1 Z' + Z E_g^-1 Z') R_g for each of k groups of columns, where G = Z'Z and E_g = Z'M_g Z.

    Where Z spans the eigenvectors of the smallest eigenvalues of M_g, these become 1 and the others stay; it is
    positive definite for any Z (C3b). Z: (n, m); energies: k matrices E_g, (m, m); R: (n, k c).
    """
    gram = engine.inner(Z, Z)
    small = [_small(gram, energy) for energy in energies]
    m, k = gram.shape[0], len(small)

    def corrected(R: Array) -> Array:
        inner = engine.inner(Z, R).reshape(m, k, -1)
        turned = np.stack([C @ inner[:, g] for g, C in enumerate(small)], axis=1)
        return R + engine.times(Z, turned.reshape(m, -1))

    return corrected


def _small(gram: Floats, energy: Floats) -> Floats:
    """E^-1 - G^-1, by the eigenvectors that they share: E T = G T diag(h), T' G T = I, columns of norm 1."""
    squares = np.diagonal(gram)
    unit = np.where(squares > 0, 1 / np.sqrt(np.where(squares > 0, squares, 1.0)), 0.0)
    gram, energy = (unit[:, None] * (M + M.T) / 2 * unit for M in (gram, energy))
    values, T = sl.eigh(energy, gram + LEAST_EIGENVALUE * np.eye(len(gram)), check_finite=False)
    T *= unit[:, None]
    return np.asarray((T * (1 / np.maximum(values, LEAST_EIGENVALUE * values[-1]) - 1)) @ T.T)
