"""Spaces in which neighbours can be sought: the features as they are, standardised, of unit length; reduced."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import scipy.sparse as sp
from sklearn.decomposition import PCA, TruncatedSVD
from sklearn.preprocessing import normalize

from siis._types import Bools, Features, Floats
from siis.engine import NUMPY
from siis.engine.rows import fix_signs
from siis.graph import prepare
from siis.model.linear import live_columns

MOST_DIMENSIONS = 100
TEXT_DIMENSIONS = (15, 50, 100)  # of latent semantics
EVEN = 0.2  # of the columns must have a part in the total variance, for their units to matter
EXACT_DIMENSIONS = 1000  # columns up to which principal components come from the covariance


@dataclass(frozen=True, eq=False)
class Space:
    """A map from examples to points."""

    name: str
    unit: bool  # rows are scaled to length 1 first
    center: Floats | None  # (d,)
    scale: Floats | None  # (d,)
    axes: Floats | None  # (d, k), the directions kept
    unit_after: bool = False  # points are scaled to length 1 at the end

    def __call__(self, X: Features) -> Floats:
        """Points of examples, shape (n, k)."""
        if self.unit:
            X = normalize(X)  # an empty row stays at the origin
            X = sp.csr_array(X) if sp.issparse(X) else X
        if sp.issparse(X) and self.axes is None:
            X = X.toarray()
        if self.center is not None:
            X = np.subtract(X, self.center, dtype=X.dtype)  # no double copy of single features
        if self.scale is not None:
            X = np.divide(X, self.scale, dtype=X.dtype)
        Z = np.asarray(X if self.axes is None else X @ self.axes.astype(X.dtype), dtype=np.float64)
        if self.unit_after:
            Z /= np.maximum(np.linalg.norm(Z, axis=1, keepdims=True), np.finfo(np.float64).tiny)
        return Z


def spaces(X: Features, metric: str, seed: int) -> list[Space]:
    """List the spaces worth trying, the plainest first: features as they are, unless few of them drown the others.

    Dense: the features as they are; with unit variance; with unit variance but for columns of 0 and 1, as categories
    are encoded; with rows of unit length; each reduced to at most 100 principal components. Sparse:
    15, 50 and 100 latent dimensions of the rows of unit length, again of unit length. A metric other than "auto"
    leaves one family.
    """
    n, d = X.shape
    if n < 3:
        return [Space("as given", metric == "cosine", None, None, None)]
    can_be_unit = _has_no_empty_row(X)
    if sp.issparse(X) and d > MOST_DIMENSIONS:
        unit = can_be_unit if metric == "auto" else metric == "cosine"
        return _latent(prepare(X, "cosine") if unit else X, unit, seed)
    dense = X.toarray() if sp.issparse(X) else X
    center = dense.mean(axis=0, dtype=np.float64)
    found = []
    if metric in ("auto", "euclidean"):
        found.append(_principal("as given", dense, False, center, None, seed))
    if metric == "auto":
        deviation = NUMPY.deviation(dense).astype(np.float64)
        live = live_columns(center, deviation)
        scale = np.where(live, deviation, np.inf)
        if live.any() and deviation[live].max() > 1.01 * deviation[live].min():
            found.append(_principal("unit variance", dense, False, center, scale, seed))
        is_category = _two_values(dense)
        if (live & is_category).any() and (live & ~is_category).any():
            kept = np.where(live & is_category, 1.0, scale)
            found.append(_principal("numbers of unit variance", dense, False, center, kept, seed))
        if live.any() and not _is_even(deviation[live]):  # the unit of some columns would drown the others
            found = [*found[:0:-1], found[0]]
    if metric == "cosine" or (metric == "auto" and can_be_unit and d > 2):
        unit = prepare(dense, "cosine") if d > MOST_DIMENSIONS else dense  # else no component is sought
        found.append(_principal("unit length", unit, True, None, None, seed))
    return found


def _is_even(deviations: Floats) -> bool:
    """Whether many columns have a part in the distances: the effective number of variances is a share of theirs."""
    shares = (deviations / deviations.max()) ** 2
    return bool(shares.sum() ** 2 >= EVEN * deviations.size * (shares @ shares))


def _two_values(X: Floats) -> Bools:
    """Columns of 0 and 1 alone, as categories are encoded, shape (d,)."""
    return np.asarray(((X == 0) | (X == 1)).all(axis=0))


def _has_no_empty_row(X: Features) -> bool:
    squares = X.multiply(X) if sp.issparse(X) else X * X
    return bool((np.asarray(squares.sum(axis=1)) > 0).all())


def _principal(name: str, X: Floats, unit: bool, center: Floats | None, scale: Floats | None, seed: int) -> Space:
    n, d = X.shape
    if d <= MOST_DIMENSIONS:
        return Space(name, unit, center, scale, None)
    Z = X if center is None else X - center
    Z = Z if scale is None else Z / scale
    solver = "covariance_eigh" if d <= EXACT_DIMENSIONS else "randomized"
    reduction = PCA(min(MOST_DIMENSIONS, n, d), svd_solver=solver, random_state=seed).fit(Z)
    if center is None:
        center = reduction.mean_
    return Space(name, unit, center, scale, _axes(reduction.components_))


def _latent(X: Features, unit: bool, seed: int) -> list[Space]:
    n, d = X.shape
    largest = min(max(TEXT_DIMENSIONS), n - 1, d - 1)
    axes = _axes(TruncatedSVD(largest, random_state=seed).fit(X).components_)
    sizes = sorted({min(size, largest) for size in TEXT_DIMENSIONS})
    return [Space(f"{size} latent dimensions", unit, None, None, axes[:, :size], True) for size in sizes]


def _axes(components: Floats) -> Floats:
    """Principal directions as columns, contiguous."""
    return np.ascontiguousarray(fix_signs(components.T), dtype=np.float64)
