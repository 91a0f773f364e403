"""Finding the wrong labels: average precision and AUROC of the default's quality, beside cleanlab and neighbours.

Rankings of the given labels, worst first, by: ``label_quality_`` of the untouched default; cleanlab's self-confidence
with its own classifier (out-of-fold logistic regression) and with the default's held-out probabilities; the share of
the ten nearest labelled examples that were given another class. On contaminated labels of the accuracy benchmark, and
on LabelMe's real annotators (majority vote, and one answer drawn for each example). Writes results/label_errors.csv
and label_errors.md; fits of the default are shared with accuracy.py.
"""

import argparse
import os
from pathlib import Path

import numpy as np
from cleanlab.rank import get_label_quality_scores
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import average_precision_score, roc_auc_score
from sklearn.model_selection import StratifiedKFold, cross_val_predict
from sklearn.neighbors import NearestNeighbors

from protocol import NOISES, PER_CLASS, RESULTS, Rows, Task, default_fit, mean_and_error, tasks

COLUMNS = ("data", "noise", "run", "method", "average_precision", "auroc")
OURS = "SIISClassifier()"


def own_cleanlab(task):
    rows = task.labelled
    X, codes = task.X[rows], task.given[rows]
    folds = StratifiedKFold(5, shuffle=True, random_state=0)
    model = LogisticRegression(max_iter=300, tol=1e-3)
    return get_label_quality_scores(codes, cross_val_predict(model, X, codes, cv=folds, method="predict_proba"))


def same_cleanlab(task):
    P = default_fit(task)["held_out"]
    return get_label_quality_scores(task.given[task.labelled], np.nan_to_num(P, nan=1 / P.shape[1]))


def neighbours(task):
    rows = task.labelled
    near = NearestNeighbors(n_neighbors=10).fit(task.X[rows]).kneighbors(return_distance=False)
    return np.mean(task.given[rows][near] == task.given[rows][:, None], axis=1)


METHODS = {
    OURS: lambda task: default_fit(task)["quality"],
    "cleanlab, own classifier": own_cleanlab,
    "cleanlab, held-out probabilities of the default": same_cleanlab,
    "ten nearest labelled": neighbours,
}


def labelme(runs):
    """The majority vote of LabelMe's annotators, and single answers, one drawn for each example."""
    path = Path(os.environ.get("SIIS_DATA", ".")) / "labelme.npz"
    if not path.exists():
        print("labelme: no labelme.npz in the folder that SIIS_DATA names; left out")
        return
    stored = np.load(path)
    X, truth, answers = stored["X"].astype(float), stored["y"].astype(int), stored["answers"]
    train = np.flatnonzero(stored["split"] == 0)
    given = np.full(truth.size, -1)
    given[train] = stored["mv_label"]
    yield Task("labelme-vote", "people", float(np.mean(given[train] != truth[train])), 0, 0, X, truth, given)
    for run in range(runs):
        rng = np.random.default_rng(run)
        single = np.full(truth.size, -1)
        for i, row in zip(train, answers, strict=True):
            if (row >= 0).any():
                single[i] = rng.choice(row[row >= 0])
        wrong = float(np.mean(single[single >= 0] != truth[single >= 0]))
        yield Task("labelme-single", "people", wrong, 0, run, X, truth, single)


def table(rows):
    values = {}
    for row in rows:
        noise = f"{float(row['noise']):.0%}" if not row["data"].startswith("labelme") else "real"
        values.setdefault((row["data"], noise), {}).setdefault(row["method"], []).append(
            (float(row["average_precision"]), float(row["auroc"]))
        )
    lines = ["| data | wrong | " + " | ".join(METHODS) + " |", "|---|---|" + "---|" * len(METHODS)]
    for (data, noise), found in sorted(values.items()):
        cells = []
        for method in METHODS:
            pairs = np.array(found.get(method, [(np.nan, np.nan)]))
            mean, error = mean_and_error(pairs[:, 0])
            cells.append(
                f"{mean:.3f} ± {error:.3f} ({pairs[:, 1].mean():.3f})"
                if len(pairs) > 1
                else f"{mean:.3f} ({pairs[0, 1]:.3f})"
            )
        lines.append(f"| {data} | {noise} | " + " | ".join(cells) + " |")
    return (
        "\n".join(lines) + "\n\nAverage precision (AUROC in brackets), mean ± standard error over contaminations.\n"
    )


def noise_table(rows):
    """The estimated share of wrong labels beside the true one."""
    values = {}
    for row in rows:
        key = row["data"], "real" if row["data"].startswith("labelme") else f"{float(row['noise']):.0%}"
        values.setdefault(key, []).append((float(row["noise"]), float(row["estimate"])))
    lines = ["| data | wrong | estimated, mean (range) | largest miss |", "|---|---|---|---|"]
    for (data, noise), found in sorted(values.items()):
        true, estimate = np.array(found).T
        label = noise if noise != "real" else f"{true.mean():.0%} (real)"
        miss = np.abs(true - estimate).max()
        spread = f"{estimate.mean():.3f} ({estimate.min():.3f} to {estimate.max():.3f})"
        lines.append(f"| {data} | {label} | {spread} | {miss:.3f} |")
    return "\n".join(lines) + "\n"


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--data", nargs="*", default=list(PER_CLASS), choices=list(PER_CLASS))
    parser.add_argument("--runs", type=int, default=5)
    options = parser.parse_args()
    rows = Rows(RESULTS / "label_errors.csv", COLUMNS, 4)
    noisy = [noise for noise in NOISES if noise > 0]
    rates = Rows(RESULTS / "noise.csv", ("data", "noise", "run", "estimate", "low", "high"), 3)
    everything = [*labelme(options.runs), *tasks(options.data, noisy, options.runs)]
    for task in everything:
        wrong = task.given[task.labelled] != task.truth[task.labelled]
        for name, method in METHODS.items():
            if not rows.has(task.data, task.noise, task.run, name):
                quality = method(task)
                ap, auroc = average_precision_score(wrong, -quality), roc_auc_score(wrong, -quality)
                rows.add(task.data, task.noise, task.run, name, f"{ap:.6f}", f"{auroc:.6f}")
                print(f"{task.data} {task.noise:.0%} run {task.run} {name}: {ap:.3f}", flush=True)
        if not rates.has(task.data, task.noise, task.run):
            fit = default_fit(task)
            interval = (f"{end:.6f}" for end in fit["noise_interval"])
            rates.add(task.data, task.noise, task.run, f"{float(fit['noise_rate']):.6f}", *interval)
    text = table(rows.rows)
    (RESULTS / "label_errors.md").write_text(text)
    (RESULTS / "noise.md").write_text(noise_table(rates.rows))
    print(text)


if __name__ == "__main__":
    main()
