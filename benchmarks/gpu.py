"""The engine of PyTorch on one GPU, from NumPy arrays to answers: seconds of each stage, peak memory, recall.

Each case runs in a process of its own, after a small fit that compiles. Writes results/gpu.csv (a row for each stage
and, as "all", the whole) and gpu.md. Needs a GPU.
"""

import argparse
import json
import os
import resource
import subprocess
import sys
import time
import warnings

import numpy as np
import torch

from default_speed import generated, isolet
from protocol import RESULTS, Rows
from siis import SIISClassifier
from siis.progress import progress_listener

COLUMNS = ("machine", "case", "method", "stage", "seconds", "gpu_gb", "host_gb", "recall", "accuracy")
CASES = {
    "1,000,000 x 64": (1_000_000, 64, 10_000),
    "10,000,000 x 64": (10_000_000, 64, 10_000),
    "isolet, 40 % wrong": None,
}
METHODS = {"plain": {"method": "paper", "solver": "certified"}, "default": {}}


def measure(case, method, engine):
    """Fit once after a small fit; rows of the results."""
    warnings.simplefilter("ignore")
    found = isolet() if CASES[case] is None else generated(*CASES[case])
    if found is None:
        return []
    X, y, truth = found
    X = np.asarray(X, np.float32)
    options = {"engine": engine, **METHODS[method]}
    small = generated(3000, 16, 300)
    SIISClassifier(**options).fit(np.asarray(small[0], np.float32), small[1])
    if torch.cuda.is_available():
        torch.cuda.reset_peak_memory_stats()
    stages, began = {}, {}

    def listen(name, share, left):
        now = time.perf_counter()
        began.setdefault(name, now)
        stages[name] = now - began[name]

    started = time.perf_counter()
    with progress_listener(listen):
        model = SIISClassifier(**options).fit(X, y)
    total = time.perf_counter() - started
    free = np.flatnonzero(y < 0)
    machine = torch.cuda.get_device_name() if torch.cuda.is_available() else "no GPU"
    machine += f" with {os.cpu_count()} processor cores"
    gpu = torch.cuda.max_memory_allocated() / 1e9 if torch.cuda.is_available() else float("nan")
    host = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1e6
    right = float(np.mean(model.transduction_[free] == truth[free]))
    return [
        (
            machine,
            case,
            method,
            stage,
            f"{seconds:.3g}",
            f"{gpu:.3g}",
            f"{host:.3g}",
            f"{model.neighbor_recall_:.4f}",
            f"{right:.4f}",
        )
        for stage, seconds in [*stages.items(), ("all", total)]
    ]


def table(rows):
    """Markdown: a line for each case and method."""
    lines = [
        "| examples | method | seconds | stage by stage | GPU, GB | host, GB | recall | accuracy |",
        "|---" * 8 + "|",
    ]
    keys = list(dict.fromkeys((row["machine"], row["case"], row["method"]) for row in rows))
    for machine, case, method in keys:
        mine = [row for row in rows if (row["machine"], row["case"], row["method"]) == (machine, case, method)]
        whole = next(row for row in mine if row["stage"] == "all")
        stages = [f"{row['stage'].removeprefix('selection: ')} {row['seconds']}" for row in mine if row is not whole]
        beside = [whole[name] for name in COLUMNS[5:]]
        lines.append("| " + " | ".join([case, method, whole["seconds"], ", ".join(stages), *beside]) + " |")
    machines = ", ".join(dict.fromkeys(key[0] for key in keys))
    return "\n".join([*lines, "", f"One run each, on {machines}."]) + "\n"


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--cases", nargs="+", choices=list(CASES), default=list(CASES))
    parser.add_argument("--methods", nargs="+", choices=list(METHODS), default=list(METHODS))
    parser.add_argument("--engine", default="torch")
    parser.add_argument("--one", nargs=2, help=argparse.SUPPRESS)
    parser.add_argument("--tables", action="store_true", help="only write the table from the CSV file")
    options = parser.parse_args()
    if options.one:
        print(json.dumps(measure(*options.one, options.engine)))
        return
    rows = Rows(RESULTS / "gpu.csv", COLUMNS, 4)
    for case in [] if options.tables else options.cases:
        for method in options.methods:
            if case.startswith("10,") and method == "default":
                continue
            command = [sys.executable, __file__, "--one", case, method, "--engine", options.engine]
            done = subprocess.run(command, check=True, stdout=subprocess.PIPE, text=True)
            for row in json.loads(done.stdout.splitlines()[-1]):
                print(*row, flush=True)
                rows.add(*row)
    (RESULTS / "gpu.md").write_text(table(Rows(RESULTS / "gpu.csv", COLUMNS, 4).rows))


if __name__ == "__main__":
    main()
