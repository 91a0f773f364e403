"""Can the default be relied on? Probabilities, share of wrong labels, quality of labels, sets of classes.

On the tasks of accuracy.py, whose fits it shares. Beside it, rankings of the labels and estimates of their noise that
others have published (finders.py). Writes results/trust.csv (a row for each task; goes on where it stopped),
finders.csv (a row for each task and ranking), and from them trust.md, finders.md and trust.png.
"""

import argparse

import numpy as np
from sklearn.metrics import average_precision_score

import siis
from finders import RANKINGS, hoc
from protocol import (
    ANNOTATED,
    HELD_OUT,
    HUMAN,
    NOISE_KINDS,
    NOISES,
    RESULTS,
    SETS,
    Rows,
    default_fit,
    fit_path,
    tasks,
)
from siis.quality.sets import class_sets

KEYS = ("version", "data", "kind", "noise", "seed", "run")
BINS = 15
EDGES = (0.1, 0.9)  # of quality: surely wrong below, surely right above
COVERAGES = (0.8, 0.9, 0.95)
COLUMNS = (
    *KEYS,
    "ece",
    "brier",
    "confidence",
    "accuracy",
    "wrong",
    "rate",
    "low",
    "high",
    "hoc_rate",
    "low_wrong",
    "low_labels",
    "high_wrong",
    "high_labels",
    *(f"{part}_{coverage}" for coverage in COVERAGES for part in ("covered", "size")),
)
OURS = "label_quality_"
MOST_CLASSES = 30  # for HOC, whose tensor grows with their cube


def calibration_error(confidence, right, n_bins=BINS):
    """Mean distance of confidence and accuracy over bins of equal width, weighted by their sizes.

    Parameters
    ----------
    confidence : ndarray of shape (n,)
    right : ndarray of bool, shape (n,)
    n_bins : int

    Returns
    -------
    float
    """
    which = np.minimum((confidence * n_bins).astype(int), n_bins - 1)
    size = np.bincount(which, minlength=n_bins)
    gap = np.bincount(which, confidence, n_bins) - np.bincount(which, right.astype(float), n_bins)
    return float(np.sum(np.abs(gap)) / size.sum())


def measure(task):
    """Everything of a row of trust.csv but the key."""
    fit, c = default_fit(task), int(task.truth.max()) + 1
    rows, judged = task.labelled, task.judged
    P = np.zeros((task.truth.size, c))
    P[:, np.unique(task.given[rows])] = fit["probabilities"]
    P, truth = P[judged], task.truth[judged]
    right = np.argmax(P, axis=1) == truth
    is_wrong, quality = task.given[rows] != task.truth[rows], fit["quality"]
    if c <= MOST_CLASSES:
        T, p = hoc(task.X[rows], task.given[rows], c)
        hoc_rate = float(1 - p @ np.diagonal(T))
    else:
        hoc_rate = float("nan")
    found = [
        calibration_error(P.max(axis=1), right),
        float(np.mean(np.sum((P - np.eye(c)[truth]) ** 2, axis=1))),
        float(P.max(axis=1).mean()),
        float(right.mean()),
        float(is_wrong.mean()),
        float(fit["noise_rate"]),
        *map(float, fit["noise_interval"]),
        hoc_rate,
        *(float(v) for part in (quality < EDGES[0], quality > EDGES[1]) for v in (is_wrong[part].sum(), part.sum())),
    ]
    for coverage in COVERAGES:
        sets = class_sets(P, fit["levels"], coverage, allow_empty=False)
        found += [float(np.mean(sets[np.arange(truth.size), truth])), float(sets.sum(axis=1).mean())]
    return [f"{value:.6g}" for value in found]


