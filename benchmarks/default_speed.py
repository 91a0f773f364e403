"""How long people wait for the untouched default: whole fits, and refits after corrections.

Each case runs in a process of its own, its measurements in turns (a warm-up first), so that ratios are of one run:
ISOLET beside one run of the paper's algorithm as printed (graph, basis of 300, 100 iterations), generated data beside
the plain method of this package, and refits after ten corrections beside the first fit. Writes
results/default_speed.csv (one row for each measurement; goes on where it stopped) and default_speed.md.
"""

import argparse
import subprocess
import sys
import time
import warnings

import numpy as np

import siis
from protocol import RESULTS, Rows, load, make_task
from siis import SIISClassifier
from speed import REAL, directly, generate

COLUMNS = ("version", "case", "what", "repeat", "seconds", "accuracy")
FIRST, WARM, PLAIN, PRINTED = "default", "refit after 10 corrections", "plain method", "as printed, once"
CORRECTED = 10
LARGE = ("1,000,000 x 64, 10,000 labels",)


def noisy(truth, n_labels, noise=0.3, seed=1):
    """Given labels, -1 where there is none."""
    rng, c = np.random.default_rng(seed), int(truth.max()) + 1
    y, rows = np.full(truth.size, -1), rng.choice(truth.size, n_labels, replace=False)
    y[rows] = truth[rows]
    wrong = rng.choice(rows, int(noise * rows.size), replace=False)
    y[wrong] = (y[wrong] + rng.integers(1, c, wrong.size)) % c
    return y


def digits():
    from sklearn.datasets import load_digits  # noqa: PLC0415

    X, truth = load_digits(return_X_y=True)
    return X, noisy(truth, 200), truth


def generated(n, d, n_labels, n_classes=10):
    X, truth = generate(n, d=d, n_classes=n_classes)
    return X, noisy(truth, n_labels), truth


def isolet():
    if (pair := load("isolet")) is None:
        return None
    task = make_task("isolet", pair, "uniform", 0.4, 0, 0)
    return task.X, task.given, task.truth


CASES = {
    "digits, 200 labels": digits,
    "6,400 x 36, 90 labels": lambda: generated(6400, 36, 90, 6),
    "isolet, 40 % wrong": isolet,
    "10,000 x 64, all labelled": lambda: generated(10_000, 64, 10_000),
    "100,000 x 64, 5,000 labels": lambda: generated(100_000, 64, 5_000),
    "1,000,000 x 64, 10,000 labels": lambda: generated(1_000_000, 64, 10_000),
}


def clock(work):
    started = time.perf_counter()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        found = work()
    return found, time.perf_counter() - started


def measure(case, repeat, rows):
    if (found := CASES[case]()) is None:
        return
    X, y, truth = found
    judged = np.flatnonzero(y < 0) if (y < 0).any() else np.arange(y.size)

    def add(what, seconds, model=None):
        right = float("nan") if model is None else np.mean(model.transduction_[judged] == truth[judged])
        if not rows.has(siis.__version__, case, what, repeat):
            rows.add(siis.__version__, case, what, repeat, f"{seconds:.4g}", f"{right:.4f}")
        print(case, what, f"{seconds:.2f} s, accuracy {right:.4f}", flush=True)

    small, labels, _ = generated(400, 8, 60)  # compiles and warms up, in the precision of the case
    SIISClassifier().fit(small.astype(X.dtype), labels)
    if case.startswith("isolet"):
        _, neighbours, basis, solve, _ = directly(X, y, REAL["isolet"])
        add(PRINTED, neighbours + basis + solve)
    elif X.shape[0] > 10_000:
        model, seconds = clock(lambda: SIISClassifier(method="paper", solver="certified").fit(X, y))
        add(PLAIN, seconds, model)
    model, seconds = clock(lambda: SIISClassifier().fit(X, y))
    add(FIRST, seconds, model)
    worst = model.label_ranking()["index"][:CORRECTED]
    checked, verified = y.copy(), np.zeros(y.size, dtype=bool)
    checked[worst], verified[worst] = truth[worst], True
    model, seconds = clock(lambda: model.set_params(warm_start=True).fit(X, checked, verified=verified))
    add(WARM, seconds, model)


def table(rows):
    """Markdown: medians and ranges of seconds, and of ratios in one process."""
    rows = [row for row in rows if row["version"] == siis.__version__]
    lines = ["| case | what | seconds | over the default's | accuracy |", "|---|---|---|---|---|"]
    for case in CASES:
        default = {
            row["repeat"]: float(row["seconds"]) for row in rows if (row["case"], row["what"]) == (case, FIRST)
        }
        for what in (FIRST, PRINTED, PLAIN, WARM):
            mine = [row for row in rows if (row["case"], row["what"]) == (case, what)]
            if not mine:
                continue
            seconds = [float(row["seconds"]) for row in mine]
            ratios = [float(row["seconds"]) / default[row["repeat"]] for row in mine if row["repeat"] in default]
            right = np.mean([float(row["accuracy"]) for row in mine])
            shown = "-" if np.isnan(right) else f"{right:.3f}"
            lines.append(f"| {case} | {what} | {spread(seconds, '.3g')} | {spread(ratios, '.2f')} | {shown} |")
    return (
        "\n".join([*lines, "", "Median (range) over the repeats; ratios are of measurements in one process."]) + "\n"
    )


def spread(values, form):
    if not values:
        return "-"
    return f"{np.median(values):{form}}" + (
        f" ({min(values):{form}} to {max(values):{form}})" if len(values) > 1 else ""
    )


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--cases", nargs="+", choices=list(CASES), help="if left out: all but the largest")
    parser.add_argument("--large", action="store_true", help="the largest as well")
    parser.add_argument("--repeats", type=int, default=3)
    parser.add_argument("--one", nargs=2, metavar=("CASE", "REPEAT"), help=argparse.SUPPRESS)
    parser.add_argument("--tables", action="store_true", help="only write the table from the CSV file")
    options = parser.parse_args()
    rows = Rows(RESULTS / "default_speed.csv", COLUMNS, 4)
    if options.one:
        measure(options.one[0], int(options.one[1]), rows)
        return
    names = options.cases or [case for case in CASES if options.large or case not in LARGE]
    for repeat in () if options.tables else range(options.repeats):
        for case in names:
            if not rows.has(siis.__version__, case, WARM, repeat):
                subprocess.run([sys.executable, __file__, "--one", case, str(repeat)], check=True)
                rows = Rows(RESULTS / "default_speed.csv", COLUMNS, 4)
    (RESULTS / "default_speed.md").write_text(table(rows.rows))


if __name__ == "__main__":
    main()
