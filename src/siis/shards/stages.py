"""The stages on workers. Results are written to the work folder, from which any worker can continue."""

from __future__ import annotations

import ctypes
import sys
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from functools import partial, wraps
from pathlib import Path
from typing import Any, TypeVar

import numpy as np
import scipy.sparse as sp

from siis._types import Bools, Floats, Ints
from siis.engine import NUMPY
from siis.engine.group import Group
from siis.engine.sharded import Halo, ShardedEngine
from siis.engine.threads import alone, one_blas_thread
from siis.graph import fingerprints
from siis.graph.lists import merge_lists
from siis.graph.neighbors import Neighbors
from siis.graph.shard import GraphShard, build_shard, symmetric_weights
from siis.graph.weights import gaussian, gaussian_weights
from siis.labels import VertexLabels, one_hot
from siis.labels.unlabelled import UNLABELLED
from siis.model.choose import Choices
from siis.model.constraints import Constraints
from siis.model.programs import ProgramConfig, build_program, program_basis
from siis.model.scores import as_distributions, as_scores, softmax, standardize
from siis.model.smoothing import MOST_SMOOTH, smooth_labels
from siis.program.solvers import solve_certified
from siis.shards.blocks import Block, Reader
from siis.shards.cells import Cells, search, search_all
from siis.shards.files import (
    has,
    load,
    load_array,
    load_object,
    map_array,
    release_pages,
    save,
    save_arrays,
    save_object,
    write_whole,
)

ROOMY_FACTOR = 3  # times the chosen vectors (or classes) in memory, from which on rows are in double precision
RECALL_ROWS = 500  # rows on which the search for neighbours is compared with an exact one
LARGE_ARRAY, M_MMAP_THRESHOLD = 2**21, -3  # bytes of arrays with memory of their own; the parameter of mallopt
NUMBERS_AT_ONCE = 2**21  # numbers of rows that are looked at together
Work = TypeVar("Work", bound=Callable[..., Any])
MOST_SMOOTHED_AT_ONCE = 2**24  # soft labels of folds that a shard smooths as columns of one block
EVIDENCE_TOL, HELD_OUT_TOL = 1e-4, 1e-3  # tolerances of the evidence, and of that without held-out labels


@dataclass(frozen=True, eq=False)
class SampleChoices:
    """Choices for all rows, made by a fit to a sample."""

    reader: Reader  # gives the features of a block, and the ids of its rows or None
    classes: Any  # (c,)
    choices: Choices
    constraints: Constraints
    tol: float
    max_iter: int


@dataclass(frozen=True, eq=False, kw_only=True)
class Settings(SampleChoices):
    """Settings of all stages."""

    folder: Path  # of the work
    n_shards: int
    seed: int
    n_components: int  # at most so many eigenvectors; memory allows no more
    n_rows: int  # of all files

    @property
    def low_memory(self) -> bool:
        """Whether memory is so short that single precision must do."""
        return self.n_components < ROOMY_FACTOR * max(self.choices.program.n_components, len(self.classes))

    @property
    def recall_rows(self) -> Ints:
        """Rows on which the search for neighbours is measured, ascending."""
        n = min(RECALL_ROWS, self.n_rows)
        return np.sort(np.random.default_rng([self.seed, RECALL_ROWS]).choice(self.n_rows, n, replace=False))

    def path(self, stage: str, shard: int, of: int | None = None) -> Path:
        """The file of a shard in a stage, or of one of its blocks."""
        return self.folder / stage / (f"{shard:05d}.npz" if of is None else f"{shard:05d}-{of:06d}.npz")


def load_settings(folder: str) -> Settings:
    """The settings that the client has written to the work folder."""
    found = load_object(Path(folder) / "settings.pickle")
    assert isinstance(found, Settings)
    return replace(found, folder=Path(folder))  # it may have been moved


def points_of(X: Any, settings: Settings) -> Floats:
    """Points in single precision."""
    space = settings.choices.space
    assert space is not None
    return np.ascontiguousarray(space(X), dtype=np.float32)


