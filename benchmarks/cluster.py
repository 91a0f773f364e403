"""Fits on two local workers of Dask (one thread and 2 GB each) from Parquet to answers, beside one process.

Writes results/cluster.csv (a row for each size, engine and stage; "all" is the whole) and cluster.md. The peak of
memory is that of the larger worker (of the one process: its own). Traffic is that of one iteration of the program,
sent by both workers. Each case runs in a process of its own.
"""

import argparse
import json
import resource
import subprocess
import sys
import tempfile
import time
import warnings
from pathlib import Path

import numpy as np
import pyarrow as pa
from pyarrow import parquet

from default_speed import generated
from protocol import RESULTS, Rows
from siis import SIISClassifier
from siis.cluster import ClusterOptions, connected, fit
from siis.workflow import FitOptions

COLUMNS = ("rows", "engine", "stage", "seconds", "peak_gb", "mb_per_iteration", "accuracy")
SIZES = (100_000, 300_000, 1_000_000)
LABELS = {100_000: 5_000}
IN_MEMORY_UP_TO = 300_000
DIMENSIONS = 64
FILES = 8


def written(folder, X, y):
    """The data as Parquet files."""
    names = np.array([None if k < 0 else f"class {k}" for k in range(-1, int(y.max()) + 1)], dtype=object)
    for k, part in enumerate(np.array_split(np.arange(len(y)), FILES)):
        columns = {f"x{j}": X[part, j] for j in range(X.shape[1])}
        labels = pa.array(names[y[part] + 1], pa.string())
        parquet.write_table(pa.table({**columns, "label": labels}), folder / f"{k}.parquet", row_group_size=50_000)


def peak():
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1e6


def on_cluster(n):
    X, y, truth = generated(n, DIMENSIONS, LABELS.get(n, 10_000))
    X, free = np.asarray(X, np.float32), y < 0
    with tempfile.TemporaryDirectory() as folder:
        data = Path(folder, "data")
        data.mkdir()
        written(data, X, np.asarray(y))
        del X
        options = FitOptions(str(data / "*.parquet"), {"label": "label"})
        with connected(ClusterOptions(workers=2, memory="2GB")) as client:
            begun = time.perf_counter()
            summary = fit(options, Path(folder, "out"), client, lambda line: print(line, file=sys.stderr, flush=True))
            seconds = time.perf_counter() - begun
            largest = max(client.run(peak).values())
        found = parquet.read_table(Path(folder, "out", "predictions"), columns=["row", "label"])
        order = np.argsort(found["row"].to_numpy())
        answers = found["label"].to_numpy(zero_copy_only=False)[order]
    told = summary["cluster"]
    right = float(np.mean(answers[free] == np.array([f"class {k}" for k in truth[free]], dtype=object)))
    stages = {**told["seconds"], "all": seconds}
    return [
        (n, "cluster", stage, f"{took:.3g}", f"{largest:.3g}", f"{told['bytes'] / 1e6:.3g}", f"{right:.4f}")
        for stage, took in stages.items()
    ]


def in_memory(n):
    X, y, truth = generated(n, DIMENSIONS, LABELS.get(n, 10_000))
    X, free = np.asarray(X, np.float32), y < 0
    begun = time.perf_counter()
    model = SIISClassifier(engine="numpy").fit(X, y)
    seconds = time.perf_counter() - begun
    right = float(np.mean(model.transduction_[free] == truth[free]))
    return [(n, "one process", "all", f"{seconds:.3g}", f"{peak():.3g}", "", f"{right:.4f}")]


def table(rows):
    """Markdown: a line for each size and engine."""
    header = ("rows", "engine", "seconds", "stage by stage", "peak, GB", "MB per iteration", "accuracy")
    lines = [f"| {' | '.join(header)} |", "|---" * len(header) + "|"]
    cases = dict.fromkeys((int(row["rows"]), row["engine"]) for row in rows)
    for n, engine in sorted(cases):
        mine = [row for row in rows if (int(row["rows"]), row["engine"]) == (n, engine)]
        whole = next(row for row in mine if row["stage"] == "all")
        stages = ", ".join(f"{row['stage']} {row['seconds']}" for row in mine if row["stage"] != "all")
        beside = (whole["peak_gb"], whole["mb_per_iteration"] or "-", whole["accuracy"])
        cells = (f"{n:,}", engine, whole["seconds"], stages or "-", *beside)
        lines.append(f"| {' | '.join(cells)} |")
    return "\n".join(lines) + "\n\nOne run each, on two processor cores; two workers with one thread and 2 GB each.\n"


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--sizes", type=int, nargs="+", default=SIZES)
    parser.add_argument("--one", nargs=2)
    options = parser.parse_args()
    if options.one:
        warnings.simplefilter("ignore")
        engine, n = options.one
        print(json.dumps((on_cluster if engine == "cluster" else in_memory)(int(n))))
        return
    rows = Rows(RESULTS / "cluster.csv", COLUMNS, 3)
    for n in options.sizes:
        for engine in ("cluster", "one process"):
            if rows.has(n, engine, "all") or (engine == "one process" and n > IN_MEMORY_UP_TO):
                continue
            command = [sys.executable, __file__, "--one", engine, str(n)]
            done = subprocess.run(command, check=True, stdout=subprocess.PIPE, text=True)
            for row in json.loads(done.stdout.splitlines()[-1]):
                rows.add(*row)
            (RESULTS / "cluster.md").write_text(table(rows.rows))


if __name__ == "__main__":
    main()
