"""Accuracy of the untouched default beside what people would use instead, on the examples without a label.

Where every example has a label, on those. Rivals near their documented defaults, or (--tuned) with their parameters
chosen by five-fold cross-validation on the same noisy labels. Writes results/accuracy.csv (one row for each fit;
resumed where it stopped), and from it accuracy*.md and accuracy.png. Sets that are kept for the end are measured with
--held-out alone.
"""

import argparse
import time
import warnings

import numpy as np

import siis
from other_methods import GRIDS, OTHER_METHODS, NotAnswered, tuned
from protocol import (
    ANNOTATED,
    HELD_OUT,
    HUMAN,
    NOISE_KINDS,
    NOISES,
    PER_CLASS,
    RESULTS,
    SETS,
    SKEWED,
    Rows,
    default_fit,
    fit_path,
    mean_and_error,
    tasks,
)

KEYS = ("version", "table", "data", "kind", "noise", "seed", "run", "method")
COLUMNS = (*KEYS, "accuracy", "balanced", "labelled", "given", "evidence", "program", "seconds")
OURS = "SIISClassifier()"
RIVAL = "-"  # version of what is not ours
GROUPS = {  # files, and which cells they show
    "accuracy": (tuple(PER_CLASS), NOISE_KINDS[:1]),
    "accuracy_skewed": (("tdt2", *SKEWED), NOISE_KINDS[:1]),
    "accuracy_kinds": ((*PER_CLASS, "tdt2"), NOISE_KINDS[1:]),
    "accuracy_people": ((*HUMAN, *ANNOTATED), None),
    "accuracy_held_out": (tuple(HELD_OUT), None),
}


def measure(task, rival):
    """Everything of a row but the key."""
    if rival is None:
        fit = default_fit(task)
        answers, seconds = fit["predicted"], float(fit["seconds"])
        apart = [task.accuracy(fit[name]) for name in ("evidence", "program")]
    else:
        started, apart = time.perf_counter(), [float("nan")] * 2
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # other_methods' convergence and deprecation warnings
            answers = rival(task, task.labelled, task.given[task.labelled])
        seconds = time.perf_counter() - started
    found = [task.accuracy(answers), task.balanced(answers), task.kept(answers), task.kept(task.given), *apart]
    return [f"{value:.6f}" for value in found] + [f"{seconds:.2f}"]


def gather(rows, names, kinds, which, column="accuracy"):
    """Values of (method, data, kind, noise) by labelled set and run, of ours and of others on the same tasks."""
    values, task = {}, ("data", "kind", "noise", "seed", "run")
    ours = {tuple(row[k] for k in task) for row in rows if row["version"] == siis.__version__}
    for row in rows:
        shared = row["version"] == RIVAL and row["table"] == which and tuple(row[k] for k in task) in ours
        mine = row["version"] == siis.__version__ or shared
        if mine and row["data"] in names and (kinds is None or row["kind"] in kinds):
            cell = row["method"], row["data"], row["kind"], row["noise"]
            values.setdefault(cell, {})[row["seed"], row["run"]] = float(row[column])
    return values


def shared_values(values, method, cell):
    """Ours and the rival's of the fits of a cell that both have."""
    ours, theirs = values[OURS, *cell], values[method, *cell]
    return [ours[key] for key in theirs], list(theirs.values())


def mean_of(found):
    return float(np.mean(list(found.values())))


def not_behind(mine, theirs):
    """Whether the mean of ours is at least the rival's, up to one standard error of ours (of one run: 0.005)."""
    mean, error = mean_and_error(mine)
    return mean >= np.mean(theirs) - (error if len(mine) > 1 else 0.005)


