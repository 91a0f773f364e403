"""A start for the eigensolver: eigenvectors of a coarsened graph, whose vertices are aggregates of vertices."""

from __future__ import annotations

import numpy as np
import scipy.sparse as sp
from scipy.sparse.csgraph import connected_components

from siis._types import Floats, Ints, Sparse
from siis.engine import Engine
from siis.engine.base import indicator
from siis.engine.types import Array, Precision
from siis.program.basis.spectrum import estimate_spectrum
from siis.program.basis.subspace import block_width, lowest_eigenpairs

LEAST_AGGREGATES = 10  # for each wanted vector
COARSE_RESIDUAL = 1e-4  # of the coarse eigenvectors, over the bound of their spectrum


def coarse_eigenvectors(
    S: Sparse, null: Sparse, W: Sparse, scale: Floats, n_wanted: int, seed: int, engine: Engine, dtype: Precision
) -> tuple[Array, Floats] | None:
    """Find the smoothest functions that are multiples of a null vector on each aggregate, by Rayleigh-Ritz.

    The lowest eigenvectors v of P' S P give P v, with upper bounds of the eigenvalues (minimax), P orthonormal.
    S: (n, n), scaled Laplacian of W; null: (n, k), orthonormal; 1 / scale spans the null space on each component.
    Returns the orthonormal vectors, (n, p), and those bounds, (p,), ascending; None if the aggregates are too few.
    """
    least = LEAST_AGGREGATES * (n_wanted + null.shape[1])
    member_of = aggregates(W, least)
    k = int(member_of.max()) + 1
    if k < least or k == W.shape[0]:
        return None
    norms = np.sqrt(np.bincount(member_of, 1 / scale**2))
    P = sp.csr_array(
        (1 / (scale * norms[member_of]), member_of, np.arange(member_of.size + 1)), shape=(scale.size, k)
    )
    coarse = sp.csr_array(P.T @ S @ P)
    bound = float(abs(coarse).sum(axis=1).max())
    small, small_null = (engine.operator(M, np.float64) for M in (coarse, sp.csr_array(P.T @ null)))
    start = np.random.default_rng(seed).standard_normal((k, block_width(n_wanted)))
    spectrum = estimate_spectrum(small, small_null, bound, seed)
    found = lowest_eigenpairs(
        small, small_null, engine.asarray(start, np.float64), n_wanted, COARSE_RESIDUAL * bound, spectrum, seed
    )
    vectors = engine.operator(P, np.float64) @ found.vectors
    return engine.asarray(vectors, dtype), found.values


def aggregates(W: Sparse, least: int) -> Ints:
    """Number of each vertex's aggregate, (n,); each merges with that at its heaviest edge, while enough are left."""
    member_of = np.arange(W.shape[0])
    while True:
        n = W.shape[0]
        k, joined = connected_components(
            sp.csr_matrix((np.ones(n), (np.arange(n), _heaviest(W))), shape=(n, n)), directed=False
        )
        if k < least or k == n:
            return member_of
        member_of = joined[member_of]
        members = indicator(joined, k)
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