def trim_memory(work: Work) -> Work:
    """Return freed memory to the system at the end of a stage; the C library keeps it in small pieces."""

    @wraps(work)
    def done(*args: Any) -> Any:
        library = ctypes.CDLL(None) if sys.platform == "linux" else None
        is_gnu = hasattr(library, "mallopt") and hasattr(library, "malloc_trim")
        if library is not None and is_gnu:
            library.mallopt(M_MMAP_THRESHOLD, LARGE_ARRAY)
        try:
            return work(*args)
        finally:
            if library is not None and is_gnu:
                library.malloc_trim(0)

    return done  # type: ignore[return-value]


@trim_memory
def partition(folder: str, number: int, block: Block) -> None:
    """Read a block, and write its rows to the shards of their own cells and of cells searched for them."""
    settings = load_settings(folder)
    cells: Cells = load_object(settings.folder / "cells.pickle")
    labels = load(settings.folder / "labels.npz", "rows", "codes")
    with alone(), one_blas_thread():
        X, ids = settings.reader(block)
        points = points_of(X, settings)
        marks = fingerprints(X)
        near = cells.nearest(points).astype(np.int16)
    del X
    codes = np.full(block.n, UNLABELLED, dtype=np.int32)
    here = (labels["rows"] >= block.first) & (labels["rows"] < block.first + block.n)
    codes[labels["rows"][here] - block.first] = labels["codes"][here]
    home = cells.shard[near[:, 0]]
    rows = block.first + np.arange(block.n)
    for shard in range(settings.n_shards):
        own = home == shard
        guest = ~own & (cells.shard[near] == shard).any(axis=1)
        names = {} if ids is None else {"ids": np.array(ids)[own]}
        save(
            settings.path("rows", shard, number),
            rows=rows[own],
            marks=marks[own],
            near=near[own],
            codes=codes[own],
            points=points[own],
            guest_marks=marks[guest],
            guest_home=home[guest].astype(np.int32),
            guest_near=near[guest],
            guest_points=points[guest],
            **names,
        )
    queried = settings.recall_rows
    queried = queried[(queried >= block.first) & (queried < block.first + block.n)]
    save(settings.path("recall", number), rows=queried, points=points[queried - block.first])


@trim_memory
def find_neighbors(folder: str, shard: int, n_blocks: int) -> int:
    """Merge equal rows of a shard, and search its cells for neighbours of its own rows and of others."""
    settings = load_settings(folder)
    cells: Cells = load_object(settings.folder / "cells.pickle")
    paths = [settings.path("rows", shard, number) for number in range(n_blocks)]
    rows, marks = _concatenated(paths, "rows"), _concatenated(paths, "marks")
    sizes: list[int] = []
    near = _concatenated(paths, "near")
    order = np.lexsort((rows, marks, near[:, 0]))
    starts = np.ones(order.size, dtype=bool)
    starts[1:] = marks[order[1:]] != marks[order[:-1]]
    at = order[starts]
    n = at.size
    vertex: Ints = np.empty(order.size, dtype=np.int32)
    place = np.full(order.size, -1, dtype=np.int32)
    vertex[order] = np.cumsum(starts) - 1
    place[at] = np.arange(n)
    near, marks = near[at], marks[at]
    del order, starts, at
    points, end = np.zeros((0, 0), np.float32), 0
    for path in paths:
        part = load(path, "points")["points"]
        if not sizes:
            points = np.empty((n, part.shape[1]), np.float32)
        sizes.append(len(part))
        where = place[end : end + len(part)]
        points[where[where >= 0]] = part[where >= 0]
        end += len(part)
    here = np.flatnonzero(cells.shard == shard)
    first = np.searchsorted(near[:, 0], np.append(here, here[-1] + 1 if here.size else 0))
    arguments = (points, first, here, cells.centers[here], settings.choices.leading.n_neighbors)
    with alone(), one_blas_thread():
        own = search(points, near, *arguments, is_own=True)
        save_arrays(settings.path("lists", shard, shard), marks=marks, indices=own[0], distances=own[1])
        del own
        _search_recall_rows(settings, shard, points, rows, vertex, n_blocks)
        _search_guests(settings, shard, paths, arguments)
    del points, arguments
    codes = _concatenated(paths, "codes")
    save(settings.path("examples", shard), rows=rows, vertex=vertex, codes=codes, sizes=np.array(sizes))
    return int(n)


