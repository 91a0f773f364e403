"""Fits on two local workers of Dask (one thread and 2 GB each) from Parquet to answers, beside one process.

Writes results/cluster.csv (a row for each size, engine and stage; "all" is the whole) and cluster.md. The peak of
memory is that of the larger worker in the stage, looked at twenty times a second (of the one process: its own).
Processor seconds are those of the busier worker and of the client, which hardly depend on what else the machine does.
Traffic is that of one iteration of the program, sent by both workers. Each case runs in a process of its own. With
``--folder`` data and work stay in that folder, and a case that was stopped goes on from its last stage.

``--blown`` writes cluster_blown.csv and cluster_blown.md: shared data sets (SIIS_DATA) blown up to 300,000 rows. A
row is a mixture of an example x and one of its five nearest of the same class, z: x + u (z - x) with u uniform in
0..1, plus normal noise of a twentieth of each column's deviation; three in ten of 10,000 labels are wrong. Accuracy
of the cluster beside one process.

``--kills 10`` writes cluster_kills.csv and cluster_kills.md: so many fits of 20,000 rows, in each of which a worker
is killed, by its own process id, at a random moment after the sample; answers are compared with those of an
undisturbed fit, bit by bit.
"""

import argparse
import json
import os
import resource
import signal
import subprocess
import sys
import tempfile
import threading
import time
import warnings
from contextlib import suppress
from pathlib import Path

import numpy as np
import psutil
import pyarrow as pa
from pyarrow import parquet

from default_speed import generated, noisy
from protocol import RESULTS, Rows, load
from siis import SIISClassifier
from siis.distributed import ClusterOptions, connected, fit
from siis.workflow import FitOptions

CLUSTER, ONE = "cluster", "one process"
MEASURED = ("recall", "edges", "halo", "vectors", "iterations", "cells", "columns_evidence", "columns_basis")
COLUMNS = ("rows", "engine", "stage", "seconds", "busy", "peak_gb", "mb_per_iteration", "accuracy", *MEASURED)
BLOWN = ("set", "rows", "engine", "seconds", "peak_gb", "accuracy")
KILLS = ("run", "rows", "after_s", "stage", "lost", "equal")
SIZES = (100_000, 300_000, 1_000_000, 3_000_000)
LABELS = {100_000: 5_000}
IN_MEMORY_UP_TO = 300_000
DIMENSIONS = 64
FILES = 8
SETS, BLOWN_TO, NEAREST, NOISE = ("usps", "isolet", "usps-skewed-random"), 300_000, 5, 0.05
KILLED_ROWS = 20_000
ALONE = ("plan", "sample", "cells")  # first stages, in which workers have nothing to do
SHARED = ("partition", "neighbours", "graph", "basis", "evidence", "solve", "calibration")
LOOK = 0.05  # seconds between two looks at the memory of the workers
SAID = "One run each, on two processor cores; two workers with one thread and 2 GB each.\n"


def written(folder, X, y):
    """The data as Parquet files."""
    folder.mkdir(parents=True, exist_ok=True)
    names = np.array([None if k < 0 else f"class {k}" for k in range(-1, int(y.max()) + 1)], dtype=object)
    for k, part in enumerate(np.array_split(np.arange(len(y)), FILES)):
        columns = {f"x{j}": X[part, j] for j in range(X.shape[1])}
        labels = pa.array(names[y[part] + 1], pa.string())
        parquet.write_table(pa.table({**columns, "label": labels}), folder / f"{k}.parquet", row_group_size=50_000)


def peak():
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1e6


def process_id():
    return os.getpid()


def processor_seconds(number):
    """Of a process so far."""
    times = psutil.Process(number).cpu_times()
    return times.user + times.system


class Watch:
    """Memory and processor time, stage by stage; told how the work goes on, it knows which stage has ended."""

    def __init__(self, client):
        self.ids, self.now, self.peaks, self.busy = list(client.run(process_id).values()), 0.0, {}, {}
        self.before = self._processors()
        threading.Thread(target=self._look, daemon=True).start()

    def _processors(self):
        return np.array([processor_seconds(number) for number in (os.getpid(), *self.ids)])

    def _look(self):
        while True:
            for number in self.ids:
                with suppress(psutil.NoSuchProcess):
                    self.now = max(self.now, psutil.Process(number).memory_info().rss / 1e9)
            time.sleep(LOOK)

    def __call__(self, line):
        """Take a line that tells of the end of a stage."""
        stage, _, rest = line.partition(": ")
        print(f"{line} ({self.now:.2f} GB)", file=sys.stderr, flush=True)
        if rest.endswith(" s"):
            self.peaks[stage], self.now = self.now, 0.0
            now = self._processors()
            used, self.before = now - self.before, now
            self.busy[stage] = used[0] + used[1:].max()


