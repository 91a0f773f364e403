"""Nearest neighbours, found by index: a point's own place in the list is never assumed."""

import warnings
from dataclasses import dataclass
from typing import Any

import numpy as np
import scipy.sparse as sp
from sklearn import config_context
from sklearn.neighbors import NearestNeighbors
from sklearn.preprocessing import normalize

from siis._types import Bools, Features, Floats, Ints, Sparse
from siis.engine import NUMPY, Engine
from siis.engine.blocks import PIECES, row_pieces
from siis.engine.loops import keep_nearest, pair_distances
from siis.engine.threads import in_threads, one_blas_thread, pause_point
from siis.errors import Message
from siis.graph.approximate import INSTALL, complete, has_faiss, recall, with_faiss, with_own
from siis.progress import Report, no_progress

UNIT_DIGITS = 12  # of coordinates of unit rows: parallel rows are equal, not at rounding distance
SPARE_NEIGHBORS = 8  # fetched beyond the wanted ones, so that ties at the last place are broken by index
MOST_EXACT_POINTS = 40_000  # points, up to which "auto" is exact
ON_ENGINE = "torch"  # the only engine with a search of its own
RECALL_SAMPLE = 500  # points on which recall is measured
POOR_RECALL = 0.8  # below, a warning
SEARCH_MEMORY_MIB = 64  # of distances between sparse examples held at once, so that no n x n array is formed
DISTANCES_AT_ONCE, LEAST_QUERIES_AT_ONCE = 2**21, 16  # of a dense block that fits into a cache


@dataclass(frozen=True, eq=False)
class Neighbors:
    """The K nearest points of each query."""

    indices: Ints  # (n_queries, K)
    distances: Floats  # (n_queries, K), each from its own coordinate difference: equal points are at exactly 0
    method: str = "exact"  # or the library that searched
    recall: float = 1.0  # share of the nearest neighbours found, measured on a sample


def prepare(X: Features, metric: str) -> Features:
    """Map X to the space where the metric is the Euclidean distance.

    The cosine metric is the Euclidean distance between rows of unit length,
    ``||u - v||^2 = 2 (1 - cos(u, v))``: it orders neighbours as the cosine does.

    X: (n, d); metric: "euclidean" or "cosine".
    """
    if metric == "euclidean":
        return X
    lengths = np.sqrt((X.multiply(X) if sp.issparse(X) else X * X).sum(axis=1))
    empty = np.flatnonzero(np.asarray(lengths).ravel() == 0)
    if empty.size:
        raise ValueError(
            Message(
                "{metric:cosine} needs rows that are not all zero; {n} rows are, the first at index {first}. Drop "
                "these examples or use {metric:euclidean}.",
                n=empty.size,
                first=empty[0],
            )
        )
    unit: Features = normalize(X)
    if not sp.issparse(unit):
        return np.round(unit, UNIT_DIGITS)
    unit.data = np.round(unit.data, UNIT_DIGITS)
    return sp.csr_array(unit)


def neighbors_between(
    queries: Features, points: Features, n_neighbors: int, engine: Engine = NUMPY, held: Any = None
) -> Neighbors:
    """Find the K nearest points of each query, exactly; queries: (n_queries, d), points: (n, d), K at most n.

    An engine with a search of its own searches dense points; ``held`` are the points on it, where they are already.
    """
    n, search = points.shape[0], engine.search
    if not 1 <= n_neighbors <= n:
        raise ValueError(Message("{n_neighbors} must lie in 1..{n}; found {k}", n=n, k=n_neighbors))
    if search is None or not queries.shape[0] or sp.issparse(points):
        indices, distances = _ranked(queries, points, n_neighbors)
    else:
        held, n_fetched = search.to_device(points) if held is None else held, min(n_neighbors + SPARE_NEIGHBORS, n)
        indices, distances, is_lost = search.nearest_between(queries, held, n_neighbors, n_fetched)
        _check_finite(distances)
        if is_lost.any():  # to rounding
            indices[is_lost], distances[is_lost] = _ranked(queries[is_lost], points, n_neighbors)
    return Neighbors(indices[:, :n_neighbors], distances[:, :n_neighbors])


