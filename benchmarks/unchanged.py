"""Whether the present code answers as well as results/accuracy.csv says that the default does.

Fits tasks of that file again and compares accuracies task by task, then cell by cell (data, kind and share of wrong
labels). Faster code must not be worse: by .002 in the mean of the cells, or by more than a standard error in a cell.
Writes results/unchanged.csv (one row for each fit; goes on where it stopped, in an order that mixes all sets) and
unchanged.md. Sets that are kept for the end are left out.
"""

import argparse
import time
import warnings

import numpy as np

import siis
from accuracy import OURS
from protocol import (
    ANNOTATED,
    HELD_OUT,
    HUMAN,
    RESULTS,
    Rows,
    annotated_task,
    human_task,
    load,
    make_task,
    mean_and_error,
)
from siis import SIISClassifier

KEYS = ("data", "kind", "noise", "seed", "run")
COLUMNS = (*KEYS, "before", "now", "seconds_before", "seconds")
MOST = 0.002  # by which the mean may fall
ONE_RUN = 0.005  # the standard error where a cell has a single run


def recorded():
    """Rows of the default's fits, all sets mixed."""
    rows = Rows(RESULTS / "accuracy.csv", (), 0).rows
    mine = [r for r in rows if (r["version"], r["method"]) == (siis.__version__, OURS) and r["data"] not in HELD_OUT]
    return [mine[i] for i in np.random.default_rng(0).permutation(len(mine))]


def task_of(row, known):
    """The task of a row; None where its data are not here."""
    name, kind, seed, run = row["data"], row["kind"], int(row["seed"]), int(row["run"])
    if name in HUMAN:
        return human_task(name, kind, seed)
    if name in ANNOTATED:
        return annotated_task(name, run)
    if name not in known:
        known[name] = load(name)
    return None if known[name] is None else make_task(name, known[name], kind, float(row["noise"]), seed, run)


def measure(row, task, rows):
    begun = time.perf_counter()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        model = SIISClassifier().fit(task.X, task.given)
    seconds = time.perf_counter() - begun
    now = task.accuracy(model.transduction_)
    rows.add(*(row[key] for key in KEYS), row["accuracy"], f"{now:.6f}", row["seconds"], f"{seconds:.2f}")
    print(*(row[key] for key in KEYS), f"{float(row['accuracy']):.4f} -> {now:.4f}, {seconds:.1f} s", flush=True)


def table(rows):
    """Markdown: each set, and the cells that have fallen the most."""
    cells, sets = {}, {}
    for row in rows:
        pair = float(row["before"]), float(row["now"])
        cells.setdefault(tuple(row[key] for key in KEYS[:3]), []).append(pair)
        sets.setdefault(row["data"], []).append(pair)
    lines = ["| data | fits | before | now | difference | lowest of a fit |", "|---" * 6 + "|"]
    for name, pairs in sorted(sets.items()):
        before, now = np.array(pairs).T
        lines.append(
            f"| {name} | {len(pairs)} | {before.mean():.4f} | {now.mean():.4f} | {(now - before).mean():+.4f} | "
            f"{(now - before).min():+.4f} |"
        )
    changes, fallen, n_risen = [], [], 0
    for cell, pairs in cells.items():
        before, now = np.array(pairs).T
        error = mean_and_error(now)[1] if now.size > 1 else ONE_RUN
        changes.append((now - before).mean())
        n_risen += changes[-1] > error
        if changes[-1] < -error:
            fallen.append(f"{' '.join(cell)}: {changes[-1]:+.4f} (standard error {error:.4f})")
    lines += [
        "",
        f"{len(rows)} fits in {len(cells)} cells: the mean of the cells changes by {np.mean(changes):+.5f}, "
        f"{'within' if np.mean(changes) >= -MOST else 'below'} the {MOST} by which it may fall. "
        f"By more than a standard error (of one run: {ONE_RUN}) {n_risen} cells rise and {len(fallen)} fall:",
        *(f"- {line}" for line in sorted(fallen)),
    ]
    return "\n".join(lines) + "\n"


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--most", type=int, help="fits at most")
    parser.add_argument("--tables", action="store_true", help="only write the table from the CSV file")
    options = parser.parse_args()
    rows, known = Rows(RESULTS / "unchanged.csv", COLUMNS, len(KEYS)), {}
    for row in () if options.tables else recorded()[: options.most]:
        if not rows.has(*(row[key] for key in KEYS)) and (task := task_of(row, known)) is not None:
            measure(row, task, rows)
    (RESULTS / "unchanged.md").write_text(table(rows.rows))


if __name__ == "__main__":
    main()