def answers_of(out):
    """The labels of the rows, in their order."""
    found = parquet.read_table(out / "predictions", columns=["row", "label"])
    return found["label"].to_numpy(zero_copy_only=False)[np.argsort(found["row"].to_numpy())]


def share_right(answers, truth, free):
    return float(np.mean(answers[free] == np.array([f"class {k}" for k in truth[free]], dtype=object)))


def fitted(folder, X, y):
    """Fit on a cluster: the summary, seconds, what was watched, and answers."""
    data, out = folder / "data", folder / "out"
    if not data.exists():
        written(data, X, y)
    with connected(ClusterOptions(workers=2, memory="2GB")) as client:
        watch, begun = Watch(client), time.perf_counter()
        summary = fit(FitOptions(str(data / "*.parquet"), {"label": "label"}), out, client, watch)
        seconds = time.perf_counter() - begun
    watch.peaks["all"], watch.busy["all"] = max([watch.now, *watch.peaks.values()]), sum(watch.busy.values())
    return summary["cluster"], seconds, watch, answers_of(out)


def on_cluster(n, folder):
    X, y, truth = generated(n, DIMENSIONS, LABELS.get(n, 10_000))
    X, y, free = np.asarray(X, np.float32), np.asarray(y), y < 0
    told, seconds, watch, answers = fitted(folder, X, y)
    right, stages = share_right(answers, truth, free), told["seconds"]
    stages = {**stages, "all": max(seconds, sum(stages.values()))}  # a run that went on counts its first part, too
    measured = (
        f"{told['neighbor_recall']:.4f}",
        *(told[name] for name in ("edges", "halo", "vectors", "iterations", "cells")),
        told["columns"]["evidence"],
        told["columns"]["basis"],
    )
    return [
        (
            n, CLUSTER, stage, f"{took:.3g}",
            *(f"{of[stage]:.3g}" if stage in of else "" for of in (watch.busy, watch.peaks)),
            f"{told['bytes'] / 1e6:.3g}", f"{right:.4f}", *measured,
        )
        for stage, took in stages.items()
    ]  # fmt: skip


def in_memory(n, folder):
    X, y, truth = generated(n, DIMENSIONS, LABELS.get(n, 10_000))
    X, free = np.asarray(X, np.float32), y < 0
    begun, before = time.perf_counter(), processor_seconds(os.getpid())
    model = SIISClassifier(engine="numpy").fit(X, y)
    seconds = time.perf_counter() - begun
    right = float(np.mean(model.transduction_[free] == truth[free]))
    rest = (f"{model.neighbor_recall_:.4f}", *[""] * (len(MEASURED) - 1))
    busy = processor_seconds(os.getpid()) - before
    return [(n, ONE, "all", f"{seconds:.3g}", f"{busy:.3g}", f"{peak():.3g}", "", f"{right:.4f}", *rest)]


def blown_up(name, n, seed=0):
    """Examples of a data set, each mixed with a near one of its class; their classes; None where it is missing."""
    from siis.graph.neighbors import neighbors_within  # noqa: PLC0415

    if (pair := load(name)) is None:
        return None
    X, truth = np.asarray(pair[0], np.float32), pair[1]
    rng = np.random.default_rng(seed)
    near = np.empty((len(X), NEAREST), dtype=np.int64)
    for k in np.unique(truth):
        mine = np.flatnonzero(truth == k)
        found = neighbors_within(X[mine], min(NEAREST, mine.size - 1)).indices
        near[mine] = mine[np.resize(found, (mine.size, NEAREST)) if found.shape[1] == NEAREST else found[:, :1]]
    which = rng.permutation(np.resize(np.arange(len(X)), n))
    other = near[which, rng.integers(0, NEAREST, n)]
    u = rng.random((n, 1), np.float32)
    noise = NOISE * X.std(axis=0) * rng.standard_normal((n, X.shape[1]), np.float32)
    return np.asarray(X[which] + u * (X[other] - X[which]) + noise, np.float32), truth[which]


