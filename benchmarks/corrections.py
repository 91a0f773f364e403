"""What checked labels do to the answers: the worst 3, 10 and 30 labels of a ranking, put right.

After each round the classifier is fitted again, from the former fit (warm) and anew; accuracy on the examples that
had no label, and the time of a refit over that of the first fit, in the same process. Writes results/corrections.csv
(one row for each refit; resumed where it stopped) and corrections.md.
"""

import argparse
import time
import warnings

import numpy as np

import siis
from protocol import PER_CLASS, RESULTS, SKEWED, Rows, load, make_task
from siis import SIISClassifier

COUNTS = (3, 10, 30)
NOISES = (0.2, 0.4)
KEYS = ("version", "data", "noise", "seed", "count", "way")
COLUMNS = (*KEYS, "before", "after", "seconds", "first")


def timed(model, *args, **more):
    started = time.perf_counter()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        model.fit(*args, **more)
    return time.perf_counter() - started


def measure(task, rows):
    model = SIISClassifier()
    first = timed(model, task.X, task.given)
    before, worst = task.accuracy(model.transduction_), model.label_ranking()["index"]
    for count in COUNTS:
        y, verified = task.given.copy(), np.zeros(task.given.size, dtype=bool)
        y[worst[:count]], verified[worst[:count]] = task.truth[worst[:count]], True
        anew = SIISClassifier()
        for way, fitted in (("warm", model.set_params(warm_start=True)), ("anew", anew)):
            seconds = timed(fitted, task.X, y, verified=verified)
            found = [before, task.accuracy(fitted.transduction_), seconds, first]
            key = siis.__version__, task.data, task.noise, task.seed, count, way
            if not rows.has(*key):
                rows.add(*key, *(f"{value:.6g}" for value in found))
        print(
            task.data, task.noise, task.seed, count, f"{before:.4f}", [r["after"] for r in rows.rows[-2:]], flush=True
        )


def table(rows):
    """Markdown: mean change of the accuracy, cells that fell, and how long a refit takes."""
    rows = [row for row in rows if row["version"] == siis.__version__]
    lines = [
        "| corrections | refit | fits | accuracy, mean change | fell by over 0.005 | sets whose mean fell | time |"
    ]
    lines.append("|---|---|---|---|---|---|---|")
    for count in COUNTS:
        for way in ("warm", "anew"):
            mine = [row for row in rows if int(row["count"]) == count and row["way"] == way]
            if not mine:
                continue
            change = np.array([float(row["after"]) - float(row["before"]) for row in mine])
            by_set = {row["data"]: [] for row in mine}
            for row, gain in zip(mine, change, strict=True):
                by_set[row["data"]].append(gain)
            fell = sum(np.mean(gains) < -0.001 for gains in by_set.values())
            ratios = [float(row["seconds"]) / float(row["first"]) for row in mine]
            lines.append(
                f"| {count} | {way} | {len(mine)} | {change.mean():+.4f} | {np.sum(change < -0.005)} | {fell} of "
                f"{len(by_set)} | {np.median(ratios):.2f} ({min(ratios):.2f} to {max(ratios):.2f}) |"
            )
    names = sorted({row["data"] for row in rows})
    lines += [
        "",
        f"Sets: {', '.join(names)}. Time: over that of the first fit, in the same process; median and range.",
    ]
    return "\n".join(lines) + "\n"


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--data", nargs="+", default=["coil20", "optdigits", *SKEWED], choices=(*PER_CLASS, *SKEWED))
    parser.add_argument("--noises", nargs="+", type=float, default=NOISES)
    parser.add_argument("--seeds", nargs="+", type=int, default=[0, 1])
    parser.add_argument("--tables", action="store_true", help="only write the table from the CSV file")
    options = parser.parse_args()
    rows = Rows(RESULTS / "corrections.csv", COLUMNS, len(KEYS))
    for name in () if options.tables else options.data:
        if (pair := load(name)) is None:
            continue
        for noise in options.noises:
            for seed in options.seeds:
                if not rows.has(siis.__version__, name, noise, seed, COUNTS[-1], "anew"):
                    measure(make_task(name, pair, "uniform", noise, seed, seed), rows)
    (RESULTS / "corrections.md").write_text(table(rows.rows))


if __name__ == "__main__":
    main()
