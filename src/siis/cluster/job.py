"""The job of a cluster: choose on a sample, cut rows into shards, go from stage to stage, each with a checkpoint."""

from __future__ import annotations

import hashlib
import json
import shutil
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import asdict, dataclass, fields
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import numpy as np

from siis._types import Floats, Ints
from siis.cluster import stages
from siis.cluster.blocks import Block, block_labels, block_rows, find_blocks
from siis.cluster.cells import train_cells
from siis.cluster.files import keep, kept, load, save
from siis.cluster.stages import Settings
from siis.cluster.workers import GONE, NoWorkers, memories, on_shards, some_workers
from siis.engine.group import Lost
from siis.engine.sharded import FEW
from siis.files import check_writable, write_files
from siis.labels import GivenLabels, one_hot
from siis.quality import assess_labels
from siis.results import PREDICTIONS, SUMMARY
from siis.selection import Constraints, deal_folds
from siis.tables import read
from siis.texts import plural
from siis.workflow.fit_options import FitOptions
from siis.workflow.given import given_of
from siis.workflow.outcome import fit_data
from siis.workflow.outputs import output_files

WORK = ".siis-cluster"  # inside the folder of the results, until they are written
ANSWERS = "predictions"
MOST_SAMPLED, MOST_LABELS = 20_000, 10_000  # rows on which choices are made, and labels among them
LEAST_LABELS = 20  # of each class that the sample takes at least
MEMORY_USED, MEMORY_OF_PROGRAM = 0.9, 420e6  # share of a worker's memory; bytes of the program itself
FEWEST_VECTORS = 16  # of a basis, whatever the memory
UNEVEN = 1.05  # rows of the largest shard over the mean
BYTES_PER_NEIGHBOR, BYTES_PER_ROW = 15, 90  # of a row of the Laplacian, and beside it
COPIES_HELD, BLOCKS_HELD = 3, 8  # of the vectors, and of blocks of them, in the eigensolver
INSTALL = "Install them with `pip install 'siis[cluster]'`."
LOCAL = "local"
REFUSED = ("text", "annotators", "embeddings", "graph", "labels_file", "encoder", "sheet")
Tell = Callable[[str], None]


@dataclass(frozen=True)
class ClusterOptions:
    """Where a fit runs.

    Attributes
    ----------
    address : str
        Of a scheduler, or "local": workers on this computer.
    workers : int
        Of "local".
    memory : str
        Of each worker of "local", as in "2GB".
    """

    address: str = LOCAL
    workers: int = 2
    memory: str = "2GB"


@contextmanager
def connected(options: ClusterOptions) -> Iterator[Any]:
    """A client of the cluster.

    Parameters
    ----------
    options : ClusterOptions

    Yields
    ------
    distributed.Client
    """
    if find_spec("distributed") is None:
        raise ValueError(f"a cluster needs dask and distributed, which are not installed. {INSTALL}")
    import dask  # noqa: PLC0415  (an extra)
    from distributed import Client, LocalCluster  # noqa: PLC0415

    if options.address != LOCAL:
        try:
            client = Client(options.address, timeout=5)
        except (OSError, TimeoutError, ValueError) as problem:
            raise ValueError(
                f"--cluster must be the address of a scheduler that answers, or local; {options.address} does not. "
                "Start one with `dask scheduler`."
            ) from problem
        with client:
            yield client
        return
    never = {f"distributed.worker.memory.{name}": False for name in ("target", "spill", "pause")}
    try:
        limit = dask.utils.parse_bytes(options.memory)
    except ValueError as problem:
        raise ValueError(f"--memory must be a size, as in 2GB; found {options.memory!r}") from problem
    with (
        dask.config.set(never),
        LocalCluster(
            n_workers=options.workers,
            threads_per_worker=1,
            memory_limit=limit,
            dashboard_address=":0",  # any free port
        ) as cluster,
        Client(cluster) as client,
    ):
        yield client