def blown_on_cluster(name, folder):
    X, truth = blown_up(name, BLOWN_TO)
    y = noisy(truth, 10_000)
    _, seconds, watch, answers = fitted(folder, X, y)
    return [
        (
            name,
            BLOWN_TO,
            CLUSTER,
            f"{seconds:.3g}",
            f"{watch.peaks['all']:.3g}",
            f"{share_right(answers, truth, y < 0):.4f}",
        )
    ]


def blown_in_memory(name, folder):
    X, truth = blown_up(name, BLOWN_TO)
    y = noisy(truth, 10_000)
    begun = time.perf_counter()
    model = SIISClassifier(engine="numpy").fit(X, y)
    seconds = time.perf_counter() - begun
    right = float(np.mean(model.transduction_[y < 0] == truth[y < 0]))
    return [(name, BLOWN_TO, ONE, f"{seconds:.3g}", f"{peak():.3g}", f"{right:.4f}")]


def killed(n_runs):
    """Kill a worker at a random moment of each of so many fits, and compare the answers."""
    rows, rng = Rows(RESULTS / "cluster_kills.csv", KILLS, 1), np.random.default_rng(0)
    X, y, _ = generated(KILLED_ROWS, DIMENSIONS, 2_000)
    with tempfile.TemporaryDirectory() as folder, connected(ClusterOptions(workers=2, memory="2GB")) as client:
        data = Path(folder, "data")
        written(data, np.asarray(X, np.float32), np.asarray(y))
        options = FitOptions(str(data / "*.parquet"), {"label": "label"}, parameters={"random_state": 0})
        begun = time.perf_counter()
        told = fit(options, Path(folder, "first"), client)["cluster"]["seconds"]
        shared = time.perf_counter() - begun - sum(told[name] for name in ALONE)
        first = parquet.read_table(Path(folder, "first", "predictions"))
        for run in range(1, n_runs + 1):
            victim = sorted(client.run(process_id).values())[int(rng.integers(2))]
            kill, out = Kill(victim, float(rng.uniform(0, shared))), Path(folder, str(run))
            fit(options, out, client, kill)
            kill.timer.cancel()
            equal = parquet.read_table(out / "predictions").equals(first)
            rows.add(run, KILLED_ROWS, f"{kill.moment:.3g}", kill.stage, kill.lost, equal)
            (RESULTS / "cluster_kills.md").write_text(kills_table(rows.rows))


class Kill:
    """Kills a worker some seconds after the last stage in which workers have nothing to do; is told how it goes."""

    def __init__(self, victim, moment):
        self.victim, self.moment, self.lost, self.stage, self.done = victim, moment, 0, "none", []
        self.timer = threading.Timer(moment, self._strike)

    def _strike(self):
        os.kill(self.victim, signal.SIGKILL)
        self.stage = (*SHARED, "answers")[len([name for name in self.done if name in SHARED])]

    def __call__(self, line):
        """Take a line that tells of the end of a stage, or of a lost worker."""
        self.lost += line.startswith("a worker was lost")
        if line.endswith(" s"):
            self.done.append(line.partition(": ")[0])
            if self.done[-1] == ALONE[-1]:
                self.timer.start()


def kills_table(rows):
    header = (
        "run",
        "killed after so many s of the shared stages",
        "in stage",
        "a stage was begun again",
        "answers equal",
    )
    lines = [f"| {' | '.join(header)} |", "|---" * len(header) + "|"]
    for row in sorted(rows, key=lambda row: int(row["run"])):
        again, equal = ("yes" if flag else "no" for flag in (int(row["lost"]) > 0, row["equal"] == "True"))
        lines.append(f"| {row['run']} | {row['after_s']} | {row['stage']} | {again} | {equal} |")
    n_equal = sum(row["equal"] == "True" for row in rows)
    text = (
        f"\n\n{n_equal} of {len(rows)} fits of {int(rows[0]['rows']):,} rows gave the bytes of an undisturbed one.\n"
    )
    return "\n".join(lines) + text