def table(rows, names, kinds, which):
    """Markdown: for each set a row for each method, a column for each noise; then what can be said of all cells."""
    values = gather(rows, names, kinds, which)
    balanced = gather(rows, names, kinds, which, "balanced")
    cells = sorted({key[1:] for key in values if key[0] == OURS})
    methods = [m for m in dict.fromkeys((OURS, *OTHER_METHODS, *GRIDS)) if any(key[0] == m for key in values)]
    lines = []
    for data in dict.fromkeys(data for data, _, _ in cells):
        mine = [cell for cell in cells if cell[0] == data]
        heads = [f"{float(noise):.0%}" + ("" if kind == "uniform" else f" {kind}") for _, kind, noise in mine]
        lines += [f"| {data} | " + " | ".join(heads) + " |", "|---|" + "---|" * len(mine)]
        for method in methods:
            found = [values.get((method, *cell)) for cell in mine]
            lines.append(f"| {method} | " + " | ".join(map(with_error, found)) + " |")
        lines.append("")
    lines += ["| all | accuracy | balanced accuracy | cells where ours is not behind | ours ahead by |"]
    lines += ["|---|---|---|---|---|"]
    for method in methods:
        shared = [cell for cell in cells if (method, *cell) in values]
        means = [np.mean([mean_of(v[method, *cell]) for cell in shared]) for v in (values, balanced)]
        known = "-" if np.isnan(means[1]) else f"{means[1]:.3f}"
        note = "" if len(shared) == len(cells) else f" ({len(shared)} of {len(cells)} cells)"
        line = f"| {method} | {means[0]:.3f}{note} | {known} | "
        if method == OURS:
            lines.append(line + " | |")
            continue
        pairs = [shared_values(values, method, cell) for cell in shared]
        level = sum(not_behind(*pair) for pair in pairs)
        lead = np.mean([np.mean(ours) - np.mean(theirs) for ours, theirs in pairs])
        lines.append(line + f"{level} of {len(shared)} | {lead:+.3f} |")
    return "\n".join([*lines, "", notes(rows, names, kinds)]) + "\n"


def with_error(found):
    if found is None:
        return "-"
    mean, error = mean_and_error(list(found.values()))
    return f"{mean:.3f}" + ("" if np.isnan(error) else f" ± {error:.3f}")


def notes(rows, names, kinds):
    """What else the rows of ours show: labelled rows, and the program beside the evidence."""
    ours = [r for r in rows if r["version"] == siis.__version__ and r["data"] in names]
    ours = [r for r in ours if kinds is None or r["kind"] in kinds]
    if not ours:
        return "Not measured yet."
    cells = {}
    for row in ours:
        cells.setdefault((row["data"], row["kind"], row["noise"]), []).append(row)
    kept = [np.mean([float(r["labelled"]) - float(r["given"]) for r in found]) for found in cells.values()]
    gains = {cell: np.mean([float(r["program"]) - float(r["evidence"]) for r in v]) for cell, v in cells.items()}
    noisy = [gain for (_, _, noise), gain in gains.items() if float(noise) >= 0.4]
    runs, seeds = {(r["seed"], r["run"]) for r in ours}, {r["seed"] for r in ours}
    fits = sorted({len(found) for found in cells.values()})
    lines = [
        f"Mean ± standard error over the labelled sets and contaminations of a cell ({' to '.join(map(str, fits))} "
        f"fit(s); labelled sets: {len(seeds)}; both: {len(runs)}). Of one fit, within 0.005 counts as not behind.",
        "",
        f"- Labelled rows: answers less the labels as given, in the mean of a cell: {min(kept):+.3f} to "
        f"{max(kept):+.3f}; below -0.005 in {sum(k < -0.005 for k in kept)} of {len(kept)} cells.",
        f"- The program alone less the evidence alone, in the mean of a cell: {min(gains.values()):+.3f} to "
        f"{max(gains.values()):+.3f}; below -0.005 in {sum(g < -0.005 for g in gains.values())} of {len(gains)} "
        "cells" + (f"; in the mean at 40 % and more {np.mean(noisy):+.3f}." if noisy else "."),
    ]
    return "\n".join(lines)


