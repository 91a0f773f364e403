"""Cells of a coarse quantiser, dealt to shards, and the search for neighbours in them."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from sklearn.cluster import KMeans

from siis._types import Floats, Ints
from siis.distributed.neighbor_lists import by_cell, take_nearer
from siis.engine.loops import pair_distances
from siis.graph.neighbors import candidates

ROWS_PER_CELL = 2_000
SAMPLED_PER_CELL = 20  # points on which a cell is trained, at least
MOST_CELLS = 4_096
PROBED_CELLS = 8  # cells in which the neighbours of a row are sought
KMEANS_STEPS = 10  # of k-means
POINTS_AT_ONCE = 20_000  # queries, or points, in a block
SPARE_CANDIDATES = 2  # more than wanted: single precision ranks them


@dataclass(frozen=True, eq=False)
class Cells:
    """Cells and their shards."""

    centers: Floats  # (k, d), single precision, in the order of the shards
    shard: Ints  # (k,), of each cell, ascending

    def nearest(self, points: Floats) -> Ints:
        """The nearest few cells of each point, nearest first, shape (n, p); equal points have equal cells."""
        k = min(PROBED_CELLS, len(self.centers))
        found, _ = candidates(points, self.centers, min(k + SPARE_CANDIDATES, len(self.centers)))
        distances = np.empty(found.shape)
        pair_distances(points, self.centers, found, distances, 0, len(points))
        order = np.lexsort((found, distances))
        return np.take_along_axis(found, order, 1)[:, :k]


@dataclass(frozen=True, eq=False)
class CellPoints:
    """The points of some cells, cell after cell."""

    points: Floats  # (n, d), single precision
    first: Ints  # (k + 1,), those of cell ``cells[j]`` are first[j] to first[j + 1] - 1
    cells: Ints  # (k,)
    centers: Floats  # (k, d)

    def search(self, queries: Floats, near: Ints, n_wanted: int, is_own: bool = False) -> tuple[Ints, Floats]:
        """Find the nearest points of queries, (q, d), in their cells, near: (q, p), as far as these are here.

        With ``is_own``, queries are the points, none its own neighbour. Returns indices (-1 where there are no more)
        and ascending distances, (q, n_wanted).
        """
        lists = _empty_lists(len(queries), n_wanted)
        n_cells = max(int(near.max(initial=-1)), int(self.cells.max(initial=-1))) + 1
        starts, rows = by_cell(near, n_cells)
        for cell, center, a, b in zip(self.cells, self.centers, self.first[:-1], self.first[1:], strict=True):
            own, every = self.points[a:b] - center, rows[starts[cell] : starts[cell + 1]]
            wanted = min(n_wanted + is_own + SPARE_CANDIDATES, len(own))
            for begun in range(0, every.size if wanted else 0, POINTS_AT_ONCE):
                at = every[begun : begun + POINTS_AT_ONCE]
                found, _ = candidates(queries[at] - center, own, wanted)
                take_nearer(queries, at, self.points, found, int(a), is_own, *lists)
        return lists

    def search_all(self, queries: Floats, n_wanted: int) -> tuple[Ints, Floats]:
        """Find the nearest of all points of each of a few queries, block after block; as ``search`` gives them."""
        lists, at = _empty_lists(len(queries), n_wanted), np.arange(len(queries))
        for a in range(0, len(self.points), POINTS_AT_ONCE):
            own = self.points[a : a + POINTS_AT_ONCE]
            center = own.mean(axis=0)
            found, _ = candidates(queries - center, own - center, min(n_wanted + SPARE_CANDIDATES, len(own)))
            take_nearer(queries, at, self.points, found, a, False, *lists)
        return lists


def train_cells(points: Floats, n_rows: int, n_shards: int, seed: int) -> Cells:
    """Find cells on a sample, and deal them to shards, neighbours together. points: (s, d), single precision."""
    least = 2 * n_shards
    most = min(MOST_CELLS, max(len(points) // SAMPLED_PER_CELL, least))
    k = min(int(np.clip(n_rows // ROWS_PER_CELL, least, most)), len(np.unique(points, axis=0)))
    model = KMeans(k, n_init=1, max_iter=KMEANS_STEPS, random_state=seed).fit(points)
    centers, sizes = model.cluster_centers_.astype(np.float32), np.bincount(model.labels_, minlength=k)
    shard = np.zeros(k, dtype=np.int64)
    _halve(centers, sizes + 1.0, np.arange(k), np.arange(n_shards), shard)
    order = np.argsort(shard, kind="stable")
    return Cells(np.ascontiguousarray(centers[order]), shard[order])


def _halve(centers: Floats, sizes: Floats, cells: Ints, shards: Ints, of: Ints) -> None:
    """Bisect the cells by size along the direction of largest variance, until every shard has its own."""
    if shards.size == 1 or not cells.size:
        of[cells] = shards[0]
        return
    here = centers[cells].astype(np.float64)
    direction = np.linalg.svd(here - here.mean(axis=0), full_matrices=False)[2][0]
    order = cells[np.argsort(here @ direction, kind="stable")]
    half = shards.size // 2
    share = np.cumsum(sizes[order]) / sizes[order].sum()
    cut = int(np.clip(np.searchsorted(share, half / shards.size) + 1, 1, order.size - 1)) if order.size > 1 else 1
    _halve(centers, sizes, order[:cut], shards[:half], of)
    _halve(centers, sizes, order[cut:], shards[half:], of)


def _empty_lists(n: int, n_wanted: int) -> tuple[Ints, Floats]:
    return np.full((n, n_wanted), -1, dtype=np.int32), np.full((n, n_wanted), np.inf, dtype=np.float32)