def ranked(task, name):
    """Average precision and miss rate of a ranking of the given labels."""
    rows, c = task.labelled, int(task.truth.max()) + 1
    X, codes = task.X[rows], task.given[rows]
    is_wrong = codes != task.truth[rows]
    quality = default_fit(task)["quality"] if name == OURS else RANKINGS[name](X, codes, c)
    flagged = np.argsort(quality, kind="stable")[: is_wrong.sum()]
    missed = 1 - is_wrong[flagged].mean()
    return f"{average_precision_score(is_wrong, -quality):.6f}", f"{missed:.6f}"


def group_of(row):
    """Kind of data, for means."""
    if row["data"] in HELD_OUT:
        return "kept for the end"
    if row["data"] in (*HUMAN, *ANNOTATED):
        return "people's labels"
    if row["kind"] != "uniform":
        return "pair and nearest-class noise"
    return "skewed" if "skewed" in row["data"] or row["data"] == "tdt2" else "balanced"


def trust_table(rows):
    """Markdown: means of each kind of data."""
    groups = {}
    for row in rows:
        groups.setdefault(group_of(row), []).append(row)
    lines = [
        "| data | fits | calibration error, mean (largest) | share of wrong labels, mean error (largest) | interval "
        "holds it | width | HOC's error | quality < 10 %: wrong | quality > 90 %: wrong | 90 % sets hold (mean size) "
        "| within 0.03 |",
        "|" + "---|" * 11,
    ]
    for name, found in groups.items():
        v = {c: np.array([float(row[c]) for row in found]) for c in COLUMNS[len(KEYS) :]}
        hoc_error = np.nanmean(np.abs(v["hoc_rate"] - v["wrong"]))
        error, holds = np.abs(v["rate"] - v["wrong"]), (v["low"] <= v["wrong"]) & (v["wrong"] <= v["high"])
        sure = [v[f"{end}_wrong"].sum() / max(v[f"{end}_labels"].sum(), 1) for end in ("low", "high")]
        known = ~np.isnan(v["covered_0.9"])
        covered, size = v["covered_0.9"][known], v["size_0.9"][known]
        sets = f"{covered.mean():.3f} ({size.mean():.1f})" if known.any() else "-"
        near = f"{np.mean(np.abs(covered - 0.9) <= 0.03):.0%}" if known.any() else "-"
        lines.append(
            f"| {name} | {len(found)} | {v['ece'].mean():.3f} ({v['ece'].max():.3f}) | {error.mean():.3f} "
            f"({error.max():.3f}) | {holds.mean():.0%} | {np.mean(v['high'] - v['low']):.2f} "
            f"| {hoc_error:.3f} | {sure[0]:.0%} | {sure[1]:.0%} | {sets} | {near} |"
        )
    return "\n".join(lines) + "\n"


def finder_table(rows):
    """Markdown: average precision and miss rate of each ranking, means over the fits of each kind that all have."""
    tasks, groups, methods = {}, {}, (OURS, *RANKINGS)
    for row in rows:
        found = tasks.setdefault(tuple(row[k] for k in KEYS), {"group": group_of(row)})
        found[row["method"]] = float(row["average_precision"]), float(row["missed"])
    for found in tasks.values():
        if all(method in found for method in methods):
            groups.setdefault(found["group"], []).append([found[method] for method in methods])
    lines = ["| data | " + " | ".join(methods) + " |", "|" + "---|" * (1 + len(methods))]
    for name, found in groups.items():
        cells = ["{:.3f} ({:.3f})".format(*pair) for pair in np.mean(found, axis=0)]
        lines.append(f"| {name} ({len(found)} fits) | " + " | ".join(cells) + " |")
    lines += ["", "Average precision of wrong labels (share missed when exactly the true number is flagged), means."]
    for method in RANKINGS:
        both = [found for found in tasks.values() if method in found and OURS in found]
        ahead = sum(found[OURS][0] >= found[method][0] - 0.005 for found in both)
        lines.append(f"Not more than 0.005 behind {method}: {ahead} of {len(both)} fits.")
    return "\n".join(lines) + "\n"


