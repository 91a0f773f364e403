"""How long the stages of the default take, by the sizes of the data: what the forecast of `siis fit` is made of.

Fits generated tables and real sets of many sizes, each in a process of its own. Writes results/stages.csv (one row
for each stage of a fit; goes on where it stopped), the factors of the forecast to src/siis/costs.json, and stages.md:
what would have been forecast for each case by the others alone.
"""

import argparse
import json
import subprocess
import sys
import time
import warnings
from pathlib import Path

import numpy as np
from scipy.optimize import lsq_linear

import siis
from default_speed import digits, generated, isolet
from protocol import RESULTS, Rows, load, make_task
from siis import SIISClassifier
from siis.forecast import COSTS, kind_of, sizes
from siis.progress import listening

COLUMNS = ("version", "case", "stage", "seconds", "examples", "features", "labels", "classes")
TOTAL = "all"
RIDGE = 0.05


def real(name, noise=0.3):
    def load_it():
        if (pair := load(name)) is None:
            return None
        task = make_task(name, pair, "uniform", noise, 0, 0)
        return task.X, task.given, task.truth

    return load_it


def of(n, d, n_labels, c):
    return lambda: generated(n, d, n_labels, c)


CASES = {
    "digits": digits,
    "isolet": isolet,
    **{
        name: real(name)
        for name in ("coil20", "usps", "rcv1", "optdigits", "usps-skewed-each", "coil20-skewed-random")
    },
    **{
        f"{n:,} x {d}, {n_labels:,} labels, {c} classes": of(n, d, n_labels, c)
        for n, d, n_labels, c in (
            (300, 5, 60, 2),
            (300, 50, 300, 4),
            (1000, 10, 100, 3),
            (1000, 30, 1000, 5),
            (2000, 100, 200, 20),
            (3000, 20, 2000, 3),
            (6400, 36, 90, 6),
            (8000, 200, 800, 2),
            (10_000, 64, 10_000, 10),
            (15_000, 16, 600, 26),
            (30_000, 64, 3_000, 10),
            (50_000, 32, 50_000, 4),
            (100_000, 64, 5_000, 10),
        )
    },
}


def measure(case, rows):
    if (found := CASES[case]()) is None:
        return
    X, y, _ = found
    SIISClassifier().fit(*generated(400, 8, 60)[:2])  # compiles
    seconds, started = {}, {}

    def tell(name, share, left):
        if share <= 0:
            started[name] = time.perf_counter()
        elif share >= 1:
            seconds[kind_of(name)] = time.perf_counter() - started[name]

    began = time.perf_counter()
    with warnings.catch_warnings(), listening(tell):
        warnings.simplefilter("ignore")
        SIISClassifier().fit(X, y)
    seconds[TOTAL] = time.perf_counter() - began
    size = X.shape[0], X.shape[1], int((y >= 0).sum()), int(np.unique(y[y >= 0]).size)
    for stage, taken in seconds.items():
        rows.add(siis.__version__, case, stage, f"{taken:.4g}", *size)
    print(case, f"{seconds[TOTAL]:.2f} s", flush=True)


def factors(rows):
    """Stage -> factors, the least squares of logarithms with no time that falls as something grows."""
    found = {}
    for stage in dict.fromkeys(row["stage"] for row in rows if row["stage"] != TOTAL):
        mine = [row for row in rows if row["stage"] == stage]
        A = np.array([at(row) for row in mine])
        b = np.log([max(float(row["seconds"]), 1e-3) for row in mine])
        ridge = np.sqrt(RIDGE) * np.eye(A.shape[1])
        ridge[0] = 0
        low = np.r_[-np.inf, np.zeros(A.shape[1] - 1)]
        fit = lsq_linear(np.vstack([A, ridge]), np.r_[b, np.zeros(A.shape[1])], (low, np.inf))
        found[stage] = [round(float(value), 4) for value in fit.x]
    return found


def at(row):
    return sizes(*(int(row[name]) for name in ("examples", "features", "labels", "classes")))


def table(rows):
    lines = ["| case | took | forecast by the other cases | ratio |", "|---|---|---|---|"]
    ratios = []
    for case in dict.fromkeys(row["case"] for row in rows):
        mine = [row for row in rows if row["case"] == case]
        others = factors([row for row in rows if row["case"] != case])
        took = float(next(row for row in mine if row["stage"] == TOTAL)["seconds"])
        said = sum(np.exp(np.dot(values, at(mine[0]))) for values in others.values())
        ratios.append(said / took)
        lines.append(f"| {case} | {took:.3g} s | {said:.3g} s | {ratios[-1]:.2f} |")
    good = sum(0.5 <= ratio <= 2 for ratio in ratios)
    lines += ["", f"Within a factor of two before anything has run: {good} of {len(ratios)}. Warm, on two cores."]
    return "\n".join(lines) + "\n"


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--cases", nargs="+", choices=list(CASES), default=list(CASES))
    parser.add_argument("--one", metavar="CASE", help=argparse.SUPPRESS)
    parser.add_argument("--tables", action="store_true", help="only write factors and table from the CSV file")
    options = parser.parse_args()
    path = RESULTS / "stages.csv"
    if options.one:
        measure(options.one, Rows(path, COLUMNS, 3))
        return
    for case in () if options.tables else options.cases:
        if not Rows(path, COLUMNS, 3).has(siis.__version__, case, TOTAL):
            subprocess.run([sys.executable, __file__, "--one", case], check=True)
    rows = [row for row in Rows(path, COLUMNS, 3).rows if row["version"] == siis.__version__]
    package = Path(siis.__file__).parent / COSTS
    package.write_text(json.dumps(factors(rows), indent=1) + "\n")
    (RESULTS / "stages.md").write_text(table(rows))


if __name__ == "__main__":
    main()