def _concatenated(paths: list[Path], name: str) -> Any:
    """An array of all blocks, concatenated."""
    return np.concatenate([load(path, name)[name] for path in paths])


def _search_guests(settings: Settings, shard: int, paths: list[Path], arguments: tuple[Any, ...]) -> None:
    """Search the cells of a shard for rows of others, block by block."""
    parts: dict[int, list[tuple[Any, ...]]] = {other: [] for other in range(settings.n_shards) if other != shard}
    for path in paths:
        guests = load(path, "guest_marks", "guest_home", "guest_near", "guest_points")
        found = search(guests["guest_points"], guests["guest_near"], *arguments)
        for other, lists in parts.items():
            queried = guests["guest_home"] == other
            lists.append((guests["guest_marks"][queried], found[0][queried], found[1][queried]))
    for other, lists in parts.items():
        marks, indices, distances = (np.concatenate(part) for part in zip(*lists, strict=True))
        save_arrays(settings.path("lists", other, shard), marks=marks, indices=indices, distances=distances)
        lists.clear()


def _search_recall_rows(
    settings: Settings, shard: int, points: Floats, rows: Ints, vertex: Ints, n_blocks: int
) -> None:
    """Search all points of a shard for the rows on which the search is measured."""
    paths = [settings.path("recall", number) for number in range(n_blocks)]
    queried, queries = _concatenated(paths, "rows"), _concatenated(paths, "points")
    place = np.minimum(np.searchsorted(rows, queried), max(rows.size - 1, 0))
    own = np.flatnonzero(rows[place] == queried) if rows.size else np.zeros(0, dtype=np.int64)
    indices, distances = search_all(queries, points, settings.choices.leading.n_neighbors + 1)
    itself = vertex[place[own]]
    distances[own] = np.where(indices[own] == itself[:, None], np.inf, distances[own])
    save(settings.path("exact", shard), indices=indices, distances=distances, own=own, vertex=itself)


def neighbor_recall(folder: str, counts: list[int]) -> float:
    """The share of the nearest neighbours that was found, on some rows."""
    settings = load_settings(folder)
    bounds, k = np.concatenate([[0], np.cumsum(counts)]), settings.choices.leading.n_neighbors
    parts = [load(settings.path("exact", shard)) for shard in range(settings.n_shards)]
    indices = np.hstack(
        [np.where(part["indices"] < 0, -1, part["indices"] + bounds[j]) for j, part in enumerate(parts)]
    )
    order = np.argsort(np.hstack([part["distances"] for part in parts]), axis=1, kind="stable")[:, :k]
    exact, hits = np.take_along_axis(indices, order, 1), 0
    for shard, part in enumerate(parts):
        listed = load(settings.path("listed", shard))["indices"]
        hits += int(sum(np.isin(mine, found).sum() for mine, found in zip(exact[part["own"]], listed, strict=True)))
    return hits / max(exact.size, 1)


@trim_memory
def build_graph(group: Group, folder: str, counts: list[int]) -> dict[str, Any]:
    """Merge the lists of neighbours, and join those of all shards to a graph."""
    settings = load_settings(folder)
    shard = group.rank
    bounds = np.concatenate([[0], np.cumsum(counts)])
    indices, distances = _merged_lists(settings, group, bounds)
    queried = load(settings.path("exact", shard), "vertex")["vertex"]
    save(settings.path("listed", shard), indices=indices[queried])
    width = settings.constraints.bandwidth
    if width == "median":
        flat = distances[np.isfinite(distances) & (distances > 0)]
        engine = ShardedEngine(group, Halo(0, {}, {}))
        width = float(engine.medians(flat[:, None])[0]) if engine.total_count(flat.size) else 1.0
        del flat
    _weights_in_place(indices, distances, float(width))
    W = symmetric_weights(group, indices, distances, bounds, settings.choices.leading.connectivity)
    del indices, distances
    graph = build_shard(group, W, bounds)
    path, W = settings.path("graph", shard), graph.weights
    save_arrays(path, data=W.data, indices=W.indices, indptr=W.indptr, part=graph.part)
    save_object(path, (graph.halo, graph.first, graph.others, graph.degrees_of_others, graph.n_parts))
    _mark_reached(group, settings, graph)
    edges = group.allreduce(graph.n_edges, sum)
    halo = group.allreduce(int(graph.others.size), sum)
    return {"edges": int(edges), "parts": graph.n_parts, "halo": int(halo), "bandwidth": float(width)}