def figure(fits, path):
    """Reliability and risk against coverage, one line for each kind of data."""
    import matplotlib  # noqa: PLC0415

    matplotlib.use("Agg")
    import matplotlib.pyplot as plt  # noqa: PLC0415

    fig, (left, right) = plt.subplots(1, 2, figsize=(9.5, 4.2))
    for name, found in fits.items():
        confidence, hit = (np.concatenate(part) for part in zip(*found, strict=True))
        which = np.minimum((confidence * BINS).astype(int), BINS - 1)
        size = np.bincount(which, minlength=BINS)
        kept = size >= 30
        x, y = np.bincount(which, confidence, BINS)[kept], np.bincount(which, hit.astype(float), BINS)[kept]
        left.plot(x / size[kept], y / size[kept], "o-", ms=3, label=name)
        order = np.argsort(-confidence, kind="stable")
        share = np.arange(1, order.size + 1) / order.size
        risk = np.cumsum(~hit[order]) / np.arange(1, order.size + 1)
        some = np.linspace(order.size // 100, order.size - 1, 200).astype(int)
        right.plot(100 * share[some], 100 * risk[some], label=name)
    left.plot([0, 1], [0, 1], color="grey", lw=1, ls=":")
    left.set(xlabel="probability of the answer", ylabel="share that is right", title="reliability")
    right.set(
        xlabel="examples answered, surest first, %", ylabel="wrong among them, %", title="risk against coverage"
    )
    for ax in (left, right):
        ax.grid(alpha=0.3)
        ax.legend(fontsize=8, frameon=False)
    fig.tight_layout()
    fig.savefig(path, dpi=120)


def write(trust, finders, fits):
    mine = [row for row in trust if row["version"] == siis.__version__]
    (RESULTS / "trust.md").write_text(trust_table(mine))
    (RESULTS / "finders.md").write_text(finder_table([r for r in finders if r["version"] == siis.__version__]))
    if fits:
        figure(fits, RESULTS / "trust.png")


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--data", nargs="+", default=[s for s in SETS if s not in HELD_OUT], choices=SETS)
    parser.add_argument("--held-out", action="store_true", help="the sets that are kept for the end, and only they")
    parser.add_argument("--runs", type=int, default=5)
    parser.add_argument("--seeds", nargs="+", type=int, default=[0, 1])
    parser.add_argument("--noises", nargs="+", type=float, default=NOISES)
    parser.add_argument("--kinds", nargs="+", default=NOISE_KINDS, choices=NOISE_KINDS)
    parser.add_argument("--methods", nargs="*", default=[OURS, *RANKINGS], help="some of the rankings, or none")
    parser.add_argument("--cached", action="store_true", help="only tasks whose fits are there already")
    options = parser.parse_args()
    names = list(HELD_OUT) if options.held_out else [name for name in options.data if name not in HELD_OUT]
    rows = Rows(RESULTS / "trust.csv", COLUMNS, len(KEYS))
    finders = Rows(RESULTS / "finders.csv", (*KEYS, "method", "average_precision", "missed"), len(KEYS) + 1)
    fits = {}
    for task in tasks(names, options.noises, options.runs, options.seeds, options.kinds):
        key = siis.__version__, *task.key
        if options.cached and not fit_path(task).exists():
            continue
        if not rows.has(*key):
            rows.add(*key, *measure(task))
            print(*task.key, flush=True)
        has_wrong = (task.given[task.labelled] != task.truth[task.labelled]).any()
        for name in options.methods if has_wrong else ():
            if not finders.has(*key, name):
                finders.add(*key, name, *ranked(task, name))
        fit, at = default_fit(task), task.judged
        hit = fit["predicted"][at] == task.truth[at]
        group = group_of({"data": task.data, "kind": task.kind})
        fits.setdefault(group, []).append((fit["probabilities"][at].max(axis=1), hit))
    write(rows.rows, finders.rows, fits)


if __name__ == "__main__":
    main()
