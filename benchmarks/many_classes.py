"""Thousands of classes: time and memory of the untouched default, each case in a process of its own.

Generated data in 64 dimensions, one sheet a class (``speed.generate``), a fifth of the labels wrong. Writes
results/many_classes.csv (a row for each case; goes on where it stopped) and many_classes.md.
"""

import argparse
import subprocess
import sys
import time
import warnings

import numpy as np

from default_speed import noisy
from protocol import RESULTS, Rows
from siis import SIISClassifier
from speed import generate, peak_memory

COLUMNS = ("examples", "classes", "labels", "seconds", "peak_gb", "accuracy")
CASES = ((6_000, 600, 3_000), (30_000, 2_000, 12_000), (100_000, 2_000, 20_000))


def measure(n, n_classes, n_labels, rows):
    X, truth = generate(n, n_classes=n_classes, sheets=1)
    y = noisy(truth, n_labels, noise=0.2)
    warnings.simplefilter("ignore")
    begun = time.perf_counter()
    model = SIISClassifier(verbose=1).fit(X, y)
    seconds = time.perf_counter() - begun
    right = float(np.mean(model.transduction_[y < 0] == truth[y < 0]))
    rows.add(n, n_classes, n_labels, f"{seconds:.3g}", f"{peak_memory() / 2**30:.3g}", f"{right:.4f}")


def table(rows):
    lines = ["| examples | classes | labels | seconds | peak, GB | accuracy |", "|---" * 6 + "|"]
    for row in rows:
        counts = (f"{int(row[name]):,}" for name in COLUMNS[:3])
        lines.append(f"| {' | '.join((*counts, *(row[name] for name in COLUMNS[3:])))} |")
    return "\n".join([*lines, "", "One run each, on two processor cores that other programs used, too."]) + "\n"


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--one", nargs=3, type=int, help=argparse.SUPPRESS)
    options = parser.parse_args()
    rows = Rows(RESULTS / "many_classes.csv", COLUMNS, 3)
    if options.one:
        measure(*options.one, rows)
        return
    for case in CASES:
        if not rows.has(*case):
            subprocess.run([sys.executable, __file__, "--one", *map(str, case)], check=True)
            rows = Rows(RESULTS / "many_classes.csv", COLUMNS, 3)
    (RESULTS / "many_classes.md").write_text(table(rows.rows))


if __name__ == "__main__":
    main()
