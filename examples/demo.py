"""Digits with 20 labels a class, 40 % of them wrong: what SIIS makes of it."""

import argparse
from pathlib import Path

import matplotlib as mpl

mpl.use("Agg")
import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import load_digits
from sklearn.neighbors import KNeighborsClassifier

from siis import SIISClassifier
from siis.datasets import contaminate, draw_labelled

LABELS_PER_CLASS, NOISE = 20, 0.4


def given_labels(truth, seed):
    y = np.full(truth.size, -1)
    rows = draw_labelled(truth, per_class=LABELS_PER_CLASS, random_state=seed)
    y[rows] = truth[rows]
    return contaminate(y, NOISE, seed)


def picture(X, y, truth, model, path):
    changed = np.flatnonzero((y >= 0) & (model.transduction_ != y))
    confidence = model.label_distributions_[changed].max(axis=1)
    shown = changed[np.argsort(-confidence, kind="stable")][:24]
    figure, axes = plt.subplots(3, 8, figsize=(10, 5.2), layout="constrained")
    for ax in axes.ravel():
        ax.set_axis_off()
    for ax, i in zip(axes.ravel(), shown, strict=False):
        right = model.transduction_[i] == truth[i]
        ax.imshow(X[i].reshape(8, 8), cmap="gray_r")
        colour, mark = ("#1a7f37", "right") if right else ("#b42318", "wrong")
        ax.set_title(f"given {y[i]}, siis {model.transduction_[i]}\n{mark}", fontsize=8, color=colour)
    figure.suptitle("Labels that siis corrects with most confidence (true classes were hidden from it)", fontsize=11)
    figure.savefig(path, dpi=120)
    plt.close(figure)


def summary(y, truth, nearest, model):
    given, answer = y >= 0, model.transduction_
    wrong, flagged = given & (y != truth), given & (answer != y)
    found = np.count_nonzero(flagged & wrong)

    def row(name, rows, before):
        return f"{name:<34}{np.mean(before[rows] == truth[rows]):>10.1%}{np.mean(answer[rows] == truth[rows]):>12.1%}"

    lines = [
        f"{truth.size} digits, {given.sum()} given labels, {wrong.sum()} of them wrong",
        "",
        f"{'correct labels':<34}{'before':>10}{'after siis':>12}",
        row("  on examples with a given label", given, y),
        row("  on unlabelled examples", ~given, nearest),
        "  (before: the label as given; the label of the nearest labelled example)",
        "",
        f"wrong labels found: {found} of {wrong.sum()}, with {flagged.sum() - found} false alarms",
        f"relative duality gap: {model.dual_gap_:.1e} after {model.n_iter_} iterations",
    ]
    return "\n".join(lines)


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--out", type=Path, default=Path("out"), help="folder for the picture (default: out)")
    parser.add_argument("--seed", type=int, default=0)
    options = parser.parse_args()

    X, truth = load_digits(return_X_y=True)
    y = given_labels(truth, options.seed)
    given = y >= 0
    model = SIISClassifier().fit(X, y)
    nearest = KNeighborsClassifier(1).fit(X[given], y[given]).predict(X)

    table = summary(y, truth, nearest, model)
    print(table)
    options.out.mkdir(parents=True, exist_ok=True)
    (options.out / "demo.md").write_text(f"```text\n{table}\n```\n")
    picture(X, y, truth, model, options.out / "demo.png")
    print(f"\npicture: {options.out / 'demo.png'}")


if __name__ == "__main__":
    main()
