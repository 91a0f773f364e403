"""Is this tree slower than another commit? Stage by stage, in turns, in one run, each in its own process.

python benchmarks/against.py REV measures cases of speed.py with the benchmark and the package of either tree, and
prints for each stage the ratio of the medians, this tree over the other. --default measures the whole default on
cases of default_speed.py instead, seconds and peak memory, with this tree's benchmark. Nothing is written: the
figures belong to the machine and to the hour.
"""

import argparse
import json
import os
import subprocess
import sys
import tempfile
from pathlib import Path

import numpy as np
import scipy.sparse as sp

from default_speed import digits, generated
from protocol import load
from siis.datasets import contaminate

HERE = Path(__file__).resolve().parents[1]
CASES = (("generated", 3_000), ("generated", 30_000), ("generated", 100_000), ("isolet", 0), ("coil20", 0))
STAGES = ("neighbours", "basis", "solve", "total")
DEFAULT_CASES = {  # made by this tree's default_speed.py
    "digits, 200 labels": digits,
    "10,000 x 64, 1,000 labels": lambda: generated(10_000, 64, 1_000),
    "100,000 x 64, 5,000 labels": lambda: generated(100_000, 64, 5_000),
    "1,000,000 x 64, 10,000 labels": lambda: generated(1_000_000, 64, 10_000),
    "rcv1, 3,000 texts, all labelled": lambda: texts(3_000),
}
ONE_FIT = """
import json, resource, sys, time, warnings
import numpy as np, scipy.sparse as sp
from siis import SIISClassifier
warnings.simplefilter("ignore")
data = np.load(sys.argv[1])
X = data["X"] if "X" in data else sp.csr_array((data["data"], data["indices"], data["indptr"]))
rows = np.concatenate([np.flatnonzero(data["y"] == k)[:30] for k in np.unique(data["y"])])
SIISClassifier().fit(X[rows], data["y"][rows])  # compiles
start = time.perf_counter()
SIISClassifier().fit(X, data["y"])
seconds = time.perf_counter() - start
print(json.dumps([seconds, resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 2**20]))
"""


def texts(n):
    """Some texts, all with a label, a fifth of them wrong."""
    X, truth = load("rcv1")
    rows = np.sort(np.random.default_rng(0).permutation(truth.size)[:n])
    return X[rows], contaminate(truth[rows], 0.2, random_state=0), truth[rows]


def compare_default(other, case, repeats):
    """Print the ratios of seconds and of peak memory of one case."""
    X, y, _ = DEFAULT_CASES[case]()
    found = np.empty((2, repeats, 2))
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "data.npz"
        parts = {"data": X.data, "indices": X.indices, "indptr": X.indptr} if sp.issparse(X) else {"X": X}
        np.savez(path, y=y, **parts)
        for turn in range(repeats):
            for side in (0, 1) if turn % 2 else (1, 0):
                environment = {**os.environ, "PYTHONPATH": str((HERE, other)[side] / "src")}
                command = [sys.executable, "-c", ONE_FIT, str(path)]
                done = subprocess.run(command, capture_output=True, text=True, check=True, env=environment)
                found[side, turn] = json.loads(done.stdout.splitlines()[-1])
    ours, theirs = np.median(found, axis=1)
    pairs = found[0, :, 0] / found[1, :, 0]
    print(
        f"| {case} | {ours[0]:.3g} | {theirs[0]:.3g} | {ours[0] / theirs[0]:.2f} ({pairs.min():.2f} to "
        f"{pairs.max():.2f}) | {ours[1] / theirs[1]:.2f} |",
        flush=True,
    )


def measure(tree, case, n):
    command = [sys.executable, str(tree / "benchmarks" / "speed.py"), "--one", case, str(n), "siis"]
    environment = {**os.environ, "PYTHONPATH": str(tree / "src")}
    done = subprocess.run(command, capture_output=True, text=True, check=False, env=environment)
    if done.returncode:
        sys.exit(f"{case} n = {n} in {tree}: {done.stderr[-2000:]}")
    return json.loads(done.stdout.splitlines()[-1])


def compare(other, case, n, repeats):
    """Times of both trees, shape (2, repeats, stages); who goes first changes from turn to turn."""
    times = np.empty((2, repeats, len(STAGES)))
    for turn in range(repeats):
        for side in (0, 1) if turn % 2 else (1, 0):
            found = measure((HERE, other)[side], case, n)
            times[side, turn] = [found[stage] for stage in STAGES]
    return times


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("revision", help="the commit to compare with")
    parser.add_argument("--repeats", type=int, default=7)
    parser.add_argument("--default", nargs="*", choices=list(DEFAULT_CASES), help="the whole default; all cases")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        other = Path(folder) / "other"
        subprocess.run(
            ["git", "worktree", "add", "--detach", "--quiet", str(other), options.revision], check=True, cwd=HERE
        )
        try:
            if options.default is not None:
                print("| case | s | s, other | ratio of seconds | ratio of memory |\n|---|---|---|---|---|")
                for case in options.default or DEFAULT_CASES:
                    compare_default(other, case, options.repeats)
                return
            print("| case | n | " + " | ".join(STAGES) + " |\n|" + "---|" * (2 + len(STAGES)))
            for case, n in CASES:
                if case != "generated" and not (Path(os.environ.get("SIIS_DATA", ".")) / f"{case}.npz").exists():
                    print(f"| {case} | left out: not in the folder that SIIS_DATA names |")
                    continue
                ours, theirs = compare(other, case, n, options.repeats)
                cells = []
                for a, b in zip(ours.T, theirs.T, strict=True):
                    pairs = a / b
                    cells.append(f"{np.median(a) / np.median(b):.2f} ({pairs.min():.2f} to {pairs.max():.2f})")
                print(f"| {case} | {n or 'all'} | " + " | ".join(cells) + " |", flush=True)
        finally:
            subprocess.run(["git", "worktree", "remove", "--force", str(other)], check=True, cwd=HERE)


if __name__ == "__main__":
    main()
