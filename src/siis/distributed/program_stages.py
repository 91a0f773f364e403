"""Stages on workers, from the graph to answers: basis, smoothing, program, calibrated probabilities."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import scipy.sparse as sp

from siis._types import Bools, Floats, Ints
from siis.distributed.communicator import Communicator
from siis.distributed.settings import Settings, trim_memory
from siis.distributed.sharded_engine import ShardedEngine
from siis.distributed.sharded_graph import GraphShard
from siis.distributed.work_files import (
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
from siis.engine import NUMPY
from siis.labels import VertexLabels, one_hot
from siis.labels.unlabelled import UNLABELLED
from siis.model.programs import build_program, program_basis
from siis.model.scores import as_distributions, as_scores, softmax, standardize
from siis.model.smoothing import MOST_SMOOTH, smooth_labels
from siis.program.solvers import solve_certified
from siis.quality import Assessment

MOST_SMOOTHED_AT_ONCE = 2**24  # soft labels of folds that a shard smooths as columns of one block
EVIDENCE_TOL, HELD_OUT_TOL = 1e-4, 1e-3  # tolerances of the evidence, and of that without held-out labels


def _open_graph(comm: Communicator, settings: Settings) -> tuple[GraphShard, ShardedEngine, Callable[[], None]]:
    """The graph of a shard, its engine, and a function that releases the graph's pages."""
    path = settings.path("graph", comm.rank)
    halo, first, others, degrees, n_parts = load_object(path)
    data, indices, indptr = map_array(path, "data"), map_array(path, "indices"), load_array(path, "indptr")
    W = sp.csr_array((data, indices, indptr), shape=(halo.n_own, halo.n_own + others.size))
    graph = GraphShard(W, halo, first, others, degrees, load_array(path, "part"), n_parts)
    return graph, ShardedEngine(comm, halo, settings.low_memory), lambda: release_pages(data, indices)


@trim_memory
def find_basis(comm: Communicator, folder: str) -> dict[str, int]:
    """The smoothest eigenvectors; returns their number, and the number of columns multiplied with the graph."""
    settings = Settings.load(folder)
    graph, engine, release_graph = _open_graph(comm, settings)
    basis = program_basis(graph, settings.program, settings.seed, np.float32, lambda share: release_graph(), engine)
    path = settings.path("basis", comm.rank)
    save_arrays(path, vectors=basis.vectors)
    save_object(path, replace(basis, vectors=basis.vectors[:, :0], engine=NUMPY))
    return {"vectors": int(basis.values.size), "columns": engine.columns}


