"""Stages on workers, from blocks of rows to the graph. Results are files from which any worker can continue."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np

from siis._types import Floats, Ints
from siis.distributed.cells import CellPoints, Cells
from siis.distributed.communicator import Communicator
from siis.distributed.neighbor_lists import merge_lists
from siis.distributed.row_blocks import Block
from siis.distributed.settings import Settings, trim_memory
from siis.distributed.sharded_engine import Halo, ShardedEngine
from siis.distributed.sharded_graph import GraphShard, build_shard, symmetric_weights
from siis.distributed.work_files import (
    concatenated,
    load,
    load_array,
    load_object,
    map_array,
    save,
    save_arrays,
    save_object,
)
from siis.engine.threads import alone, one_blas_thread
from siis.graph import fingerprints
from siis.graph.neighbors import Neighbors
from siis.graph.weights import gaussian, gaussian_weights
from siis.labels.unlabelled import UNLABELLED

NUMBERS_AT_ONCE = 2**21  # numbers of rows that are looked at together


@trim_memory
def partition(folder: str, number: int, block: Block) -> None:
    """Read a block, and write its rows to the shards of their own cells and of cells searched for them."""
    settings = Settings.load(folder)
    cells: Cells = load_object(settings.folder / "cells.pickle")
    with alone(), one_blas_thread():
        X, ids = settings.reader(block)
        points = settings.points(X)
        marks = fingerprints(X)
        near = cells.nearest(points).astype(np.int16)
    del X
    codes = np.full(block.n, UNLABELLED, dtype=np.int32)
    labelled, given = load(settings.labels_path, "rows", "codes")
    here = slice(*np.searchsorted(labelled, [block.first, block.first + block.n]))
    codes[labelled[here] - block.first] = given[here]
    home, rows = cells.shard[near[:, 0]], block.first + np.arange(block.n)
    for shard in range(settings.n_shards):
        own = home == shard
        guest = ~own & (cells.shard[near] == shard).any(axis=1)
        save(
            settings.path("rows", shard, number),
            rows=rows[own],
            ids=np.zeros(0, str) if ids is None else np.array(ids)[own],
            marks=marks[own],
            near=near[own],
            codes=codes[own],
            points=points[own],
            guest_marks=marks[guest],
            guest_home=home[guest].astype(np.int32),
            guest_near=near[guest],
            guest_points=points[guest],
        )
    queried = settings.recall_rows
    queried = queried[(queried >= block.first) & (queried < block.first + block.n)]
    save(settings.path("recall", number), rows=queried, points=points[queried - block.first])


@trim_memory
def find_neighbors(folder: str, shard: int, n_blocks: int) -> int:
    """Merge equal rows of a shard, and search its cells for neighbours of its own rows and of others."""
    settings = Settings.load(folder)
    cells: Cells = load_object(settings.folder / "cells.pickle")
    paths = [settings.path("rows", shard, number) for number in range(n_blocks)]
    rows, marks, near = (concatenated(paths, name) for name in ("rows", "marks", "near"))
    order = np.lexsort((rows, marks, near[:, 0]))
    is_new = np.append(True, marks[order[1:]] != marks[order[:-1]])[: order.size]
    vertex: Ints = np.empty(order.size, dtype=np.int32)
    vertex[order] = np.cumsum(is_new) - 1
    kept = order[is_new]  # a row of each vertex
    near, marks, n = near[kept], marks[kept], kept.size
    place: Ints = np.full(order.size, -1, dtype=np.int32)
    place[kept] = np.arange(n)
    del order, is_new, kept
    points, sizes = _points_at(paths, place, n)
    here = np.flatnonzero(cells.shard == shard)
    first = np.searchsorted(near[:, 0], np.append(here, here[-1] + 1 if here.size else 0))
    base, n_wanted = CellPoints(points, first, here, cells.centers[here]), settings.choices.leading.n_neighbors
    with alone(), one_blas_thread():
        indices, distances = base.search(points, near, n_wanted, is_own=True)
        save_arrays(settings.path("lists", shard, shard), marks=marks, indices=indices, distances=distances)
        del indices, distances
        _search_recall_rows(settings, shard, base, rows, vertex, n_blocks)
        _search_guests(settings, shard, paths, base)
    del points, base
    codes = concatenated(paths, "codes")
    save(settings.path("examples", shard), rows=rows, vertex=vertex, codes=codes, sizes=np.array(sizes))
    return int(n)


def _points_at(paths: list[Path], place: Ints, n: int) -> tuple[Floats, list[int]]:
    """Points of the rows of all blocks at their places, (n, d), -1 for none, and the number of rows of each block."""
    points = np.zeros((0, 0), np.float32)
    sizes: list[int] = []
    for path in paths:
        (part,) = load(path, "points")
        if not sizes:
            points = np.empty((n, part.shape[1]), np.float32)
        at = place[sum(sizes) : sum(sizes) + len(part)]
        points[at[at >= 0]] = part[at >= 0]
        sizes.append(len(part))
    return points, sizes


def _search_guests(settings: Settings, shard: int, paths: list[Path], base: CellPoints) -> None:
    """Search the cells of a shard for rows of others, block by block."""
    parts: dict[int, list[tuple[Any, ...]]] = {other: [] for other in range(settings.n_shards) if other != shard}
    for path in paths:
        marks, home, near, points = load(path, "guest_marks", "guest_home", "guest_near", "guest_points")
        found = base.search(points, near, settings.choices.leading.n_neighbors)
        for other, lists in parts.items():
            queried = home == other
            lists.append((marks[queried], found[0][queried], found[1][queried]))
    for other, lists in parts.items():
        marks, indices, distances = (np.concatenate(part) for part in zip(*lists, strict=True))
        save_arrays(settings.path("lists", other, shard), marks=marks, indices=indices, distances=distances)
        lists.clear()


def _search_recall_rows(
    settings: Settings, shard: int, base: CellPoints, rows: Ints, vertex: Ints, n_blocks: int
) -> None:
    """Write distances of the nearest of all points here to the rows on which the search is measured."""
    paths = [settings.path("recall", number) for number in range(n_blocks)]
    queried = concatenated(paths, "rows")
    _, distances = base.search_all(concatenated(paths, "points"), settings.choices.leading.n_neighbors + 1)
    at = np.minimum(np.searchsorted(rows, queried), max(rows.size - 1, 0))
    own = np.flatnonzero(rows[at] == queried) if rows.size else np.zeros(0, dtype=np.int64)
    distances[own, 0] = np.inf  # the row itself
    save(settings.path("exact", shard), distances=distances, own=own, vertex=vertex[at[own]])


def _neighbor_recall(comm: Communicator, settings: Settings, listed: Floats) -> float:
    """The share of the nearest neighbours that was found, on some rows. listed: (n, K), their distances."""
    distances, own, vertex = load(settings.path("exact", comm.rank), "distances", "own", "vertex")
    exact = np.sort(np.hstack(comm.allgather(distances)), axis=1)[own, : listed.shape[1]]
    is_found = (listed[vertex] <= exact[:, -1:]) & np.isfinite(listed[vertex])
    counts = comm.allreduce(np.array([np.count_nonzero(is_found), np.count_nonzero(np.isfinite(exact))]), sum)
    return float(counts[0] / max(counts[1], 1))


@trim_memory
def build_graph(comm: Communicator, folder: str, counts: list[int]) -> dict[str, Any]:
    """Merge the lists of neighbours, and join those of all shards to a graph."""
    settings, shard = Settings.load(folder), comm.rank
    bounds = np.concatenate([[0], np.cumsum(counts)])
    indices, distances = _merged_lists(settings, comm, bounds)
    recall = _neighbor_recall(comm, settings, distances)
    width = settings.constraints.bandwidth
    if width == "median":
        flat = distances[np.isfinite(distances) & (distances > 0)]
        engine = ShardedEngine(comm, Halo(0, {}, {}))
        width = float(engine.medians(flat[:, None])[0]) if engine.total_count(flat.size) else 1.0
        del flat
    _weights_in_place(indices, distances, float(width))
    W = symmetric_weights(comm, indices, distances, bounds, settings.choices.leading.connectivity)
    del indices, distances
    graph = build_shard(comm, W, bounds)
    path, W = settings.path("graph", shard), graph.weights
    save_arrays(path, data=W.data, indices=W.indices, indptr=W.indptr, part=graph.part)
    save_object(path, (graph.halo, graph.first, graph.others, graph.degrees_of_others, graph.n_parts))
    _mark_reached(comm, settings, graph)
    edges, halo = (comm.allreduce(n, sum) for n in (graph.n_edges, int(graph.others.size)))
    found = {"edges": edges, "parts": graph.n_parts, "halo": halo, "bandwidth": float(width)}
    return {**found, "neighbor_recall": recall}


def _mark_reached(comm: Communicator, settings: Settings, graph: GraphShard) -> None:
    """Write which vertices are connected to a label."""
    vertex, codes = load(settings.path("examples", comm.rank), "vertex", "codes")
    labelled = np.concatenate(comm.allgather(np.unique(graph.part[vertex[codes != UNLABELLED]])))
    save(settings.path("reached", comm.rank), reached=np.isin(graph.part, labelled))


def _merged_lists(settings: Settings, comm: Communicator, bounds: Ints) -> tuple[Ints, Floats]:
    """The nearest neighbours of the vertices here that any shard has found, by their numbers among all."""
    shard = comm.rank
    path = settings.path("lists", shard, shard)
    marks, indices, distances = (load_array(path, name) for name in ("marks", "indices", "distances"))
    if bounds[-1] > np.iinfo(np.int32).max:
        indices = indices.astype(np.int64)
    kind = indices.dtype.type
    np.add(indices, kind(bounds[shard]), out=indices, where=indices >= 0)
    order = np.argsort(marks)
    marks = marks[order]
    for other in range(comm.size):
        path = settings.path("lists", shard, other)
        if other == shard or not (queried := load_array(path, "marks")).size:
            continue
        at = order[np.searchsorted(marks, queried)]
        theirs = map_array(path, "indices"), map_array(path, "distances")
        once = np.unique(at, return_index=True)[1]  # equal rows of different blocks occur more than once
        for some in np.array_split(once, 1 + once.size * indices.shape[1] // NUMBERS_AT_ONCE):
            merge_lists(indices, distances, at[some], *(part[some] for part in theirs), kind(bounds[other]))
    return indices, distances


def _weights_in_place(indices: Ints, distances: Floats, width: float) -> None:
    """Overwrite distances by weights."""
    if len(indices):
        nearest = np.where(indices[:, :1] >= 0, distances[:, :1], 0.0).astype(np.float64)
        gaussian_weights(Neighbors(indices[:, :1], nearest), width)  # refuses a width that is too small
    step = NUMBERS_AT_ONCE // max(indices.shape[1], 1)
    for a in range(0, len(indices), step):
        part = distances[a : a + step]
        part[:] = gaussian(part, width)