def neighbors_within(
    points: Features,
    n_neighbors: int,
    search: Any = "exact",
    seed: int = 0,
    report: Report = no_progress,
    engine: Engine = NUMPY,
) -> Neighbors:
    """Find the K nearest other points of each point, points: (n, d), K at most n - 1.

    ``search`` is "exact", "auto", "faiss" or an object with fit and kneighbors. "auto" is exact up to 40,000 points
    and for sparse ones, then uses faiss where it is installed; an engine with a search of its own searches dense
    points. The seed is of an approximate search, and of the sample on which its recall is measured.
    """
    n_wanted, method, share = n_neighbors + 1, _method(search, points, engine), 1.0
    if method == "exact":
        indices, distances = _ranked(points, points, n_wanted, report)
    else:
        indices, distances, share = _approximate(search, method, points, n_wanted, seed, report, engine)
    indices, distances = without_self(indices, distances)
    return Neighbors(indices[:, :n_neighbors], distances[:, :n_neighbors], method, share)


def without_self(indices: Ints, values: Floats, own: Ints | None = None) -> tuple[Ints, Floats]:
    """Drop each point from its own list, or the farthest neighbour where equal points have displaced it.

    indices, values: (n, k), nearest first; own: (n,), the point of each row, by default row i's is i. Returns
    (n, k - 1) each.
    """
    n, k = indices.shape
    is_self = indices == (np.arange(n) if own is None else own)[:, None]
    is_self[~is_self.any(axis=1), -1] = True
    return indices[~is_self].reshape(n, k - 1), values[~is_self].reshape(n, k - 1)


def _method(search: Any, points: Features, engine: Engine) -> str:
    if not isinstance(search, str):
        return type(search).__name__
    if search == "auto" and engine.search is not None and not sp.issparse(points):
        return ON_ENGINE
    if search != "auto":
        if search != "exact" and sp.issparse(points):
            raise ValueError(
                Message(
                    "{neighbor_search:{name}} needs a dense array of {X}; found a sparse one. Use "
                    "{neighbor_search:exact}.",
                    name=search,
                )
            )
        return search
    if sp.issparse(points) or points.shape[0] <= MOST_EXACT_POINTS:
        return "exact"
    if has_faiss():
        return "faiss"
    warnings.warn(
        Message(
            "exact neighbours of {n} examples take long, and faiss is not installed. " + INSTALL, n=points.shape[0]
        ),
        UserWarning,
        stacklevel=2,
    )
    return "exact"


def _approximate(
    search: Any, method: str, points: Floats, n_wanted: int, seed: int, report: Report, engine: Engine
) -> tuple[Ints, Floats, float]:
    """Candidates by the engine, faiss or the user's index, with exact distances; recall on a sample."""
    n, held, on_device = points.shape[0], None, engine.search if method == ON_ENGINE else None
    if on_device is not None:
        held = on_device.to_device(points)
        indices, distances = on_device.nearest(held, min(n_wanted + SPARE_NEIGHBORS, n), seed, report)
    sample = np.sort(np.random.default_rng(seed).permutation(n)[:RECALL_SAMPLE])
    exact = neighbors_between(points[sample], points, n_wanted, NUMPY if held is None else engine, held).indices
    if method == "faiss":
        indices = with_faiss(points, n_wanted, sample, exact, seed, report)
    elif on_device is None:
        indices = with_own(search, points, n_wanted)
    if on_device is None or (indices[:, n_wanted - 1] < 0).any():
        indices = complete(indices, n)
        distances = distances_between(points, points, indices)
        indices, distances = _sorted(indices, distances, distances)
    indices, distances = indices[:, :n_wanted], distances[:, :n_wanted]
    _check_finite(distances)
    return indices, distances, _measured(recall(indices[sample], exact), method, sample.size)


