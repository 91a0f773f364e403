"""What workers do in each stage. What they make is written to the work folder, from which any worker can go on."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

from siis._types import Bools, Floats, Ints
from siis.engine import NUMPY
from siis.engine.group import Group
from siis.engine.sharded import Halo, ShardedEngine
from siis.engine.threads import alone, one_blas_thread
from siis.evidence import KernelScores, as_distributions, as_scores, read, softmax
from siis.graph import fingerprints
from siis.graph.neighbors import Neighbors
from siis.graph.shard import GraphShard, joined_rows, shard_of
from siis.graph.weights import gaussian_weights
from siis.labels import Supervision, one_hot
from siis.labels.unlabelled import UNLABELLED
from siis.selection import EVIDENCE, PROGRAM, Constraints, Selection, join_scores
from siis.selection.final import final_basis, final_program
from siis.selection.prepared import smooth_all
from siis.shards.blocks import Block, Reader
from siis.shards.cells import Cells, search
from siis.shards.files import keep, kept, load, save, write_whole
from siis.solvers import solve_certified

ROOMY = 3  # times the chosen vectors that memory holds, from which on the eigensolver has its usual spare blocks
MOST_AT_ONCE = 2**24  # soft labels of folds that a shard smooths as columns of one block
SMOOTH, ROUGHLY = 1e-4, 1e-3  # tolerances of the evidence, and of that without held-out labels


@dataclass(frozen=True, eq=False)
class Settings:
    """What all stages know.

    Attributes
    ----------
    folder : Path
        Of the work.
    n_shards : int
    reader : callable
        Gives the features of a block, and the ids of its rows or None.
    selection : Selection
        What was chosen on a sample.
    model : KernelScores or None
    deviation : float
        Root of the total variance of the scores.
    constraints : Constraints
    classes : ndarray of shape (c,)
    seed : int
    tol : float
    max_iter : int
    n_components : int
        At most so many eigenvectors; memory allows no more.
    """

    folder: Path
    n_shards: int
    reader: Reader
    selection: Selection
    model: KernelScores | None
    deviation: float
    constraints: Constraints
    classes: Any
    seed: int
    tol: float
    max_iter: int
    n_components: int

    def path(self, stage: str, shard: int, of: int | None = None) -> Path:
        """The file of a shard in a stage; of a block where it is given."""
        return self.folder / stage / (f"{shard:05d}.npz" if of is None else f"{shard:05d}-{of:06d}.npz")


def settings_of(folder: str) -> Settings:
    """The settings that the client has left in the work folder."""
    found = kept(Path(folder) / "settings.pickle")
    assert isinstance(found, Settings)
    return replace(found, folder=Path(folder))  # it may have been moved


def points_of(X: Any, settings: Settings) -> tuple[Floats, Floats | None]:
    """Points in single precision, and the scores of the kernel model."""
    selection = settings.selection
    assert selection.space is not None
    Z = selection.space(X)
    scores = None if settings.model is None else settings.model(Z)
    joined = join_scores(Z, scores, selection.chosen.score_weight * selection.unit, settings.deviation)
    return np.ascontiguousarray(joined, dtype=np.float32), scores


def partition(folder: str, number: int, block: Block) -> None:
    """Read a block, and write its rows to the shards of their cells, and of cells where they are to be searched."""
    settings = settings_of(folder)
    cells: Cells = kept(settings.folder / "cells.pickle")
    labels = load(settings.folder / "labels.npz")
    with alone(), one_blas_thread():
        X, ids = settings.reader(block)
        points, scores = points_of(X, settings)
        marks = fingerprints(X)
        near = cells.nearest(points)
    codes = np.full(block.n, UNLABELLED)
    here = (labels["rows"] >= block.first) & (labels["rows"] < block.first + block.n)
    codes[labels["rows"][here] - block.first] = labels["codes"][here]
    home = cells.shard[near[:, 0]]
    rows = block.first + np.arange(block.n)
    said = np.zeros((block.n, 0), np.float32) if scores is None else scores.astype(np.float32)
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
            scores=said[own],
            guest_marks=marks[guest],
            guest_home=home[guest],
            guest_near=near[guest],
            guest_points=points[guest],
            **names,
        )


def find_neighbors(folder: str, shard: int, n_blocks: int) -> int:
    """Merge equal rows of a shard, and search its cells, for its own rows and those of others."""
    settings = settings_of(folder)
    cells: Cells = kept(settings.folder / "cells.pickle")
    parts = [load(settings.path("rows", shard, number)) for number in range(n_blocks)]
    whole = {name: np.concatenate([part.pop(name) for part in parts]) for name in list(parts[0])}
    del parts
    order = np.lexsort((whole["rows"], whole["marks"], whole["near"][:, 0]))
    marks = whole["marks"][order]
    starts = np.ones(order.size, dtype=bool)
    starts[1:] = marks[1:] != marks[:-1]
    at = order[starts]
    vertex = np.empty(order.size, dtype=np.int64)
    vertex[order] = np.cumsum(starts) - 1
    near, points = whole["near"][at], whole["points"][at]
    here = np.flatnonzero(cells.shard == shard)
    first = np.searchsorted(near[:, 0], np.append(here, here[-1] + 1 if here.size else 0))
    n_wanted = settings.selection.chosen.n_neighbors + 1
    _, some = np.unique(whole["guest_marks"], return_index=True)
    with alone(), one_blas_thread():
        arguments = (points, first, here, cells.centers[here], n_wanted)
        own = search(points, near, *arguments)
        guests = search(whole["guest_points"][some], whole["guest_near"][some], *arguments)
    names = {"ids": whole["ids"]} if "ids" in whole else {}
    save(settings.path("examples", shard), rows=whole["rows"], vertex=vertex, codes=whole["codes"], **names)
    for other in range(settings.n_shards):
        asked = whole["guest_home"][some] == other
        save(
            settings.path("lists", other, shard),
            marks=marks[starts] if other == shard else whole["guest_marks"][some][asked],
            indices=own[0] if other == shard else guests[0][asked],
            distances=(own[1] if other == shard else guests[1][asked]).astype(np.float32),
        )
    save(settings.path("vertices", shard), scores=whole["scores"][at])
    return int(starts.sum())


def build_graph(group: Group, folder: str, counts: list[int]) -> dict[str, Any]:
    """Merge the lists of neighbours, and join those of all shards to a graph."""
    settings = settings_of(folder)
    shard, chosen = group.rank, settings.selection.chosen
    bounds = np.concatenate([[0], np.cumsum(counts)])
    n, own = counts[shard], load(settings.path("lists", shard, shard))
    marks = np.argsort(own["marks"])
    indices, distances = np.where(own["indices"] >= 0, own["indices"] + bounds[shard], -1), own["distances"]
    distances[indices == bounds[shard] + np.arange(n)[:, None]] = np.inf  # itself
    for other in [other for other in range(group.size) if other != shard]:
        found = load(settings.path("lists", shard, other))
        if not found["marks"].size:
            continue
        at = marks[np.searchsorted(own["marks"][marks], found["marks"])]
        there = np.where(found["indices"] >= 0, found["indices"] + bounds[other], -1)
        every = np.hstack([indices[at], there]), np.hstack([distances[at], found["distances"]])
        best = np.lexsort(every)[:, : indices.shape[1]]
        indices[at], distances[at] = (np.take_along_axis(part, best, 1) for part in every)
    best = np.lexsort((indices, distances))[:, : chosen.n_neighbors]
    indices = np.take_along_axis(indices, best, 1)
    distances = np.take_along_axis(distances, best, 1).astype(np.float64)
    indices[np.isinf(distances)] = -1
    flat = distances[np.isfinite(distances) & (distances > 0)]
    width = settings.constraints.bandwidth
    if width == "median":
        width = float(ShardedEngine(group, _nowhere(n)).medians(flat[:, None])[0])
    near = Neighbors(np.maximum(indices, 0), np.where(indices >= 0, distances, 0.0))
    weights = gaussian_weights(near, float(width)) if n else np.zeros(distances.shape)
    graph = shard_of(group, joined_rows(group, indices, weights, bounds, chosen.graph), bounds)
    keep(settings.path("graph", shard), graph)
    _mark_reached(group, settings, graph)
    edges = group.joined(graph.n_edges, sum)
    return {"edges": int(edges), "parts": graph.n_parts, "halo": int(graph.others.size), "bandwidth": float(width)}


def _mark_reached(group: Group, settings: Settings, graph: GraphShard) -> None:
    """Write which vertices are connected to a label."""
    examples = load(settings.path("examples", group.rank))
    named = np.unique(graph.part[examples["vertex"][examples["codes"] != UNLABELLED]])
    save(settings.path("reached", group.rank), reached=np.isin(graph.part, np.concatenate(group.gather(named))))


def _nowhere(n: int) -> Any:
    return Halo(n, {}, {})


def _opened(group: Group, settings: Settings) -> tuple[GraphShard, ShardedEngine]:
    graph: GraphShard = kept(settings.path("graph", group.rank))
    has_room = settings.n_components >= ROOMY * settings.selection.chosen.n_components
    return graph, ShardedEngine(group, graph.halo, ShardedEngine.spare_blocks if has_room else 1)


def gather_evidence(group: Group, folder: str) -> int:
    """Smooth the labels over the graph, and read them; and once more without those of each fold."""
    settings = settings_of(folder)
    chosen, c = settings.selection.chosen, len(settings.classes)
    graph, engine = _opened(group, settings)
    examples, folds = load(settings.path("examples", group.rank)), load(settings.folder / "folds.npz")
    scores = load(settings.path("vertices", group.rank))["scores"]
    known = scores.astype(np.float64) if scores.shape[1] else None
    used = np.flatnonzero(examples["codes"] != UNLABELLED)
    codes, rows = examples["codes"][used], examples["vertex"][used]
    each = Supervision(rows, one_hot(codes, c), np.ones(used.size))
    fold = folds["fold"][np.searchsorted(folds["rows"], examples["rows"][used])]

    def smooth(sets: list[Supervision], tol: float) -> list[Floats]:
        given = [(labels.merged() if labels.rows.size else labels).within(engine) for labels in sets]
        k = len(sets)
        return smooth_all(graph.weights, given, chosen.fidelity, [chosen.pull] * k, [known] * k, tol, engine)

    held = np.zeros((used.size, c))
    every = list(range(int(folds["fold"].max(initial=-1)) + 1))
    together = max(1, MOST_AT_ONCE // max(engine.count(graph.n_vertices) // group.size * c, 1))
    for a in range(0, len(every), together):
        some = every[a : a + together]
        for k, F in zip(some, smooth([each.picked(fold != k) for k in some], ROUGHLY), strict=True):
            out = np.flatnonzero(fold == k)
            held[out] = read(F, chosen.reading, rows[out], engine)
    everything = read(smooth([each], SMOOTH)[0], chosen.reading, engine=engine)
    save(settings.path("evidence", group.rank), distributions=softmax(everything).astype(np.float32), held=held)
    return used.size


def find_basis(group: Group, folder: str) -> list[float]:
    """The smoothest eigenvectors."""
    settings = settings_of(folder)
    graph, engine = _opened(group, settings)
    chosen = _within(settings, graph)
    basis = final_basis(graph, chosen, settings.seed, np.float32, engine=engine)
    keep(settings.path("basis", group.rank), replace(basis, engine=NUMPY))
    return [float(value) for value in basis.values]


def _within(settings: Settings, graph: GraphShard) -> Any:
    """The chosen program, with no more vectors than memory allows."""
    chosen = settings.selection.chosen
    return replace(chosen, n_components=min(chosen.n_components, settings.n_components))


def solve(group: Group, folder: str) -> dict[str, Any]:
    """Solve the program, and read what it says together with the evidence."""
    settings = settings_of(folder)
    chosen, answer, c = settings.selection.chosen, settings.selection.answer, len(settings.classes)
    graph, engine = _opened(group, settings)
    basis = replace(kept(settings.path("basis", group.rank)), engine=engine)
    told = load(settings.path("evidence", group.rank))
    evidence = told["distributions"].astype(np.float64)
    program = final_program(graph, basis, evidence, _within(settings, graph), settings.constraints)
    sent, messages = group.sent, group.messages
    solution = solve_certified(program, settings.tol, settings.max_iter)
    sent, messages = group.sent - sent, group.messages - messages
    spoken = []
    if answer != EVIDENCE:
        F = engine.numpy(program.basis.synthesize(solution.coefficients))
        spoken.append(read(as_distributions(F, c), chosen.program_reading, engine=engine))
    if answer != PROGRAM:
        spoken.append(as_scores(evidence))
    scores = np.mean(spoken, axis=0)
    scores -= scores.mean(axis=1, keepdims=True)
    unit = float(np.sqrt(engine.mean((scores**2).mean(axis=1)))) or 1.0
    scores /= unit  # a deviation of 1, as when several are pooled
    save(settings.path("scores", group.rank), scores=scores.astype(np.float32))
    return {
        "unit": unit,
        "objective": solution.objective,
        "gap": solution.relative_gap,
        "iterations": solution.n_iter,
        "status": solution.status,
        "bytes": sent / solution.n_iter,
        "messages": messages / solution.n_iter,
    }


@dataclass(frozen=True, eq=False)
class Answers:
    """What is said of the rows of a shard, in their order.

    Attributes
    ----------
    rows, codes : ndarray of shape (n,)
        Number of each row among all, and of its given class.
    probabilities : ndarray of shape (n, c)
    reached : ndarray of bool, shape (n,)
        Whether a label is connected.
    quality : ndarray of shape (n,)
        Of the given labels; NaN where there is none.
    ids : ndarray of str, shape (n,), or None
    """

    rows: Ints
    codes: Ints
    probabilities: Floats
    reached: Bools
    quality: Floats
    ids: Any


def answers_of(folder: str, shard: int) -> Answers:
    """Calibrate the answers of a shard."""
    settings = settings_of(folder)
    noise, labelled = kept(settings.folder / "noise.pickle"), load(settings.folder / "judged.npz")
    examples = load(settings.path("examples", shard))
    P = noise.probabilities(load(settings.path("scores", shard))["scores"].astype(np.float64))
    here = labelled["shard"] == shard
    P[labelled["vertex"][here]] = labelled["answers"][here]
    order = np.argsort(examples["rows"], kind="stable")
    rows, vertex, codes = (examples[name][order] for name in ("rows", "vertex", "codes"))
    answers = P[vertex]
    at = np.searchsorted(labelled["rows"], rows)
    has = codes != UNLABELLED
    answers[has] = labelled["own"][at[has]]
    quality = np.full(rows.size, np.nan)
    quality[has] = labelled["quality"][at[has]]
    reached = load(settings.path("reached", shard))["reached"][vertex]
    return Answers(rows, codes, answers, reached, quality, examples["ids"][order] if "ids" in examples else None)


def write_arrays(folder: str, shard: int, out: str) -> Ints:
    """Write the answers of a shard as arrays; gives how many reached rows each class has got, and the other rows."""
    found = answers_of(folder, shard)
    for name, values in (("rows", found.rows), ("answers", found.probabilities), ("reached", found.reached)):
        write_whole(Path(out) / f"{name}-{shard:05d}.npy", partial(_put, values))
    winners = np.argmax(found.probabilities[found.reached], axis=1)
    sizes = np.bincount(winners, minlength=found.probabilities.shape[1])
    return np.append(sizes, found.rows.size - winners.size)


def _put(values: Any, file: Any) -> None:
    np.save(file, values)


def write_answers(folder: str, shard: int, out: str) -> Ints:
    """Write the answers of a shard as Parquet; gives how many rows each class has got."""
    import pyarrow as pa  # noqa: PLC0415
    from pyarrow import parquet  # noqa: PLC0415

    found = answers_of(folder, shard)
    winners, has = np.argmax(found.probabilities, axis=1), found.codes != UNLABELLED
    names = np.array([str(name) for name in settings_of(folder).classes])
    table = pa.table(
        {
            "row": found.rows,
            **({} if found.ids is None else {"id": found.ids}),
            "label": names[winners],
            "confidence": found.probabilities.max(axis=1, initial=0.0),
            "given": pa.array(np.where(has, names[found.codes], ""), mask=~has),
            "quality": pa.array(found.quality, mask=~has),
        }
    )
    write_whole(Path(out) / f"part-{shard:05d}.parquet", lambda file: parquet.write_table(table, file))
    return np.bincount(winners, minlength=names.size)