def table(rows):
    """Markdown: a line for each size and engine."""
    header = ("rows", "engine", "seconds", "stage by stage (peak, GB)", "peak, GB", "MB per iteration", "recall")
    lines = [f"| {' | '.join((*header, 'accuracy'))} |", "|---" * (len(header) + 1) + "|"]
    cases = dict.fromkeys((int(row["rows"]), row["engine"]) for row in rows)
    for n, engine in sorted(cases):
        mine = [row for row in rows if (int(row["rows"]), row["engine"]) == (n, engine)]
        whole = next(row for row in mine if row["stage"] == "all")
        stages = ", ".join(
            f"{row['stage']} {row['seconds']}" + (f" ({row['peak_gb']})" if row["peak_gb"] else "")
            for row in mine
            if row["stage"] != "all"
        )
        beside = (whole["peak_gb"], whole["mb_per_iteration"] or "-", whole.get("recall") or "-", whole["accuracy"])
        lines.append(f"| {' | '.join((f'{n:,}', engine, whole['seconds'], stages or '-', *beside))} |")
    return "\n".join(lines) + "\n\n" + SAID


def blown_table(rows):
    """Markdown: a line for each set."""
    if not rows:
        return "Not measured yet.\n"
    header = ("set", "rows", "cluster", "one process", "difference", "seconds", "beside", "peak, GB", "beside")
    lines = [f"| {' | '.join(header)} |", "|---" * len(header) + "|"]
    for name in dict.fromkeys(row["set"] for row in rows):
        mine = {row["engine"]: row for row in rows if row["set"] == name}
        if set(mine) != {CLUSTER, ONE}:
            continue
        a, b = mine[CLUSTER], mine[ONE]
        difference = f"{float(a['accuracy']) - float(b['accuracy']):+.4f}"
        cells = (a["accuracy"], b["accuracy"], difference, a["seconds"], b["seconds"], a["peak_gb"], b["peak_gb"])
        n = f"{int(a['rows']):,}"
        lines.append(f"| {' | '.join((name, n, *cells))} |")
    return "\n".join(lines) + "\n\n" + SAID


WORK = {
    (CLUSTER, "size"): lambda case, folder: on_cluster(int(case), folder),
    (ONE, "size"): lambda case, folder: in_memory(int(case), folder),
    (CLUSTER, "set"): blown_on_cluster,
    (ONE, "set"): blown_in_memory,
}


def one(kind, engine, case, folder):
    """Run a case in this process."""
    warnings.simplefilter("ignore")
    if folder:
        return WORK[engine, kind](case, Path(folder, case))
    with tempfile.TemporaryDirectory() as temporary:
        return WORK[engine, kind](case, Path(temporary))


def measured(rows, kind, case, engine, folder, show):
    """Run a case in a process of its own, and write what it has found."""
    command = [sys.executable, __file__, "--one", kind, engine, str(case)]
    command += ["--folder", folder] if folder else []
    done = subprocess.run(command, check=True, stdout=subprocess.PIPE, text=True)
    for row in json.loads(done.stdout.splitlines()[-1]):
        rows.add(*row)
    rows.path.with_suffix(".md").write_text(show(rows.rows))


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--sizes", type=int, nargs="+", default=SIZES)
    parser.add_argument("--blown", action="store_true")
    parser.add_argument("--sets", nargs="*", default=SETS)
    parser.add_argument("--kills", type=int)
    parser.add_argument("--folder")
    parser.add_argument("--one", nargs=3)
    options = parser.parse_args()
    if options.one:
        print(json.dumps(one(*options.one, options.folder)))
    elif options.kills:
        killed(options.kills)
    elif options.blown:
        rows = Rows(RESULTS / "cluster_blown.csv", BLOWN, 3)
        rows.path.with_suffix(".md").write_text(blown_table(rows.rows))
        for name in (name for name in options.sets if load(name) is not None):
            for engine in (CLUSTER, ONE):
                if not rows.has(name, BLOWN_TO, engine):
                    measured(rows, "set", name, engine, options.folder, blown_table)
    else:
        rows = Rows(RESULTS / "cluster.csv", COLUMNS, 3)
        for n in options.sizes:
            for engine in (CLUSTER, ONE):
                if not rows.has(n, engine, "all") and (engine == CLUSTER or n <= IN_MEMORY_UP_TO):
                    measured(rows, "size", n, engine, options.folder, table)


if __name__ == "__main__":
    main()