def fit(options: FitOptions, out: Path, client: Any, say: Tell = lambda text: None) -> dict[str, Any]:
    """Classify the rows of Parquet files on a cluster, and write answers, report and model.

    Stages leave what they have made in a folder inside of ``out``, which must be a folder that all workers see; a fit
    that was stopped goes on from there, and ends with the same answers.

    Parameters
    ----------
    options : FitOptions
        ``data`` is a path, in which * stands for anything.
    out : Path
        Folder of the results.
    client : distributed.Client
    say : callable
        Is told how the work goes on.

    Returns
    -------
    dict
        The summary.
    """
    _check(options)
    check_writable(out)
    blocks = find_blocks(options.data)
    try:
        return _Job(options, out.absolute(), client, blocks, say).run()
    except (NoWorkers, Lost) as problem:
        raise ValueError(
            f"the cluster was lost on the way: {problem}. Run the same command again: it goes on from the last stage "
            "that was finished."
        ) from problem


def _check(options: FitOptions) -> None:
    given = [name for name in REFUSED if options.roles.get(name)]
    if given or options.corrections:
        what = "--" + (given[0].replace("_", "-") if given else "corrections")
        raise ValueError(f"on a cluster, examples are compared by columns of Parquet files; {what} is not for that.")
    if not options.roles.get("label"):
        raise ValueError("on a cluster, the column of labels must be named with --label")
    if options.parameters.get("selection", "auto") != "auto":
        raise ValueError("on a cluster, parameters are chosen on a sample; leave --selection out")


