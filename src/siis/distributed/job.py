"""The job of a cluster: choose on a sample, cut rows into shards, go from stage to stage, each with a checkpoint."""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any, TypeAlias

import numpy as np

from siis._types import Features, Ints
from siis.distributed import neighbor_stages, program_stages
from siis.distributed.cells import train_cells
from siis.distributed.row_blocks import Block
from siis.distributed.settings import SampleChoices, Settings
from siis.distributed.sharded_engine import LOW_MEMORY_COLUMNS
from siis.distributed.work_files import load, map_array, save, save_object
from siis.distributed.workers import gathered, memory_limits, on_shards, wait_for_workers
from siis.files import write_files
from siis.labels import read_labels
from siis.labels.folds import deal_folds
from siis.model.scores import centred
from siis.quality import assess_labels
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
        self.folder, self.client, self.blocks, self.seed, self.log = folder, client, blocks, seed, log
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
        folder = str(self.folder)
        plan = self.stage("plan", lambda: self._plan(labels()))
        n_shards, n_blocks = plan["shards"], len(self.blocks)
        self.log(f"{plural(plan['rows'], 'row')} in {plural(n_blocks, 'block')}, {n_shards} shards")

        def tasks(work: Callable[..., Any], arguments: list[tuple[Any, ...]]) -> list[Any]:
            submit = partial(self.client.submit, work, folder, pure=False, retries=2)
            return gathered(self.client, [submit(*some) for some in arguments])

        def shards(work: Callable[..., Any], *args: Any) -> Any:
            return on_shards(self.client, n_shards, work, folder, *args, log=self.log)[0]

        self.stage("sample", lambda: self._sample(choose, n_shards, plan["classes"]))
        cells = self.stage("cells", lambda: self._cells(n_shards))
        self.stage("partition", lambda: tasks(neighbor_stages.partition, list(enumerate(self.blocks))))
        every = [(shard, n_blocks) for shard in range(n_shards)]
        counts = self.stage("neighbours", lambda: tasks(neighbor_stages.find_neighbors, every))
        edges = self.stage("graph", lambda: shards(neighbor_stages.build_graph, counts))
        basis = self.stage("basis", lambda: shards(program_stages.find_basis))
        smoothed = self.stage("evidence", lambda: shards(program_stages.gather_evidence))
        solved = self.stage("solve", lambda: shards(program_stages.solve))
        assessed = self.stage("calibration", lambda: self._assess(solved["unit"]))
        answers = self.folder / ANSWERS
        answers.mkdir(exist_ok=True)
        sizes = np.sum(tasks(write, [(shard, str(answers)) for shard in range(n_shards)]), axis=0)
        columns = {"evidence": smoothed, "basis": basis["columns"]}
        found = {"vertices": sum(counts), "vectors": basis["vectors"], "columns": columns}
        return {**plan, **cells, **edges, **found, **solved, **assessed}, sizes

    def stage(self, name: str, work: Callable[[], Any]) -> Any:
        """Run a stage, or load its result of an earlier run."""
        path = self.folder / f"{name}.json"
        if path.exists():
            self.log(f"{name}: done before")
            found = json.loads(path.read_text())
            self.times[name] = found["seconds"]
            return found["result"]
        begun = time.perf_counter()
        result = work()
        self.times[name] = seconds = time.perf_counter() - begun
        write_files(self.folder, {path.name: json.dumps({"result": result, "seconds": seconds}).encode()})
        self.log(f"{name}: {seconds:.1f} s")
        return result

    def _plan(self, labels: Labels) -> dict[str, Any]:
        """Number of shards; deals the labels of all rows to folds, and writes them."""
        workers = wait_for_workers(self.client, 1)
        fold = deal_folds(labels.codes, N_FOLDS, np.random.default_rng(self.seed).permutation, least=2)
        save(self.folder / "labels.npz", rows=labels.rows, codes=labels.codes, fold=fold)
        found = {"rows": self.n, "labelled": int(labels.rows.size), "shards": len(workers)}
        return {**found, "classes": labels.classes.tolist()}

    def _sample(
        self, choose: Callable[[Ints], tuple[SampleChoices, Features]], n_shards: int, classes: list[Any]
    ) -> dict[str, Any]:
        """Choose everything on a sample, as without a cluster."""
        labelled, codes = load(self.folder / "labels.npz", "rows", "codes")
        rng = np.random.default_rng(self.seed)
        n_labels = int(np.clip(labelled.size / self.n * MOST_SAMPLED, THIN_LABELS, MOST_SAMPLED_LABELS))
        taken = labelled[sampled_labels(codes, rng)[:n_labels]]
        others = np.setdiff1d(rng.choice(self.n, min(self.n, MOST_SAMPLED), replace=False), labelled)
        rows = np.union1d(taken, rng.permutation(others)[: max(MOST_SAMPLED - taken.size, 0)])
        found, X = choose(rows)
        if not np.array_equal(np.asarray(found.classes).astype(str), np.asarray(classes).astype(str)):
            raise ValueError(
                f"the sample must hold labels of all {len(classes)} classes; those of its {rows.size} rows are of "
                f"{len(found.classes)}. Label more examples of the rare ones, or leave these out."
            )
        settings = Settings(
            **vars(found),
            folder=self.folder,
            n_shards=n_shards,
            seed=self.seed,
            n_components=self._most_vectors(found.choices.leading.n_neighbors),
            n_rows=self.n,
        )
        save_object(self.folder / "settings.pickle", settings)
        save(self.folder / "sample.npz", points=settings.points(X))
        if settings.program != settings.choices.program:
            self.log(
                f"the basis has {settings.n_components} vectors instead of {settings.choices.program.n_components}: "
                "the workers' memory holds no more"
            )
        return {"sampled": int(rows.size), "reason": found.choices.summary}

    def _most_vectors(self, n_neighbors: int) -> int:
        """Vectors, in single precision, for which each worker has memory with the graph, subspace and blocks."""
        held = memory_limits(self.client).values()
        rows = UNEVEN * self.n / len(held)
        of_graph = rows * (BYTES_PER_NEIGHBOR * n_neighbors + BYTES_PER_ROW)
        columns = (min(held) * MEMORY_USED - MEMORY_OF_PROGRAM - of_graph) / (4 * rows)
        most = min((columns - BLOCKS_HELD * LOW_MEMORY_COLUMNS) / COPIES_HELD, columns / AT_THE_END)
        return int(min(max(most, FEWEST_VECTORS), 10_000))

    def _cells(self, n_shards: int) -> dict[str, int]:
        """Train cells on the sample, in the chosen space."""
        (points,) = load(self.folder / "sample.npz", "points")
        cells = train_cells(points, self.n, n_shards, self.seed)
        save_object(self.folder / "cells.pickle", cells)
        return {"cells": len(cells.centers)}

    def _assess(self, unit: float) -> dict[str, Any]:
        """Noise, quality and calibration by all labels; the unit is that of the answers' scores."""
        settings = Settings.load(self.folder)
        codes, fold = load(settings.labels_path, "codes", "fold")
        parts = []
        for number in range(settings.n_shards):
            rows, vertex, held_out = load(settings.path("labelled", number), "rows", "vertex", "held_out")
            final = map_array(settings.path("scores", number), "scores")[vertex].astype(np.float64)
            parts.append((rows, np.full(rows.size, number), vertex, held_out, final))
        every = [np.concatenate(part) for part in zip(*parts, strict=True)]
        rows, shard, vertex, held_out, final = (part[np.argsort(every[0], kind="stable")] for part in every)
        _, first, place = np.unique(np.stack([shard, vertex]), axis=1, return_index=True, return_inverse=True)
        place, which = place.ravel(), np.flatnonzero(fold >= 0)
        scores = centred(held_out)[which] / unit
        found = assess_labels(which, scores, read_labels(codes), place, final[first])
        answers = found.probabilities[place]
        own = np.where(np.isnan(found.own), answers, found.own)
        save_object(self.folder / "assessment.pickle", found)
        save(self.folder / "judged.npz", rows=rows, shard=shard, vertex=vertex, answers=answers, own=own)
        return {
            "noise_rate": float(found.noise.rate),
            "noise_interval": [float(end) for end in found.noise.interval],
            "suspects": int(np.count_nonzero(found.suggested != codes)),
        }


def sampled_labels(codes: Ints, rng: np.random.Generator) -> Ints:
    """Labels of the sample: some of each class, then at random."""
    order = rng.permutation(codes.size)
    ranked = order[np.argsort(codes[order], kind="stable")]
    place, ahead = np.empty((2, codes.size), dtype=np.int64)
    place[order] = np.arange(codes.size)
    ahead[ranked] = np.arange(codes.size) - np.searchsorted(codes[ranked], codes[ranked])  # of the same class
    return np.lexsort((place, np.minimum(ahead, LEAST_LABELS_OF_A_CLASS)))[:MOST_SAMPLED_LABELS]
