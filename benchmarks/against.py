"""Is this tree slower than another commit? Stage by stage, in turns, in one run, each in its own process.

python benchmarks/against.py REV measures cases of speed.py with the benchmark and the package of either tree, and
prints for each stage the ratio of the medians, this tree over the other. Nothing is written: the figures belong to
the machine and to the hour.
"""

import argparse
import json
import os
import subprocess
import sys
import tempfile
from pathlib import Path

import numpy as np

HERE = Path(__file__).resolve().parents[1]
CASES = (("generated", 3_000), ("generated", 30_000), ("generated", 100_000), ("isolet", 0), ("coil20", 0))
STAGES = ("neighbours", "basis", "solve", "total")


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
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        other = Path(folder) / "other"
        subprocess.run(
            ["git", "worktree", "add", "--detach", "--quiet", str(other), options.revision], check=True, cwd=HERE
        )
        try:
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
