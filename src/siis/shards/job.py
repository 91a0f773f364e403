"""The job of a cluster: choose on a sample, cut rows into shards, go from stage to stage, each with a checkpoint."""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeAlias

import numpy as np

from siis._types import Features, Floats, Ints
from siis.engine.sharded import LOW_MEMORY_COLUMNS
from siis.files import write_files
from siis.labels import GivenLabels, one_hot
from siis.labels.folds import deal_folds
from siis.quality import assess_labels
from siis.shards import stages
from siis.shards.blocks import Block
from siis.shards.cells import train_cells
from siis.shards.files import load, save, save_object
from siis.shards.stages import SampleChoices, Settings
from siis.shards.workers import GONE, NoWorkers, memories, on_shards, some_workers
from siis.texts import plural

ANSWERS = "predictions"
N_FOLDS = 5
MOST_SAMPLED, MOST_SAMPLED_LABELS = 20_000, 10_000  # rows on which choices are made, and labels among them
THIN_LABELS = 4_000  # of these, where few of all rows have one: choices depend on how thinly labels are spread
LEAST_LABELS_OF_A_CLASS = 20  # of each class that the sample takes at least
MEMORY_USED, MEMORY_OF_PROGRAM = 0.9, 420e6  # share of a worker's memory; bytes of the program itself
FEWEST_VECTORS = 16  # of a basis, whatever the memory
UNEVEN = 1.05  # rows of the largest shard over the mean
BYTES_PER_NEIGHBOR, BYTES_PER_ROW = 15, 90  # of a row of the Laplacian, and of everything else
COPIES_HELD, BLOCKS_HELD = 2, 6  # of the vectors, and of blocks of them, in the eigensolver
AT_THE_END = 3  # copies of the vectors when all are found
Log: TypeAlias = Callable[[str], None]


@dataclass(frozen=True, eq=False)
class Labels:
    """The given labels of all rows."""

    rows: Ints  # (l,), those that have a label, ascending
    codes: Ints  # (l,)
    classes: Any  # (c,), two or more


