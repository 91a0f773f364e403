"""Eigenpairs by dense decompositions, on the host."""

import numpy as np
import scipy.linalg as sl

from siis._types import Floats, Ints, Sparse
from siis.program.basis.shift_invert import ritz_pairs
from siis.program.basis.subspace import RitzPairs


def dense_eigenpairs(S: Sparse, null: Sparse, component: Ints, flat: Floats, n_wanted: int, high: float) -> RitzPairs:
    """All pairs of each component; null vectors (n, k), with which small pairs mix, are shifted above ``high``.

    component: (n,); flat: (n,), a null vector that is nowhere 0.
    """
    values, vectors = [], []
    for members in _members(component):
        if members.size == 1:
            continue
        v = flat[members] / np.linalg.norm(flat[members])
        lifted = S[members][:, members].toarray() + 2 * high * np.outer(v, v)
        last = min(n_wanted, members.size - 1) - 1
        theta, V = sl.eigh(lifted, subset_by_index=[0, last], overwrite_a=True, check_finite=False)
        values.append(theta)
        vectors.append((members, V))
    lowest = np.argsort(np.concatenate(values), kind="stable")[:n_wanted]
    of = np.repeat(np.arange(len(values)), [theta.size for theta in values])[lowest]
    at = np.concatenate([np.arange(theta.size) for theta in values])[lowest]
    X = np.zeros((S.shape[0], lowest.size))
    for column, (part, k) in enumerate(zip(of, at, strict=True)):
        members, V = vectors[part]
        X[members, column] = V[:, k]
    return ritz_pairs(S, null, X)


def _members(component: Ints) -> list[Ints]:
    """The vertices of each component."""
    order = np.argsort(component, kind="stable")
    return np.split(order, np.cumsum(np.bincount(component))[:-1])