def beside_before(rows, before):
    """Markdown: cells of 0.1.0 beside the same contaminations now."""
    old = {(r["data"], float(r["noise"]), r["run"]): float(r["accuracy"]) for r in before if r["method"] == OURS}
    pairs = {}
    for row in rows:
        key = row["data"], float(row["noise"]), row["run"]
        if (row["version"], row["kind"], row["seed"]) == (siis.__version__, "uniform", "0") and key in old:
            pairs.setdefault(key[:2], []).append((float(row["accuracy"]), old[key]))
    if not pairs:
        return "Not measured yet.\n"
    noises = sorted({noise for _, noise in pairs})
    lines = ["| now (0.1.0) | " + " | ".join(f"{noise:.0%}" for noise in noises) + " |"]
    lines.append("|---|" + "---|" * len(noises))
    means = {cell: np.mean(found, axis=0) for cell, found in pairs.items()}
    for name in dict.fromkeys(name for name, _ in sorted(pairs)):
        texts = ["{:.3f} ({:.3f})".format(*means[name, noise]) if (name, noise) in means else "-" for noise in noises]
        lines.append(f"| {name} | " + " | ".join(texts) + " |")
    now, then = np.mean(list(means.values()), axis=0)
    lower = sum(a < b - 0.01 for a, b in means.values())
    runs = sorted({len(found) for found in pairs.values()})
    lines += [
        "",
        f"Mean of {len(means)} cells {now:.3f} ({then:.3f}); lower by more than 0.01 in {lower}. "
        f"{' to '.join(map(str, runs))} contamination(s) of the labelled set of seed 0, the same in both.",
    ]
    return "\n".join(lines) + "\n"


def short_table(rows):
    """Markdown: means over the data sets at each noise level and over all cells, with ours on the same fits."""
    values = gather(rows, tuple(PER_CLASS), NOISE_KINDS[:1], "default")
    cells = sorted({key[1:] for key in values if key[0] == OURS})
    noises, names = sorted({cell[2] for cell in cells}), sorted({cell[0] for cell in cells})
    heads = [*(f"{float(noise):.0%} wrong" for noise in noises), "mean", f"mean of {OURS}", "not behind"]
    lines = ["| method | " + " | ".join(heads) + " |", "|---|" + "---|" * len(heads)]
    for method in (OURS, *OTHER_METHODS):
        shared = [cell for cell in cells if (method, *cell) in values]
        if not shared:
            continue
        of = {noise: [mean_of(values[method, *cell]) for cell in shared if cell[2] == noise] for noise in noises}
        texts = [f"{np.mean(found):.3f}" if found else "-" for found in of.values()]
        texts.append(f"{np.mean([mean_of(values[method, *cell]) for cell in shared]):.3f}")
        if method == OURS:
            lines.append(f"| **{method}** | " + " | ".join(texts) + " |  |  |")
            continue
        pairs = [shared_values(values, method, cell) for cell in shared]
        level = sum(not_behind(*pair) for pair in pairs)
        texts += [f"{np.mean([np.mean(ours) for ours, _ in pairs]):.3f}", f"{level} of {len(shared)}"]
        lines.append(f"| {method} | " + " | ".join(texts) + " |")
    counts = sorted({len(values[OURS, *cell]) for cell in cells})
    fits = str(counts[0]) if len(counts) == 1 else f"{counts[0]} to {counts[-1]}"
    lines += [
        "",
        f"siis {siis.__version__}; means over {', '.join(names)}. Each cell (data set, share of wrong labels) is a "
        f"mean over {fits} random label contaminations. The last two columns take the cells and "
        f"contaminations on which the method was measured: the mean accuracy of {OURS}, and the number of cells in "
        "which it is at least as accurate as the method, less one standard error (0.005 for a single fit).",
    ]
    return "\n".join(lines) + "\n"