@trim_memory
def gather_evidence(comm: Communicator, folder: str) -> int:
    """Smooth all labels, and those without each fold, to class scores; returns columns multiplied with the graph."""
    settings = Settings.load(folder)
    fidelity, c = settings.choices.leading.fidelity, len(settings.classes)
    graph, engine, _ = _open_graph(comm, settings)
    rows, vertex, codes = load(settings.path("examples", comm.rank), "rows", "vertex", "codes")
    used = np.flatnonzero(codes != UNLABELLED)
    rows, vertex, codes = rows[used], vertex[used].astype(np.int64), codes[used]
    each = VertexLabels(vertex, one_hot(codes, c), np.ones(used.size))
    labelled, fold = load(settings.labels_path, "rows", "fold")
    n_folds, fold = int(fold.max(initial=-1)) + 1, fold[np.searchsorted(labelled, rows)]

    def smooth(sets: list[VertexLabels], tol: float) -> list[Floats]:
        given = [(labels.aggregate() if labels.rows.size else labels).in_shards(engine) for labels in sets]
        subspace = np.array(map_array(settings.path("basis", comm.rank), "vectors")[:, :MOST_SMOOTH])
        return smooth_labels(graph.weights, given, fidelity, tol, engine, subspace)

    held_out = np.zeros((used.size, c))
    at_once = max(1, MOST_SMOOTHED_AT_ONCE // max(engine.total_count(graph.n_vertices) // comm.size * c, 1))
    for a in range(0, n_folds, at_once):
        some = range(a, min(a + at_once, n_folds))
        for k, F in zip(some, smooth([each.subset(fold != k) for k in some], HELD_OUT_TOL), strict=True):
            out = np.flatnonzero(fold == k)
            held_out[out] = standardize(F, vertex[out], engine)
        del F
    scores = standardize(smooth([each], EVIDENCE_TOL)[0], engine=engine)
    distributions = softmax(scores).astype(np.float32, copy=False)
    save_arrays(settings.path("evidence", comm.rank), distributions=distributions)
    save(settings.path("labelled", comm.rank), rows=rows, vertex=vertex, held_out=held_out)
    return engine.columns


@trim_memory
def solve(comm: Communicator, folder: str) -> dict[str, Any]:
    """Solve the program, and join its scores with the evidence."""
    settings = Settings.load(folder)
    c = len(settings.classes)
    graph, engine, release_graph = _open_graph(comm, settings)
    assert graph.degrees.size == graph.edges.first.size - 1  # what the program needs of the weights
    release_graph()
    path = settings.path("basis", comm.rank)
    basis = replace(load_object(path), vectors=load_array(path, "vectors"), engine=engine)
    kind = engine.row_type(np.float32)
    evidence = load_array(settings.path("evidence", comm.rank), "distributions").astype(kind, copy=False)
    program = build_program(graph, basis, evidence, settings.program, settings.constraints)
    sent, messages = comm.sent, comm.messages
    solution = solve_certified(program, settings.tol, settings.max_iter)
    traffic = np.array([comm.sent - sent, comm.messages - messages]) / solution.n_iter
    n_bytes, n_messages = comm.allreduce(traffic, sum).tolist()
    figures = {
        "objective": solution.objective,
        "gap": solution.relative_gap,
        "iterations": solution.n_iter,
        "status": solution.status,
        "bytes": n_bytes,
        "messages": n_messages,
    }
    A = solution.coefficients
    del graph, program, solution
    scores = standardize(as_distributions(np.asarray(basis.synthesize(A), kind), c), engine=engine)
    scores = (scores + as_scores(evidence)) / 2
    scores -= scores.mean(axis=1, keepdims=True)
    unit = float(np.sqrt(engine.mean(np.einsum("ij,ij->i", scores, scores) / c))) or 1.0
    scores /= unit  # a deviation of 1, as when several are pooled
    save_arrays(settings.path("scores", comm.rank), scores=scores.astype(np.float32, copy=False))
    return {"unit": unit, **figures}


@dataclass(frozen=True, eq=False)
class Answers:
    """Answers for some rows of a shard, which are of one block."""

    rows: Ints  # (n,), numbers among all, ascending
    codes: Ints  # (n,), given classes
    probabilities: Floats  # (n, c)
    reached: Bools  # (n,), whether a label is connected
    quality: Floats  # (n,), of the given labels; NaN where there is none
    ids: Any  # (n,); empty where rows have no ids


def answers_of(settings: Settings, shard: int) -> Iterator[Answers]:
    """Calibrate the answers of a shard, block by block."""
    assessment: Assessment = load_object(settings.folder / "assessment.pickle")
    labelled, shard_of, vertex_of, shared, own = load(
        settings.folder / "judged.npz", "rows", "shard", "vertex", "answers", "own"
    )
    every = load(settings.path("examples", shard), "rows", "vertex", "codes", "sizes")
    scores = map_array(settings.path("scores", shard), "scores")
    (is_reached,) = load(settings.path("reached", shard), "reached")
    place = np.full(len(scores), -1, dtype=np.int64)  # of a vertex with a label, among the labels
    here = np.flatnonzero(shard_of == shard)
    place[vertex_of[here]] = here
    sizes = every.pop()
    for number, (size, end) in enumerate(zip(sizes, np.cumsum(sizes), strict=True)):
        rows, vertex, codes = (part[end - size : end] for part in every)
        answers = assessment.noise.probabilities(scores[vertex].astype(np.float64))
        known = place[vertex] >= 0
        answers[known] = shared[place[vertex[known]]]
        has_label = codes != UNLABELLED
        at = np.searchsorted(labelled, rows[has_label])
        answers[has_label] = own[at]
        quality = np.full(rows.size, np.nan)
        quality[has_label] = assessment.quality[at]
        (ids,) = load(settings.path("rows", shard, number), "ids")
        yield Answers(rows, codes, answers, is_reached[vertex], quality, ids)


@trim_memory
def write_arrays(folder: str, shard: int, out: str) -> Ints:
    """Write the answers of a shard as arrays; returns the reached rows of each class, and the other rows."""
    settings = Settings.load(folder)
    parts = list(answers_of(settings, shard))
    for name in ("rows", "probabilities", "reached"):
        values = np.concatenate([getattr(part, name) for part in parts])
        write_whole(Path(out) / f"{name}-{shard:05d}.npy", partial(np.save, arr=values))
    winners = np.concatenate([np.argmax(part.probabilities[part.reached], axis=1) for part in parts])
    sizes = np.bincount(winners, minlength=len(settings.classes))
    return np.append(sizes, sum(part.rows.size for part in parts) - winners.size)


@trim_memory
def write_answers(folder: str, shard: int, out: str) -> Ints:
    """Write the answers of a shard as Parquet; returns the number of rows of each class."""
    import pyarrow as pa  # noqa: PLC0415
    from pyarrow import parquet  # noqa: PLC0415

    settings = Settings.load(folder)
    names = np.array([str(name) for name in settings.classes])
    counts, has_ids = np.zeros(names.size, dtype=np.int64), getattr(settings.reader, "id", None) is not None

    def write(file: Any) -> None:
        writer = None
        for part in answers_of(settings, shard):
            winners, has_label = np.argmax(part.probabilities, axis=1), part.codes != UNLABELLED
            table = pa.table(
                {
                    "row": part.rows,
                    **({"id": pa.array(part.ids, pa.string())} if has_ids else {}),
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