def _sorted(indices: Ints, distances: Floats, keys: Floats) -> tuple[Ints, Floats]:
    """Each row in the order of its keys, then of its indices."""
    order = np.lexsort((indices, keys))
    return np.take_along_axis(indices, order, 1), np.take_along_axis(distances, order, 1)


def _measured(share: float, method: str, n_sample: int) -> float:
    """The recall on a sample; a warning where it is poor."""
    if share < POOR_RECALL:
        warnings.warn(
            Message(
                "the neighbour search ({name}) found only {share:.0%} of the nearest neighbours (measured on {n} "
                "examples). Use another search, or {neighbor_search:exact}.",
                name=method,
                share=share,
                n=n_sample,
            ),
            UserWarning,
            stacklevel=4,
        )
    return share


def _ranked(queries: Features, points: Features, n_wanted: int, report: Report = no_progress) -> tuple[Ints, Floats]:
    """The nearest points and a few more, by exact distance, then by index."""
    n_fetched = min(n_wanted + SPARE_NEIGHBORS, points.shape[0])
    if sp.issparse(points):
        indices = _sparse_search(queries, points, n_fetched)
        distances = distances_between(queries, points, indices)
        _check_finite(distances)
        lost = _precision_lost(queries, points, distances)
        if lost.any():
            raise ValueError(
                Message(
                    "{n} examples lie so far from the origin that their neighbours drown in rounding; centre and "
                    "scale {X} (as a dense array), or use {metric:cosine}",
                    n=np.count_nonzero(lost),
                )
            )
    else:
        indices, distances = _dense_search(queries, points, n_wanted, n_fetched, report)
    return _sorted(indices, distances, _ties(distances))


def _sparse_search(queries: Sparse, points: Sparse, n_fetched: int) -> Ints:
    with config_context(working_memory=SEARCH_MEMORY_MIB), np.errstate(over="ignore", invalid="ignore"):
        search = NearestNeighbors(n_neighbors=n_fetched).fit(points)
        return np.asarray(search.kneighbors(queries, return_distance=False), dtype=np.int64)


def _dense_search(
    queries: Floats, points: Floats, n_wanted: int, n_fetched: int, report: Report
) -> tuple[Ints, Floats]:
    """Candidates in single precision, distances in double, a tree where rounding may have lost a neighbour.

    The rounding of ||a||^2 - 2 a'b + ||b||^2 is bounded, so a point outside the candidates is known to be farther
    than the last of them by that bound.
    """
    center = points.mean(axis=0, dtype=np.float64).astype(points.dtype)
    right = points - center
    left = right if queries is points else queries - center
    with np.errstate(over="ignore", invalid="ignore"):
        largest = float(max(np.abs(left).max(), np.abs(right).max())) or 1.0
        _check_finite(np.square([largest]) * points.shape[1])
        b = (right / largest).astype(np.float32)
        a = b if left is right else (left / largest).astype(np.float32)
        indices, scores = candidates(a, b, n_fetched, report)
        distances = distances_between(queries, points, indices)
    _check_finite(distances)
    if n_fetched == points.shape[0]:
        return indices, distances
    own, others = (np.einsum("ij,ij->i", Z, Z, dtype=np.float64) for Z in (a, b))
    error = np.finfo(np.float32).eps * (8 + np.sqrt(points.shape[1])) * (own + others.max())
    beyond = np.maximum(scores[:, -1].astype(np.float64) + own - error, 0)
    lost = np.partition(distances, n_wanted - 1, axis=1)[:, n_wanted - 1] > largest * np.sqrt(beyond)
    if lost.any():  # a tree takes differences first
        tree = NearestNeighbors(n_neighbors=n_fetched, algorithm="kd_tree").fit(right)
        indices[lost] = tree.kneighbors(left[lost], return_distance=False)
        distances[lost] = distances_between(queries[lost], points, indices[lost])
    return indices, distances