def figure(rows, path):
    import matplotlib  # noqa: PLC0415

    matplotlib.use("Agg")
    import matplotlib.pyplot as plt  # noqa: PLC0415

    values = gather(rows, tuple(PER_CLASS), NOISE_KINDS[:1], "default")
    names = [name for name in PER_CLASS if any(key[1] == name for key in values)]
    fig, axes = plt.subplots(1, len(names), figsize=(3.2 * len(names), 3.6), sharey=True, squeeze=False)
    for ax, name in zip(axes[0], names, strict=True):
        for i, method in enumerate([*OTHER_METHODS, OURS]):
            if not any(key[0] == method for key in values):
                continue
            points = {float(key[3]): mean_of(v) for key, v in values.items() if key[:2] == (method, name)}
            style = {"color": f"C{i % 10}", "lw": 1, "ls": "--" if i > 9 else "-"}
            if method == OURS:
                style = {"color": "black", "lw": 2.5}
            noises = sorted(points)
            ax.plot([100 * z for z in noises], [points[z] for z in noises], marker="o", ms=3, label=method, **style)
        ax.set_title(name)
        ax.set_xlabel("wrong labels, %")
        ax.grid(alpha=0.3)
    axes[0][0].set_ylabel("accuracy on unlabelled examples")
    fig.legend(*axes[0][0].get_legend_handles_labels(), loc="lower center", ncols=6, fontsize=8, frameon=False)
    fig.tight_layout(rect=(0, 0.16, 1, 1))
    fig.savefig(path, dpi=120)


def write(rows):
    """Everything that is made from the rows."""
    for stem, (names, kinds) in GROUPS.items():
        found = [r for r in rows if r["data"] in names and (kinds is None or r["kind"] in kinds)]
        is_there = any(r["version"] == siis.__version__ for r in found)
        (RESULTS / f"{stem}.md").write_text(
            table(rows, names, kinds, "default") if is_there else "Not measured yet.\n"
        )
        if any(r["table"] == "tuned" for r in found):
            (RESULTS / f"{stem}_tuned.md").write_text(table(rows, names, kinds, "tuned"))
    before = Rows(RESULTS / "accuracy_0.1.0.csv", COLUMNS, 0).rows
    (RESULTS / "accuracy_before.md").write_text(beside_before(rows, before))
    (RESULTS / "accuracy_short.md").write_text(short_table(rows))
    figure(rows, RESULTS / "accuracy.png")


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--data", nargs="+", default=[s for s in SETS if s not in HELD_OUT], choices=SETS)
    parser.add_argument("--held-out", action="store_true", help="the sets that are kept for the end, and only they")
    parser.add_argument("--runs", type=int, default=5, help="contaminations of a labelled set")
    parser.add_argument("--seeds", nargs="+", type=int, default=[0, 1], help="labelled sets")
    parser.add_argument("--noises", nargs="+", type=float, default=NOISES)
    parser.add_argument("--kinds", nargs="+", default=NOISE_KINDS[:1], choices=NOISE_KINDS)
    parser.add_argument("--methods", nargs="+", help="some of the methods, by name")
    parser.add_argument("--tuned", action="store_true", help="other_methods with parameters by cross-validation")
    parser.add_argument("--fits", action="store_true", help="only fit the default, to be read later")
    parser.add_argument("--cached", action="store_true", help="only tasks whose fits are there already")
    parser.add_argument("--tables", action="store_true", help="only write tables and figure from the CSV file")
    options = parser.parse_args()
    names = [
        name for name in (HELD_OUT if options.held_out else options.data) if options.held_out or name not in HELD_OUT
    ]
    rows = Rows(RESULTS / "accuracy.csv", COLUMNS, len(KEYS))
    which = "tuned" if options.tuned else "default"
    methods = {name: tuned(grid) for name, grid in GRIDS.items()} if options.tuned else {OURS: None, **OTHER_METHODS}
    if options.methods:
        methods = {name: methods[name] for name in options.methods}
    wanted = () if options.tables else tasks(names, options.noises, options.runs, options.seeds, options.kinds)
    for task in wanted:
        if options.cached and not fit_path(task).exists():
            continue
        if options.fits:
            print(*task.key, f"{task.accuracy(default_fit(task)['predicted']):.3f}", flush=True)
            continue
        for name, rival in methods.items():
            key = siis.__version__ if rival is None else RIVAL, which, *task.key, name
            if rows.has(*key):
                continue
            try:
                found = measure(task, rival)
            except NotAnswered as error:
                print(*task.key, f"{name}: {error}")
                continue
            rows.add(*key, *found)
            print(*task.key, f"{name}: {found[0]} ({found[-1]} s)", flush=True)
    if not options.fits:
        write(rows.rows)


if __name__ == "__main__":
    main()
