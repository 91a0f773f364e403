"""A first guess of the smoothest eigenvectors, from a graph of groups: few vertices say where functions bend."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import scipy.sparse as sp
from scipy.sparse.csgraph import connected_components

from siis._types import Floats, Ints, Sparse
from siis.kernels import compact
from siis.spectral.spectrum import look
from siis.spectral.subspace import block_width, lowest_eigenpairs

LEAST_GROUPS = 10  # for each wanted vector
RESIDUAL = 1e-4  # of the guess on the groups, over the bound of their spectrum


@dataclass(frozen=True, eq=False)
class Guess:
    """Smooth vectors, constant up to scale on each group.

    Attributes
    ----------
    vectors : ndarray of shape (n, p)
    values : ndarray of shape (p,), ascending
        Eigenvalues on the groups, no less than those of the graph.
    """

    vectors: Floats
    values: Floats


def guess(S: Sparse, null: Sparse, W: Sparse, scale: Floats, n_wanted: int, seed: int) -> Guess | None:
    """Find the smoothest functions that are a null vector's values on each group, by Rayleigh-Ritz.

    With orthonormal P, one column for each group, the lowest eigenvectors v of P' S P give P v. By the minimax
    principle their eigenvalues are upper bounds.

    Parameters
    ----------
    S : csr_array of shape (n, n)
        Scaled Laplacian.
    null : csr_array of shape (n, k)
        Orthonormal null vectors.
    W : csr_array of shape (n, n)
        Weights.
    scale : ndarray of shape (n,)
        1 / scale spans the null space of S on each component.
    n_wanted : int
    seed : int

    Returns
    -------
    Guess or None
        None where the groups would be too few.
    """
    least = LEAST_GROUPS * (n_wanted + null.shape[1])
    group = groups(W, least)
    k = int(group.max()) + 1
    if k < least or k == W.shape[0]:
        return None
    norms = np.sqrt(np.bincount(group, 1 / scale**2))
    P = sp.csr_array((1 / (scale * norms[group]), group, np.arange(group.size + 1)), shape=(group.size, k))
    small, small_null = compact(P.T @ S @ P, np.float64), compact(P.T @ null, np.float64)
    bound = float(abs(small).sum(axis=1).max())
    start = np.random.default_rng(seed).standard_normal((k, block_width(n_wanted)))
    spectrum = look(small, small_null, bound, seed)
    found = lowest_eigenpairs(small, small_null, start, n_wanted, RESIDUAL * bound, spectrum, seed)
    return Guess((P @ found.vectors).astype(S.dtype), found.values)


def groups(W: Sparse, least: int) -> Ints:
    """Put each vertex with the one at its heaviest edge, and again so the groups, while enough of them are left.

    Parameters
    ----------
    W : csr_array of shape (n, n)
        Weights.
    least : int

    Returns
    -------
    ndarray of shape (n,)
        The group of each vertex, 0, 1, ...
    """
    group = np.arange(W.shape[0])
    while True:
        n = W.shape[0]
        k, joined = connected_components(
            sp.csr_matrix((np.ones(n), (np.arange(n), _heaviest(W))), shape=(n, n)), directed=False
        )
        if k < least or k == n:
            return group
        group = joined[group]
        members = sp.csr_array((np.ones(n), joined, np.arange(n + 1)), shape=(n, k))
        W = sp.csr_array(members.T @ W @ members)


def _heaviest(W: Sparse) -> Ints:
    """The other end of the heaviest edge of each vertex; itself where it has none."""
    n = W.shape[0]
    rows = np.repeat(np.arange(n), np.diff(W.indptr))
    weights = np.where(W.indices == rows, -1.0, W.data)
    most = np.full(n, -1.0)
    np.maximum.at(most, rows, weights)
    found = np.arange(n)
    heaviest = (weights == most[rows]) & (weights > 0)
    found[rows[heaviest]] = W.indices[heaviest]
    return found