class _Job:
    """What the stages share on the client."""

    def __init__(self, options: FitOptions, out: Path, client: Any, blocks: list[Block], say: Tell) -> None:
        self.options, self.out, self.client, self.blocks, self.say = options, out, client, blocks, say
        self.work = out / WORK
        self.seed = int(options.parameters.get("random_state") or 0)
        self.times: dict[str, float] = {}

    def run(self) -> dict[str, Any]:
        """All stages, in their order."""
        self._begin()
        plan = self.stage("plan", self._plan)
        self.say(f"{plural(plan['rows'], 'row')} in {plural(len(self.blocks), 'block')}, {plan['shards']} shards")
        self.stage("sample", self._sample)
        n_shards, folder = plan["shards"], str(self.work)
        cells = self.stage("cells", lambda: self._cells(plan))
        self.stage("partition", lambda: self._tasks(stages.partition, list(enumerate(self.blocks))))
        shards = range(n_shards)
        every = [(shard, len(self.blocks)) for shard in shards]
        counts = self.stage("neighbours", lambda: self._tasks(stages.find_neighbors, every))
        graph = self.stage("graph", lambda: self._graph(n_shards, folder, counts))
        self.stage("folds", lambda: self._folds(n_shards))
        smoothed = self.stage("evidence", lambda: self._shards(n_shards, stages.gather_evidence, folder)[0])
        basis = self.stage("basis", lambda: self._shards(n_shards, stages.find_basis, folder)[0][0])
        solved = self.stage("solve", lambda: self._solved(n_shards, folder))
        judged = self.stage("calibration", lambda: self._judge(n_shards, solved["unit"]))
        unfinished = self.work / ANSWERS
        unfinished.mkdir(exist_ok=True)
        written = self._tasks(stages.write_answers, [(shard, str(unfinished)) for shard in shards])
        sizes = np.sum(written, axis=0)
        columns = {"evidence": smoothed[0]["columns"], "basis": basis["columns"]}
        found = {"vertices": int(np.sum(counts)), "vectors": basis["vectors"], "columns": columns}
        return self._finish({**plan, **cells, **graph, **found, **solved, **judged}, sizes)

    def stage(self, name: str, work: Callable[[], Any]) -> Any:
        """Do a stage, or take what it has left in an earlier run."""
        path = self.work / f"{name}.json"
        if path.exists():
            self.say(f"{name}: done before")
            found = json.loads(path.read_text())
            self.times[name] = found["seconds"]
            return found["result"]
        begun = time.perf_counter()
        result = work()
        self.times[name] = seconds = time.perf_counter() - begun
        write_files(self.work, {path.name: json.dumps({"result": result, "seconds": seconds}).encode()})
        self.say(f"{name}: {seconds:.1f} s")
        return result

    def _begin(self) -> None:
        """Go on with the work of a former run on the same files with the same options; else begin anew."""
        files = [
            (path, Path(path).stat().st_size, Path(path).stat().st_mtime_ns) for path in {b.path for b in self.blocks}
        ]
        asked = json.dumps([sorted(files), asdict(self.options)], default=str, sort_keys=True)
        mark = hashlib.sha256(asked.encode()).hexdigest()
        path = self.work / "mark"
        if not (path.exists() and path.read_text() == mark):
            shutil.rmtree(self.work, ignore_errors=True)
            write_files(self.work, {"mark": mark.encode()})

    def _tasks(self, work: Callable[..., Any], arguments: list[tuple[Any, ...]]) -> list[Any]:
        """Tasks that need each other for nothing: where a worker is lost, Dask runs its tasks elsewhere."""
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
        return on_shards(self.client, n_shards, work, *args, tell=self.say)

    def _plan(self) -> dict[str, Any]:
        """How many shards there are, and the labels of all rows."""
        workers = some_workers(self.client, 1)
        roles = self.options.to_roles()
        found = [block_labels(block, roles) for block in self.blocks]  # one column: read here, block by block
        rows = np.concatenate([rows for rows, _ in found])
        names = [name for _, labels in found for name in labels]
        classes, codes = np.unique(names, return_inverse=True)
        if classes.size < 2:
            raise ValueError(
                f"{self.options.data}: must hold labels of two classes or more; found {classes.size} in column "
                f"{roles.label!r}. Label some rows of each class."
            )
        save(self.work / "labels.npz", rows=rows, codes=codes, classes=classes)
        n = sum(block.n for block in self.blocks)
        return {"rows": n, "labelled": int(rows.size), "shards": len(workers), "classes": classes.tolist()}

    def _sample(self) -> dict[str, Any]:
        """Choose everything on a sample, as without a cluster; its report, model and lists are the results' own."""
        from pyarrow import concat_tables, parquet  # noqa: PLC0415

        labels = load(self.work / "labels.npz")
        rng = np.random.default_rng(self.seed)
        taken = _sampled(labels["codes"], rng)
        n = sum(block.n for block in self.blocks)
        others = np.setdiff1d(rng.choice(n, min(n, MOST_SAMPLED), replace=False), labels["rows"])
        rows = np.union1d(labels["rows"][taken], rng.permutation(others)[: max(MOST_SAMPLED - taken.size, 0)])
        parts = [
            block_rows(block, some)
            for block in self.blocks
            if (some := rows[(rows >= block.first) & (rows < block.first + block.n)]).size
        ]
        path = self.work / "sample.parquet"
        parquet.write_table(concat_tables(parts), path)
        data = read(path, self.options.to_roles())
        outcome = fit_data(
            data,
            given_of(data, {}),
            self.options.parameters,
            source=Path(self.options.data).name,
            title=self.options.title,
            results=str(self.out),
            n_queries=self.options.queries,
        )
        roles, issue_columns = self.options.roles, self.options.issue_columns
        contents = output_files(outcome, asdict(self.options), roles.get("id"), issue_columns)
        keep(self.work / "sample.pickle", contents)
        model, classes = outcome.model, labels["classes"]
        if not np.array_equal(model.classes_.astype(str), classes):
            raise ValueError(f"the classes of the sample must be those of all rows; found {model.classes_.tolist()}")
        evidence = model._evidence
        settings = Settings(
            folder=self.work,
            n_shards=json.loads((self.work / "plan.json").read_text())["result"]["shards"],
            encoder=data.recipe.encoder,  # type: ignore[union-attr]
            id=self.options.roles.get("id"),
            selection=evidence.selection,
            model=evidence.model,
            deviation=evidence.deviation,
            constraints=Constraints(**{field.name: getattr(model, field.name) for field in fields(Constraints)}),
            classes=classes,
            seed=self.seed,
            tol=float(model.tol),
            max_iter=int(model.max_iter),
            n_components=self._most_vectors(n, evidence.selection.chosen.n_neighbors),
            n_rows=n,
        )
        keep(self.work / "settings.pickle", settings)
        if settings.n_components < settings.selection.chosen.n_components:
            self.say(
                f"the basis has {settings.n_components} vectors instead of {settings.selection.chosen.n_components}: "
                "the workers' memory holds no more"
            )
        return {"sampled": int(rows.size), "reason": model.selection_reason_}

    def _most_vectors(self, n: int, n_neighbors: int) -> int:
        """Vectors of the basis for which each worker has memory, in single precision.

        Those that are found, the subspace and its images, each with some blocks more, beside the graph.
        """
        held = memories(self.client)
        rows = UNEVEN * n / len(held)
        room = min(held) * MEMORY_USED - MEMORY_OF_PROGRAM - rows * (BYTES_PER_NEIGHBOR * n_neighbors + BYTES_PER_ROW)
        most = (room / (4 * rows) - BLOCKS_HELD * FEW) / COPIES_HELD
        return int(min(max(most, FEWEST_VECTORS), 10_000))

    def _cells(self, plan: dict[str, Any]) -> dict[str, int]:
        """Train cells on the sample, in the chosen space."""
        settings = stages.settings_of(str(self.work))
        sample = read(self.work / "sample.parquet", self.options.to_roles())
        points, _ = stages.points_of(sample.X, settings)
        cells = train_cells(points, plan["rows"], plan["shards"], self.seed)
        keep(self.work / "cells.pickle", cells)
        return {"cells": len(cells.centers)}

    def _graph(self, n_shards: int, folder: str, counts: list[int]) -> dict[str, Any]:
        found = self._shards(n_shards, stages.build_graph, folder, counts)[0][0]
        return {**found, "neighbor_recall": stages.neighbor_recall(folder, counts)}

    def _folds(self, n_shards: int) -> None:
        """Deal the labels to folds."""
        labels = load(self.work / "labels.npz")
        order = np.argsort(labels["rows"], kind="stable")
        codes = labels["codes"][order]
        fold = deal_folds(one_hot(codes, len(labels["classes"])), self.seed)
        save(self.work / "folds.npz", rows=labels["rows"][order], fold=fold)

    def _solved(self, n_shards: int, folder: str) -> dict[str, Any]:
        found, _ = self._shards(n_shards, stages.solve, folder)
        total = {name: float(sum(one[name] for one in found)) for name in ("bytes", "messages")}
        return {**found[0], **total}

    def _judge(self, n_shards: int, unit: float) -> dict[str, Any]:
        """Noise, quality and calibration by all labels; the unit is that of the answers' scores."""
        settings = stages.settings_of(str(self.work))
        folds, labels = load(self.work / "folds.npz"), load(self.work / "labels.npz")
        parts: list[tuple[Ints, Ints, Ints, Floats, Floats]] = []
        for number in range(n_shards):
            told = load(settings.path("told", number))
            n, final = told["rows"].size, told["scores"].astype(np.float64)
            parts.append((told["rows"], np.full(n, number), told["vertex"], told["held"], final))
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
        keep(self.work / "noise.pickle", found.noise)
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

    def _finish(self, told: dict[str, Any], sizes: Ints) -> dict[str, Any]:
        """Put the answers and the files of the sample into the folder of the results, the summary last."""
        contents: dict[str, bytes] = dict(kept(self.work / "sample.pickle"))
        contents.pop(PREDICTIONS)
        summary = json.loads(contents.pop(SUMMARY))
        del summary["files"][PREDICTIONS]
        classes = dict(zip(told["classes"], sizes.tolist(), strict=True))
        summary["cluster"] = {**told, "answers": classes, "seconds": self.times}
        target = self.out / ANSWERS
        shutil.rmtree(target, ignore_errors=True)
        (self.work / ANSWERS).rename(target)
        contents[SUMMARY] = (json.dumps(summary, indent=2, ensure_ascii=False) + "\n").encode(errors="replace")
        write_files(self.out, contents)
        shutil.rmtree(self.work, ignore_errors=True)
        return dict(summary)


def _sampled(codes: Ints, rng: np.random.Generator) -> Ints:
    """Labels that the sample takes: some of each class, then at random."""
    order = rng.permutation(codes.size)
    ahead = np.empty(codes.size, dtype=np.int64)
    ranked = order[np.argsort(codes[order], kind="stable")]
    starts = np.searchsorted(codes[ranked], codes[ranked])
    ahead[ranked] = np.arange(codes.size) - starts
    place = np.empty(codes.size, dtype=np.int64)
    place[order] = np.arange(codes.size)
    return np.lexsort((place, ahead >= LEAST_LABELS))[:MOST_LABELS]
