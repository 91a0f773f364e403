"""Exact nearest neighbours, found by index: a point's own place in the list is never assumed."""

from dataclasses import dataclass

import numpy as np
import scipy.sparse as sp
from sklearn import config_context
from sklearn.neighbors import NearestNeighbors
from sklearn.preprocessing import normalize

from siis._types import Bools, Features, Floats, Ints

UNIT_DIGITS = 12  # of coordinates of unit rows: parallel rows are equal, not at rounding distance
SPARE = 8  # more neighbours than asked for, so that ties at the last place are broken by index, not by rounding
SEARCH_MEMORY_MIB = 64  # of distances held at once, so that no n x n array is formed
DIFFERENCE_BLOCK = 2**22  # numbers in one block of coordinate differences


@dataclass(frozen=True, eq=False)
class Neighbors:
    """The K nearest points of each query.

    Attributes
    ----------
    indices : ndarray of shape (n_queries, K)
    distances : ndarray of shape (n_queries, K)
        Euclidean distances, each from its own coordinate difference: equal points are at exactly 0.
    """

    indices: Ints
    distances: Floats


def prepare(X: Features, metric: str) -> Features:
    """Map X to the space where the metric is the Euclidean distance.

    The cosine metric is the Euclidean distance between rows of unit length,
    ``||u - v||^2 = 2 (1 - cos(u, v))``: it orders neighbours as the cosine does.

    Parameters
    ----------
    X : array or csr_array of shape (n, d)
    metric : {"euclidean", "cosine"}

    Returns
    -------
    array or csr_array of shape (n, d)
    """
    if metric == "euclidean":
        return X
    lengths = np.sqrt((X.multiply(X) if sp.issparse(X) else X * X).sum(axis=1))
    empty = np.flatnonzero(np.asarray(lengths).ravel() == 0)
    if empty.size:
        raise ValueError(
            "metric='cosine' needs rows that are not all zero; "
            f"{empty.size} rows are, the first at index {empty[0]}. "
            "Drop these examples or use metric='euclidean'."
        )
    unit: Features = normalize(X)
    if not sp.issparse(unit):
        return np.round(unit, UNIT_DIGITS)
    unit.data = np.round(unit.data, UNIT_DIGITS)
    return sp.csr_array(unit)


def neighbors_between(queries: Features, points: Features, n_neighbors: int) -> Neighbors:
    """Find the nearest points of each query, exactly.

    Parameters
    ----------
    queries : array or csr_array of shape (n_queries, d)
    points : array or csr_array of shape (n, d)
    n_neighbors : int
        K, at most n.

    Returns
    -------
    Neighbors
    """
    found = _ranked(queries, points, n_neighbors)
    return Neighbors(found.indices[:, :n_neighbors], found.distances[:, :n_neighbors])


def neighbors_within(points: Features, n_neighbors: int) -> Neighbors:
    """Find the nearest other points of each point, exactly.

    Parameters
    ----------
    points : array or csr_array of shape (n, d)
    n_neighbors : int
        K, at most n - 1.

    Returns
    -------
    Neighbors
    """
    n = points.shape[0]
    found = _ranked(points, points, n_neighbors + 1)
    is_self = found.indices == np.arange(n)[:, None]
    is_self[~is_self.any(axis=1), -1] = True  # crowded out by points at rounding distance: drop the farthest
    shape = (n, found.indices.shape[1] - 1)
    indices, distances = found.indices[~is_self].reshape(shape), found.distances[~is_self].reshape(shape)
    return Neighbors(indices[:, :n_neighbors], distances[:, :n_neighbors])


def _ranked(queries: Features, points: Features, n_wanted: int) -> Neighbors:
    """The nearest points and a few more, by exact distance, then by index."""
    if sp.issparse(points):
        left, right = queries, points
    else:  # the fast search expands ||a - b||^2, which loses digits far from the origin
        center = points.mean(axis=0, dtype=np.float64)
        left, right = queries - center, points - center
    n_fetched = min(n_wanted + SPARE, points.shape[0])
    with config_context(working_memory=SEARCH_MEMORY_MIB), np.errstate(over="ignore", invalid="ignore"):
        search = NearestNeighbors(n_neighbors=n_fetched).fit(right)
        indices = search.kneighbors(left, return_distance=False).astype(np.int64)
        distances = _distances(queries, points, indices)
        lost = _precision_lost(left, right, distances)
    if not np.isfinite(distances).all():
        raise ValueError("distances between examples overflow; rescale X (for instance to unit variance)")
    if lost.any():
        if sp.issparse(points):
            raise ValueError(
                f"{np.count_nonzero(lost)} examples lie so far from the origin that their neighbours drown in "
                "rounding; centre and scale X (as a dense array), or use metric='cosine'"
            )
        tree = NearestNeighbors(n_neighbors=n_fetched, algorithm="kd_tree").fit(right)  # takes differences first
        indices[lost] = tree.kneighbors(left[lost], return_distance=False)
        distances[lost] = _distances(queries[lost], points, indices[lost])
    order = np.lexsort((indices, _ties(distances)))
    return Neighbors(np.take_along_axis(indices, order, 1), np.take_along_axis(distances, order, 1))


def _ties(distances: Floats) -> Floats:
    """Distances in units of the row's largest, with nine digits: equal ones stay equal whatever the units of X."""
    largest = distances.max(axis=1, keepdims=True)
    return np.rint(1e9 * distances / np.where(largest > 0, largest, 1.0))


def _precision_lost(queries: Features, points: Features, distances: Floats) -> Bools:
    """Tell where the rounding error of ||a||^2 - 2 a'b + ||b||^2 is not small against the distances found."""

    def squares(X: Features) -> Floats:
        return np.asarray((X.multiply(X) if sp.issparse(X) else np.square(X, dtype=np.float64)).sum(axis=1)).ravel()

    error = 8 * np.finfo(np.float64).eps * (squares(queries) + squares(points).max())
    nearest_squared = np.median(distances, axis=1) ** 2
    return np.asarray(error > 1e-3 * nearest_squared) & (nearest_squared > 0)


def _distances(queries: Features, points: Features, indices: Ints) -> Floats:
    distances = np.empty(indices.shape)
    with np.errstate(over="ignore"):
        if sp.issparse(points):
            for k in range(indices.shape[1]):
                difference = (queries - points[indices[:, k]]).astype(np.float64)
                distances[:, k] = np.sqrt(difference.multiply(difference).sum(axis=1))
            return distances
        step = max(1, DIFFERENCE_BLOCK // (indices.shape[1] * points.shape[1]))
        for a in range(0, indices.shape[0], step):
            block = points[indices[a : a + step]].astype(np.float64)
            block -= queries[a : a + step, None, :]
            distances[a : a + step] = np.sqrt(np.einsum("ikd,ikd->ik", block, block))
    return distances