def _mark_reached(group: Group, settings: Settings, graph: GraphShard) -> None:
    """Write which vertices are connected to a label."""
    examples = load(settings.path("examples", group.rank), "vertex", "codes")
    named = np.unique(graph.part[examples["vertex"][examples["codes"] != UNLABELLED]])
    save(settings.path("reached", group.rank), reached=np.isin(graph.part, np.concatenate(group.allgather(named))))


def _merged_lists(settings: Settings, group: Group, bounds: Ints) -> tuple[Ints, Floats]:
    """The nearest neighbours of the vertices here that any shard has found, by their numbers among all."""
    shard = group.rank
    path = settings.path("lists", shard, shard)
    marks, indices, distances = (load_array(path, name) for name in ("marks", "indices", "distances"))
    if bounds[-1] > np.iinfo(np.int32).max:
        indices = indices.astype(np.int64)
    np.add(indices, indices.dtype.type(bounds[shard]), out=indices, where=indices >= 0)
    order = np.argsort(marks)
    marks = marks[order]
    for other in range(group.size):
        path = settings.path("lists", shard, other)
        if other == shard or not (queried := load_array(path, "marks")).size:
            continue
        at = order[np.searchsorted(marks, queried)]
        theirs = map_array(path, "indices"), map_array(path, "distances")
        once = np.unique(at, return_index=True)[1]  # equal rows of different blocks occur more than once
        for some in np.array_split(once, 1 + once.size * indices.shape[1] // NUMBERS_AT_ONCE):
            merge_lists(
                indices, distances, at[some], *(part[some] for part in theirs), indices.dtype.type(bounds[other])
            )
    return indices, distances


def _weights_in_place(indices: Ints, distances: Floats, width: float) -> None:
    """Overwrite distances by weights."""
    if len(indices):
        nearest = np.where(indices[:, :1] >= 0, distances[:, :1], 0.0).astype(np.float64)
        gaussian_weights(Neighbors(indices[:, :1], nearest), width)  # refuses a width that is too small
    for a in range(0, len(indices), NUMBERS_AT_ONCE // max(indices.shape[1], 1)):
        part = distances[a : a + NUMBERS_AT_ONCE // indices.shape[1]]
        part[:] = gaussian(part, width)


def _open_graph(group: Group, settings: Settings) -> tuple[GraphShard, ShardedEngine, Callable[[], None]]:
    """The graph of a shard, its engine, and a function that releases the graph's pages."""
    path = settings.path("graph", group.rank)
    halo, first, others, far, n_parts = load_object(path)
    data, indices, indptr = map_array(path, "data"), map_array(path, "indices"), load_array(path, "indptr")
    W = sp.csr_array((data, indices, indptr), shape=(halo.n_own, halo.n_own + others.size))
    graph = GraphShard(W, halo, first, others, far, load_array(path, "part"), n_parts)
    return graph, ShardedEngine(group, halo, settings.low_memory), lambda: release_pages(data, indices)


@trim_memory
def gather_evidence(group: Group, folder: str) -> dict[str, int]:
    """Smooth all labels, and those without each fold, to class scores; returns labels here and columns multiplied."""
    settings = load_settings(folder)
    fidelity, c = settings.choices.leading.fidelity, len(settings.classes)
    graph, engine, _ = _open_graph(group, settings)
    examples, folds = load(settings.path("examples", group.rank)), load(settings.folder / "folds.npz")
    used = np.flatnonzero(examples["codes"] != UNLABELLED)
    codes, rows = examples["codes"][used], examples["vertex"][used].astype(np.int64)
    each = VertexLabels(rows, one_hot(codes, c), np.ones(used.size))
    fold = folds["fold"][np.searchsorted(folds["rows"], examples["rows"][used])]
    save(settings.path("labelled", group.rank), rows=examples["rows"][used], vertex=rows)
    del examples

    def smooth(sets: list[VertexLabels], tol: float) -> list[Floats]:
        given = [(labels.aggregate() if labels.rows.size else labels).in_shards(engine) for labels in sets]
        subspace = np.array(map_array(settings.path("basis", group.rank), "vectors")[:, :MOST_SMOOTH])
        return smooth_labels(graph.weights, given, fidelity, tol, engine, subspace)

    held = np.zeros((used.size, c))
    every = list(range(int(folds["fold"].max(initial=-1)) + 1))
    together = max(1, MOST_SMOOTHED_AT_ONCE // max(engine.total_count(graph.n_vertices) // group.size * c, 1))
    for a in range(0, len(every), together):
        some = every[a : a + together]
        for k, F in zip(some, smooth([each.subset(fold != k) for k in some], HELD_OUT_TOL), strict=True):
            out = np.flatnonzero(fold == k)
            held[out] = standardize(F, rows[out], engine)
        del F
    everything = standardize(smooth([each], EVIDENCE_TOL)[0], engine=engine)
    path = settings.path("evidence", group.rank)
    save_arrays(path, distributions=softmax(everything).astype(np.float32, copy=False), held=held)
    return {"labelled": int(used.size), "columns": engine.columns}


@trim_memory
def find_basis(group: Group, folder: str) -> dict[str, int]:
    """The smoothest eigenvectors; returns their number, and the number of columns multiplied with the graph."""
    settings = load_settings(folder)
    graph, engine, release_graph = _open_graph(group, settings)
    config = _feasible_program(settings)
    basis = program_basis(graph, config, settings.seed, np.float32, lambda share: release_graph(), engine)
    path = settings.path("basis", group.rank)
    save_arrays(path, vectors=basis.vectors)
    save_object(path, replace(basis, vectors=basis.vectors[:, :0], engine=NUMPY))
    return {"vectors": int(basis.values.size), "columns": engine.columns}


def _feasible_program(settings: Settings) -> ProgramConfig:
    """The chosen program, with no more vectors than memory allows."""
    config = settings.choices.program
    return replace(config, n_components=min(config.n_components, settings.n_components))


@trim_memory
def solve(group: Group, folder: str) -> dict[str, Any]:
    """Solve the program, and join its scores with the evidence."""
    settings = load_settings(folder)
    c = len(settings.classes)
    graph, engine, release_graph = _open_graph(group, settings)
    assert graph.degrees.size == graph.edges.first.size - 1  # what the program needs of the weights
    release_graph()
    path = settings.path("evidence", group.rank)
    of_basis = settings.path("basis", group.rank)
    basis = replace(load_object(of_basis), vectors=load_array(of_basis, "vectors"), engine=engine)
    evidence = load_array(path, "distributions").astype(engine.row_type(np.float32), copy=False)
    program = build_program(graph, basis, evidence, _feasible_program(settings), settings.constraints)
    sent, messages = group.sent, group.messages
    solution = solve_certified(program, settings.tol, settings.max_iter)
    n_iter = solution.n_iter
    figures = {
        "objective": solution.objective,
        "gap": solution.relative_gap,
        "iterations": n_iter,
        "status": solution.status,
        "bytes": (group.sent - sent) / n_iter,
        "messages": (group.messages - messages) / n_iter,
    }
    A = solution.coefficients
    del graph, program, solution
    F = np.asarray(basis.synthesize(A), engine.row_type(np.float32))
    scores = standardize(as_distributions(F, c), engine=engine)
    del F
    scores = (scores + as_scores(evidence)) / 2
    scores -= scores.mean(axis=1, keepdims=True)
    unit = float(np.sqrt(engine.mean(np.einsum("ij,ij->i", scores, scores) / c))) or 1.0
    scores /= unit  # a deviation of 1, as when several are pooled
    save_arrays(settings.path("scores", group.rank), scores=scores.astype(np.float32, copy=False))
    labelled = load(settings.path("labelled", group.rank), "rows", "vertex")
    final = scores[labelled["vertex"]].astype(np.float32)
    save(settings.path("labelled_scores", group.rank), **labelled, held=load_array(path, "held"), scores=final)
    return {"unit": unit, **figures}


@dataclass(frozen=True, eq=False)
class Answers:
    """Answers for some rows of a shard, which are of one block."""

    rows: Ints  # (n,), numbers among all, ascending
    codes: Ints  # (n,), given classes
    probabilities: Floats  # (n, c)
    reached: Bools  # (n,), whether a label is connected
    quality: Floats  # (n,), of the given labels; NaN where there is none
    ids: Any  # (n,), or None


def answers_of(folder: str, shard: int) -> Iterator[Answers]:
    """Calibrate the answers of a shard, block by block."""
    settings = load_settings(folder)
    noise, labelled = load_object(settings.folder / "noise.pickle"), load(settings.folder / "judged.npz")
    examples, scores = load(settings.path("examples", shard)), map_array(settings.path("scores", shard), "scores")
    reached = load(settings.path("reached", shard))["reached"]
    place = np.full(len(scores), -1, dtype=np.int64)  # of a vertex with a label, among the labels
    here = np.flatnonzero(labelled["shard"] == shard)
    place[labelled["vertex"][here]] = here
    ends = np.cumsum(examples["sizes"])
    for number, (size, end) in enumerate(zip(examples["sizes"], ends, strict=True)):
        rows, vertex, codes = (examples[name][end - size : end] for name in ("rows", "vertex", "codes"))
        answers = noise.probabilities(scores[vertex].astype(np.float64))
        known = place[vertex] >= 0
        answers[known] = labelled["answers"][place[vertex[known]]]
        at, has_label = np.searchsorted(labelled["rows"], rows), codes != UNLABELLED
        answers[has_label] = labelled["own"][at[has_label]]
        quality = np.full(rows.size, np.nan)
        quality[has_label] = labelled["quality"][at[has_label]]
        path = settings.path("rows", shard, number)
        ids = load(path, "ids")["ids"] if has(path, "ids") else None
        yield Answers(rows, codes, answers, reached[vertex], quality, ids)


@trim_memory
def write_arrays(folder: str, shard: int, out: str) -> Ints:
    """Write the answers of a shard as arrays; returns the reached rows of each class, and the other rows."""
    parts = list(answers_of(folder, shard))
    for name, of in (("rows", "rows"), ("answers", "probabilities"), ("reached", "reached")):
        values = np.concatenate([getattr(part, of) for part in parts])
        write_whole(Path(out) / f"{name}-{shard:05d}.npy", partial(_put, values))
    c = len(load_settings(folder).classes)
    winners = np.concatenate([np.argmax(part.probabilities[part.reached], axis=1) for part in parts])
    return np.append(np.bincount(winners, minlength=c), sum(part.rows.size for part in parts) - winners.size)


def _put(values: Any, file: Any) -> None:
    np.save(file, values)


@trim_memory
def write_answers(folder: str, shard: int, out: str) -> Ints:
    """Write the answers of a shard as Parquet; returns the number of rows of each class."""
    import pyarrow as pa  # noqa: PLC0415
    from pyarrow import parquet  # noqa: PLC0415

    names = np.array([str(name) for name in load_settings(folder).classes])
    counts = np.zeros(names.size, dtype=np.int64)

    def write(file: Any) -> None:
        writer = None
        for part in answers_of(folder, shard):
            winners, has_label = np.argmax(part.probabilities, axis=1), part.codes != UNLABELLED
            table = pa.table(
                {
                    "row": part.rows,
                    **({} if part.ids is None else {"id": pa.array(part.ids, pa.string())}),
                    "label": pa.array(names[winners], pa.string()),
                    "confidence": part.probabilities.max(axis=1, initial=0.0),
                    "given": pa.array(np.where(has_label, names[part.codes], ""), pa.string(), mask=~has_label),
                    "quality": pa.array(part.quality, mask=~has_label),
                }
            )
            writer = writer or parquet.ParquetWriter(file, table.schema)
            writer.write_table(table)
            counts[:] += np.bincount(winners, minlength=counts.size)
        assert writer is not None  # there is a block at least
        writer.close()

    write_whole(Path(out) / f"part-{shard:05d}.parquet", write)
    return counts