class Job:
    """Runs the stages from the client; all workers see ``folder``, whose results are not computed again.

    ``log`` takes lines of progress.
    """

    def __init__(self, folder: Path, client: Any, blocks: Sequence[Block], seed: int, log: Log) -> None:
        self.work, self.client, self.blocks, self.seed, self.log = folder, client, blocks, seed, log
        self.n = sum(block.n for block in blocks)
        self.times: dict[str, float] = {}

    def run(
        self,
        labels: Callable[[], Labels],
        choose: Callable[[Ints], tuple[SampleChoices, Features]],
        write: Callable[..., Ints],
    ) -> tuple[dict[str, Any], Ints]:
        """Run all stages; returns figures of the fit, and the counts that ``write`` returns, summed over the shards.

        ``labels()`` gives all labels; ``choose(rows)`` fits a sample; ``write(folder, shard, out)`` writes the
        answers.
        """
        plan = self.stage("plan", lambda: self._plan(labels()))
        self.log(f"{plural(plan['rows'], 'row')} in {plural(len(self.blocks), 'block')}, {plan['shards']} shards")
        self.stage("sample", lambda: self._sample(choose, plan["shards"], plan["classes"]))
        n_shards, folder = plan["shards"], str(self.work)
        cells = self.stage("cells", lambda: self._cells(plan))
        self.stage("partition", lambda: self._tasks(stages.partition, list(enumerate(self.blocks))))
        shards = range(n_shards)
        every = [(shard, len(self.blocks)) for shard in shards]
        counts = self.stage("neighbours", lambda: self._tasks(stages.find_neighbors, every))
        graph = self.stage("graph", lambda: self._graph(n_shards, folder, counts))
        self.stage("folds", self._folds)
        basis = self.stage("basis", lambda: self._shards(n_shards, stages.find_basis, folder)[0][0])
        smoothed = self.stage("evidence", lambda: self._shards(n_shards, stages.gather_evidence, folder)[0])
        solved = self.stage("solve", lambda: self._solved(n_shards, folder))
        judged = self.stage("calibration", lambda: self._judge(n_shards, solved["unit"]))
        answers = self.work / ANSWERS
        answers.mkdir(exist_ok=True)
        written = self._tasks(write, [(shard, str(answers)) for shard in shards])
        columns = {"evidence": smoothed[0]["columns"], "basis": basis["columns"]}
        found = {"vertices": int(np.sum(counts)), "vectors": basis["vectors"], "columns": columns}
        return {**plan, **cells, **graph, **found, **solved, **judged}, np.sum(written, axis=0)

    def stage(self, name: str, work: Callable[[], Any]) -> Any:
        """Run a stage, or load its result of an earlier run."""
        path = self.work / f"{name}.json"
        if path.exists():
            self.log(f"{name}: done before")
            found = json.loads(path.read_text())
            self.times[name] = found["seconds"]
            return found["result"]
        begun = time.perf_counter()
        result = work()
        self.times[name] = seconds = time.perf_counter() - begun
        write_files(self.work, {path.name: json.dumps({"result": result, "seconds": seconds}).encode()})
        self.log(f"{name}: {seconds:.1f} s")
        return result

    def _tasks(self, work: Callable[..., Any], arguments: list[tuple[Any, ...]]) -> list[Any]:
        """Independent tasks: where a worker is lost, Dask runs its tasks elsewhere."""
        futures = [self.client.submit(work, str(self.work), *args, pure=False, retries=2) for args in arguments]
        try:
            return list(self.client.gather(futures))
        except Exception as problem:
            if type(problem).__name__ in GONE:
                raise NoWorkers("tasks have ended with their workers, or the scheduler does not answer") from problem
            raise
        finally:
            self.client.cancel(futures)

    def _shards(self, n_shards: int, work: Callable[..., Any], *args: Any) -> tuple[list[Any], list[Any]]:
        return on_shards(self.client, n_shards, work, *args, log=self.log)

    def _plan(self, labels: Labels) -> dict[str, Any]:
        """Number of shards; writes the labels of all rows."""
        workers = some_workers(self.client, 1)
        save(self.work / "labels.npz", rows=labels.rows, codes=labels.codes)
        found = {"rows": self.n, "labelled": int(labels.rows.size), "shards": len(workers)}
        return {**found, "classes": labels.classes.tolist()}

    def _sample(
        self, choose: Callable[[Ints], tuple[SampleChoices, Features]], n_shards: int, classes: list[Any]
    ) -> dict[str, Any]:
        """Choose everything on a sample, as without a cluster."""
        labels = load(self.work / "labels.npz")
        rng = np.random.default_rng(self.seed)
        share = labels["rows"].size / self.n
        taken = _sampled(labels["codes"], rng)[: int(np.clip(share * MOST_SAMPLED, THIN_LABELS, MOST_SAMPLED_LABELS))]
        others = np.setdiff1d(rng.choice(self.n, min(self.n, MOST_SAMPLED), replace=False), labels["rows"])
        rows = np.union1d(labels["rows"][taken], rng.permutation(others)[: max(MOST_SAMPLED - taken.size, 0)])
        found, X = choose(rows)
        if not np.array_equal(np.asarray(found.classes).astype(str), np.asarray(classes).astype(str)):
            raise ValueError(
                f"the sample must hold labels of all {len(classes)} classes; those of its {rows.size} rows are of "
                f"{len(found.classes)}. Label more examples of the rare ones, or leave these out."
            )
        settings = Settings(
            **vars(found),
            folder=self.work,
            n_shards=n_shards,
            seed=self.seed,
            n_components=self._most_vectors(self.n, found.choices.leading.n_neighbors),
            n_rows=self.n,
        )
        save_object(self.work / "settings.pickle", settings)
        save(self.work / "sample.npz", points=stages.points_of(X, settings))
        wanted = settings.choices.program.n_components
        if settings.n_components < wanted:
            self.log(
                f"the basis has {settings.n_components} vectors instead of {wanted}: "
                "the workers' memory holds no more"
            )
        return {"sampled": int(rows.size), "reason": found.choices.summary}

    def _most_vectors(self, n: int, n_neighbors: int) -> int:
        """Vectors, in single precision, for which each worker has memory with the graph, subspace and blocks."""
        held = memories(self.client)
        rows = UNEVEN * n / len(held)
        room = min(held) * MEMORY_USED - MEMORY_OF_PROGRAM - rows * (BYTES_PER_NEIGHBOR * n_neighbors + BYTES_PER_ROW)
        columns = room / (4 * rows)
        most = min((columns - BLOCKS_HELD * LOW_MEMORY_COLUMNS) / COPIES_HELD, columns / AT_THE_END)
        return int(min(max(most, FEWEST_VECTORS), 10_000))

    def _cells(self, plan: dict[str, Any]) -> dict[str, int]:
        """Train cells on the sample, in the chosen space."""
        cells = train_cells(load(self.work / "sample.npz")["points"], plan["rows"], plan["shards"], self.seed)
        save_object(self.work / "cells.pickle", cells)
        return {"cells": len(cells.centers)}

    def _graph(self, n_shards: int, folder: str, counts: list[int]) -> dict[str, Any]:
        found = self._shards(n_shards, stages.build_graph, folder, counts)[0][0]
        return {**found, "neighbor_recall": stages.neighbor_recall(folder, counts)}

    def _folds(self) -> None:
        """Deal the labels to folds."""
        labels = load(self.work / "labels.npz")
        order = np.argsort(labels["rows"], kind="stable")
        codes = labels["codes"][order]
        fold = deal_folds(codes, N_FOLDS, np.random.default_rng(self.seed).permutation, least=2)
        save(self.work / "folds.npz", rows=labels["rows"][order], fold=fold)

    def _solved(self, n_shards: int, folder: str) -> dict[str, Any]:
        found, _ = self._shards(n_shards, stages.solve, folder)
        total = {name: float(sum(one[name] for one in found)) for name in ("bytes", "messages")}
        return {**found[0], **total}

    def _judge(self, n_shards: int, unit: float) -> dict[str, Any]:
        """Noise, quality and calibration by all labels; the unit is that of the answers' scores."""
        settings = stages.load_settings(str(self.work))
        folds, labels = load(self.work / "folds.npz"), load(self.work / "labels.npz")
        parts: list[tuple[Ints, Ints, Ints, Floats, Floats]] = []
        for number in range(n_shards):
            part = load(settings.path("labelled_scores", number))
            n, final = part["rows"].size, part["scores"].astype(np.float64)
            parts.append((part["rows"], np.full(n, number), part["vertex"], part["held"], final))
        rows, shard, vertex, held, final = (np.concatenate(part) for part in zip(*parts, strict=True))
        order = np.argsort(rows, kind="stable")
        rows, shard, vertex, held, final = (part[order] for part in (rows, shard, vertex, held, final))
        codes = labels["codes"][np.argsort(labels["rows"], kind="stable")]
        n, c = rows.size, len(settings.classes)
        given = GivenLabels(
            settings.classes,
            codes,
            np.ones(n, bool),
            np.zeros(n, bool),
            one_hot(codes, c),
            codes,
            np.ones(n),
            np.zeros(n, bool),
        )
        which = np.flatnonzero(folds["fold"] >= 0)
        held = held - held.mean(axis=1, keepdims=True)
        _, first, place = np.unique(np.stack([shard, vertex]), axis=1, return_index=True, return_inverse=True)
        found = assess_labels(which, held[which] / unit, given, place.ravel(), final[first])
        answers = found.probabilities
        own = np.where(np.isnan(found.own), answers[place.ravel()], found.own)
        save_object(self.work / "noise.pickle", found.noise)
        save_object(self.work / "assessment.pickle", found)
        save(
            self.work / "judged.npz",
            rows=rows,
            shard=shard,
            vertex=vertex,
            answers=answers[place.ravel()],
            own=own,
            quality=found.quality,
        )
        suspects = int(np.count_nonzero(found.suggested != codes))
        return {
            "noise_rate": float(found.noise.rate),
            "noise_interval": [float(end) for end in found.noise.interval],
            "suspects": suspects,
        }


def _sampled(codes: Ints, rng: np.random.Generator) -> Ints:
    """Labels of the sample: some of each class, then at random."""
    order = rng.permutation(codes.size)
    ahead = np.empty(codes.size, dtype=np.int64)
    ranked = order[np.argsort(codes[order], kind="stable")]
    starts = np.searchsorted(codes[ranked], codes[ranked])
    ahead[ranked] = np.arange(codes.size) - starts
    place = np.empty(codes.size, dtype=np.int64)
    place[order] = np.arange(codes.size)
    return np.lexsort((place, np.minimum(ahead, LEAST_LABELS_OF_A_CLASS)))[:MOST_SAMPLED_LABELS]