def candidates(queries: Floats, points: Floats, n_wanted: int, report: Report = no_progress) -> tuple[Ints, Floats]:
    """Find the points of smallest ||b||^2 - 2 a'b for each query a, by blocks of matrix products.

    queries: (q, d), points: (n, d), both in single precision. Returns indices and ascending scores, (q, n_wanted).
    """
    squares = np.einsum("ij,ij->i", points, points)
    indices = np.empty((len(queries), n_wanted), dtype=np.int64)
    scores = np.empty((len(queries), n_wanted), dtype=np.float32)
    rows = max(LEAST_QUERIES_AT_ONCE, min(DISTANCES_AT_ONCE // len(points), -(-len(queries) // PIECES)))

    def block(first: int) -> None:
        pause_point()
        products = (-2 * queries[first : first + rows]) @ points.T
        products += squares
        keep_nearest(products, first, indices, scores)
        report(first / len(queries))

    with one_blas_thread():
        in_threads(block, list(range(0, len(queries), rows)))
    return indices, scores


def candidate_neighbors(points: Floats, n_neighbors: int, engine: Engine = NUMPY) -> Neighbors:
    """Nearest other points by a single-precision search without checks, for candidate graphs."""
    if engine.search is not None:
        indices, distances = engine.search.nearest(points, min(n_neighbors + 1, len(points)), 0, no_progress)
        return Neighbors(*without_self(indices, distances))
    centered = points - points.mean(axis=0)
    largest = float(np.abs(centered).max()) or 1.0  # any units of X fit into single precision
    compact = np.ascontiguousarray(centered / largest, dtype=np.float32)
    indices, scores = candidates(compact, compact, min(n_neighbors + 1, len(points)))
    own = np.einsum("ij,ij->i", compact, compact)[:, None]
    indices, squares = without_self(indices, np.maximum(scores + own, 0).astype(np.float64))
    return Neighbors(indices, largest * np.sqrt(squares))


def check_range(X: Features) -> None:
    """Refuse examples whose distances would overflow."""
    largest = np.float64(np.abs(X.data if sp.issparse(X) else X).max(initial=0.0))
    with np.errstate(over="ignore"):
        _check_finite(8 * np.square([largest]) * X.shape[1])


def _check_finite(distances: Floats) -> None:
    if not np.isfinite(distances).all():
        raise ValueError(Message("distances between examples overflow; rescale {X} (for instance to unit variance)"))


def _ties(distances: Floats) -> Floats:
    """Distances in units of the row's largest, with nine digits: equal ones stay equal whatever the units of X."""
    largest = distances.max(axis=1, keepdims=True)
    return np.rint(1e9 * distances / np.where(largest > 0, largest, 1.0))


def _precision_lost(queries: Sparse, points: Sparse, distances: Floats) -> Bools:
    """Whether the rounding error of ||a||^2 - 2 a'b + ||b||^2 is too large for the distances, by query."""
    own, others = (np.asarray(X.multiply(X).sum(axis=1)).ravel() for X in (queries, points))
    error = 8 * np.finfo(np.float64).eps * (own + others.max())
    nearest_squared = np.median(distances, axis=1) ** 2
    return np.asarray(error > 1e-3 * nearest_squared) & (nearest_squared > 0)


def distances_between(queries: Features, points: Features, indices: Ints) -> Floats:
    """Euclidean distances of each query to the points of its row of indices, (q, k), from coordinate differences."""
    distances = np.empty(indices.shape)
    with np.errstate(over="ignore"):
        if sp.issparse(points):
            for k in range(indices.shape[1]):
                difference = (queries - points[indices[:, k]]).astype(np.float64)
                distances[:, k] = np.sqrt(difference.multiply(difference).sum(axis=1))
            return distances
        queries, points = np.ascontiguousarray(queries), np.ascontiguousarray(points)
        in_threads(
            lambda rows: pair_distances(queries, points, indices, distances, rows.start, rows.stop),
            row_pieces(len(queries)),
        )
    return distances
