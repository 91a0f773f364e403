"""Accuracy on the unlabelled examples: the untouched default beside what people would use instead.

Rivals near their documented defaults, or (--tuned) with their parameters chosen by five-fold cross-validation on the
same noisy labels. Writes results/accuracy.csv (one row for each fit; resumed where it stopped), accuracy.md and, for
the defaults, accuracy.png.
"""

import argparse
import time
import warnings

import numpy as np
import scipy.sparse as sp
from scipy.sparse.linalg import cg
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import StratifiedKFold, cross_val_predict
from sklearn.neighbors import KNeighborsClassifier
from sklearn.semi_supervised import LabelPropagation, LabelSpreading, SelfTrainingClassifier
from sklearn.svm import SVC

from protocol import NOISES, PER_CLASS, RESULTS, Rows, default_fit, mean_and_error, tasks
from siis.baselines.gfhf import harmonic
from siis.graph import embed
from siis.labels import distributions, gather, one_hot

COLUMNS = ("table", "data", "noise", "run", "method", "accuracy", "seconds")
GRAPHS = {}


def graph(task, n_neighbors=10):
    key = (task.data, n_neighbors)
    if key not in GRAPHS:
        if any(data != task.data for data, _ in GRAPHS):
            GRAPHS.clear()
        GRAPHS[key] = embed(task.X, n_neighbors)
    return GRAPHS[key]


def supervised(model):
    def predict(task, rows, codes, at=slice(None)):
        return model().fit(task.X[rows], codes).predict(task.X[at])

    return predict


def with_unlabelled(model):
    def predict(task, rows, codes):
        y = np.full(task.truth.size, -1)
        y[rows] = codes
        return model().fit(task.X, y).predict(task.X)

    return predict


def spreading(model):
    def predict(task, rows, codes):
        y = np.full(task.truth.size, -1)
        y[rows] = codes
        return model().fit(task.X, y).transduction_

    return predict


def local_and_global(share, n_neighbors=10):
    """F = (I - share D^-1/2 W D^-1/2)^-1 Y (Zhou et al.)."""

    def predict(task, rows, codes, at=slice(None)):
        placed = graph(task, n_neighbors)
        scale = sp.diags_array(1 / np.sqrt(np.maximum(placed.graph.degrees, 1e-300)))
        M = sp.eye_array(placed.graph.n_vertices) - share * (scale @ placed.graph.weights @ scale)
        Y = np.zeros((placed.graph.n_vertices, task.truth.max() + 1))
        np.add.at(Y, (placed.vertex[rows], codes), 1.0)
        F = np.column_stack([cg(M, column, rtol=1e-6)[0] for column in Y.T])
        return np.argmax(F, axis=1)[placed.vertex][at]

    return predict


def gfhf(task, rows, codes):
    placed, c = graph(task), task.truth.max() + 1
    reached = placed.graph.reached_from(placed.vertex[rows])
    given = gather(placed.vertex[rows], one_hot(codes, c), np.ones(rows.size)).moved(np.cumsum(reached) - 1)
    F = np.zeros((placed.graph.n_vertices, c))
    F[reached] = distributions(harmonic(placed.graph.subgraph(reached), given), c)
    return np.argmax(F, axis=1)[placed.vertex]


def poisson(task, rows, codes):
    import graphlearning  # noqa: PLC0415  (seconds to import)

    placed = graph(task)
    vertices, first = np.unique(placed.vertex[rows], return_index=True)
    model = graphlearning.ssl.poisson(sp.csr_matrix(placed.graph.weights))
    return model.fit_predict(vertices, codes[first])[placed.vertex]


def cleanlab_then_logistic(task, rows, codes):
    from cleanlab.filter import find_label_issues  # noqa: PLC0415

    X = task.X[rows]
    folds = StratifiedKFold(5, shuffle=True, random_state=0)
    p = cross_val_predict(logistic(), X, codes, cv=folds, method="predict_proba")
    kept = ~find_label_issues(codes, p)
    if np.unique(codes[kept]).size < 2:
        kept[:] = True
    return logistic().fit(X[kept], codes[kept]).predict(task.X)


def logistic(C=1.0):
    return LogisticRegression(C=C, max_iter=300, tol=1e-3)


RIVALS = {
    "SVC": supervised(SVC),
    "logistic regression": supervised(logistic),
    "kNN": supervised(KNeighborsClassifier),
    "LabelSpreading": spreading(lambda: LabelSpreading(kernel="knn", max_iter=200)),
    "LabelPropagation": spreading(lambda: LabelPropagation(kernel="knn", max_iter=5000)),
    "SelfTraining": with_unlabelled(lambda: SelfTrainingClassifier(logistic())),
    "LGC 0.9": local_and_global(0.9),
    "LGC 0.99": local_and_global(0.99),
    "GFHF": gfhf,
    "Poisson learning": poisson,
    "cleanlab + logistic": cleanlab_then_logistic,
}
GRIDS = {
    "SVC": [supervised(lambda C=C, g=g: SVC(C=C, gamma=g)) for C in (0.1, 1, 10) for g in ("scale", "auto")],
    "logistic regression": [supervised(lambda C=C: logistic(C)) for C in (0.01, 0.1, 1, 10)],
    "kNN": [supervised(lambda k=k: KNeighborsClassifier(k)) for k in (1, 5, 15, 50)],
    "LGC": [local_and_global(share, k) for k in (5, 10, 20, 50) for share in (0.5, 0.9, 0.99)],
}
OURS = "SIISClassifier()"


def tuned(grid):
    """Choose a rival's parameters by five-fold cross-validation on the given labels, then fit on all."""

    def predict(task, rows, codes):
        scores = np.zeros(len(grid))
        for train, held in StratifiedKFold(5, shuffle=True, random_state=0).split(rows, codes):
            for k, rival in enumerate(grid):
                scores[k] += np.sum(rival(task, rows[train], codes[train], rows[held]) == codes[held])
        return grid[int(np.argmax(scores))](task, rows, codes)

    return predict


def measure(task, name, rival):
    if rival is None:
        fit = default_fit(task)
        return task.accuracy(fit["predicted"]), float(fit["seconds"])
    started = time.perf_counter()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # rivals' convergence and deprecation warnings
        predicted = rival(task, task.labelled, task.given[task.labelled])
    return task.accuracy(predicted), time.perf_counter() - started


def table(rows, which):
    """Markdown: a row for each method, a column for each cell, mean and standard error; and the mean of all cells."""
    chosen = [row for row in rows if row["table"] == which or row["method"] == OURS]
    cells = sorted({(row["data"], row["noise"]) for row in chosen})
    values = {}
    for row in chosen:
        values.setdefault((row["method"], row["data"], row["noise"]), []).append(float(row["accuracy"]))
    methods = [m for m in (*RIVALS, *GRIDS, OURS) if any(key[0] == m for key in values)]
    methods = list(dict.fromkeys(methods))
    lines = []
    for data in dict.fromkeys(data for data, _ in cells):
        noises = [noise for d, noise in cells if d == data]
        lines += [f"| {data} | " + " | ".join(f"{float(noise):.0%}" for noise in noises) + " |"]
        lines += ["|---|" + "---|" * len(noises)]
        for method in methods:
            found = [values.get((method, data, noise)) for noise in noises]
            text = ["-" if v is None else "{:.3f} ± {:.3f}".format(*mean_and_error(v)) for v in found]
            lines.append(f"| {method} | " + " | ".join(text) + " |")
        lines.append("")
    lines += ["| mean of all cells | |", "|---|---|"]
    for method in methods:
        means = [np.mean(values[method, *cell]) for cell in cells if (method, *cell) in values]
        note = "" if len(means) == len(cells) else f" ({len(means)} of {len(cells)} cells)"
        lines.append(f"| {method} | {np.mean(means):.3f}{note} |")
    runs = sorted({len(v) for v in values.values()})
    lines += [
        "",
        f"Mean ± standard error over {' to '.join(map(str, dict.fromkeys((runs[0], runs[-1]))))} contaminations.",
    ]
    return "\n".join(lines) + "\n"


def short_table(rows):
    """Markdown: means over the data sets at each noise level, over all cells, and how often ours is not behind."""
    values = {}
    for row in rows:
        if row["table"] == "default":
            key = row["method"], row["data"], row["noise"]
            values.setdefault(key, []).append(float(row["accuracy"]))
    noises, names = sorted({key[2] for key in values}), sorted({key[1] for key in values})
    lines = [
        "| method | " + " | ".join(f"{float(noise):.0%} wrong" for noise in noises) + " | all | ours not behind |"
    ]
    lines.append("|---|" + "---|" * (len(noises) + 2))
    for method in (OURS, *RIVALS):
        means = {(d, z): np.mean(values[method, d, z]) for d in names for z in noises if (method, d, z) in values}
        cells = [f"{np.mean([means[d, z] for d in names if (d, z) in means]):.3f}" for z in noises]
        if method == OURS:
            ahead = ""
        else:
            level = [
                np.mean(values[OURS, *cell]) >= mean - mean_and_error(values[OURS, *cell])[1]
                for cell, mean in means.items()
                if (OURS, *cell) in values
            ]
            ahead = f"{sum(level)} of {len(level)}"
        name = f"**{method}**" if method == OURS else method
        lines.append(f"| {name} | " + " | ".join(cells) + f" | {np.mean(list(means.values())):.3f} | {ahead} |")
    runs = sorted({len(v) for v in values.values()})
    lines += [
        "",
        f"Means over {', '.join(names)}; {' to '.join(map(str, dict.fromkeys((runs[0], runs[-1]))))} contaminations. "
        "Last column: cells in which ours is at least the rival's, up to one standard error of ours.",
    ]
    return "\n".join(lines) + "\n"


def figure(rows, path):
    import matplotlib  # noqa: PLC0415

    matplotlib.use("Agg")
    import matplotlib.pyplot as plt  # noqa: PLC0415

    chosen = [row for row in rows if row["table"] == "default"]
    names = list(dict.fromkeys(row["data"] for row in chosen))
    fig, axes = plt.subplots(1, len(names), figsize=(3.2 * len(names), 3.4), sharey=True, squeeze=False)
    for ax, name in zip(axes[0], names, strict=True):
        for i, method in enumerate([*RIVALS, OURS]):
            points = {}
            for row in chosen:
                if row["data"] == name and row["method"] == method:
                    points.setdefault(float(row["noise"]), []).append(float(row["accuracy"]))
            noises = sorted(points)
            ours = method == OURS
            style = (
                {"color": "black", "lw": 2.5}
                if ours
                else {"color": f"C{i % 10}", "lw": 1, "ls": "--" if i > 5 else "-"}
            )
            ax.plot(
                [100 * n for n in noises],
                [np.mean(points[n]) for n in noises],
                marker="o",
                ms=3,
                label=method,
                **style,
            )
        ax.set_title(name)
        ax.set_xlabel("wrong labels, %")
        ax.grid(alpha=0.3)
    axes[0][0].set_ylabel("accuracy on unlabelled examples")
    fig.legend(*axes[0][0].get_legend_handles_labels(), loc="lower center", ncols=6, fontsize=8, frameon=False)
    fig.tight_layout(rect=(0, 0.13, 1, 1))
    fig.savefig(path, dpi=120)


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--data", nargs="+", default=list(PER_CLASS), choices=list(PER_CLASS))
    parser.add_argument("--runs", type=int, default=5)
    parser.add_argument("--noises", nargs="+", type=float, default=NOISES)
    parser.add_argument("--methods", nargs="+", help="some of the rivals, by name")
    parser.add_argument("--tuned", action="store_true", help="rivals with parameters by cross-validation")
    parser.add_argument("--tables", action="store_true", help="only write tables and figure from the CSV file")
    options = parser.parse_args()
    rows = Rows(RESULTS / ("accuracy_tuned.csv" if options.tuned else "accuracy.csv"), COLUMNS, 5)
    which = "tuned" if options.tuned else "default"
    methods = {name: tuned(grid) for name, grid in GRIDS.items()} if options.tuned else {OURS: None, **RIVALS}
    if options.methods:
        methods = {name: methods[name] for name in options.methods}
    for task in () if options.tables else tasks(options.data, options.noises, options.runs):
        for name, rival in methods.items():
            if not rows.has(which, task.data, task.noise, task.run, name):
                accuracy, seconds = measure(task, name, rival)
                rows.add(which, task.data, task.noise, task.run, name, f"{accuracy:.6f}", f"{seconds:.2f}")
                print(
                    f"{task.data} {task.noise:.0%} run {task.run} {name}: {accuracy:.3f} ({seconds:.1f} s)",
                    flush=True,
                )
    everything = list(rows.rows)
    if options.tuned:
        everything += [row for row in Rows(RESULTS / "accuracy.csv", COLUMNS, 5).rows if row["method"] == OURS]
    else:
        figure(everything, RESULTS / "accuracy.png")
        (RESULTS / "accuracy_short.md").write_text(short_table(everything))
    text = table(everything, which)
    (RESULTS / ("accuracy_tuned.md" if options.tuned else "accuracy.md")).write_text(text)
    print(text)


if __name__ == "__main__":
    main()
