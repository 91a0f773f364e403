"""NoisyDoubleMoon: each component of the model in turn, (b) GFHF to (e) SIIS."""

import time
import warnings
from typing import Any

import numpy as np
from sklearn.base import clone

from siis._types import Floats, Ints
from siis.baselines import GFHFClassifier, GTFClassifier, RobustLaplacianClassifier
from siis.datasets import make_noisy_double_moon
from siis.datasets.synthetic import SHIFT
from siis.estimators.classifier import SIISClassifier
from siis.labels.unlabelled import coded_rows
from siis.reproduction.options import STYLE, Options, draw
from siis.reproduction.records import Records, accuracies, markdown, read_rows

ALPHA, BETA, N_NEIGHBORS, NOISE = 10.0, 1.0, 10, 1 / 3
METHODS = {
    "gfhf": GFHFClassifier(n_neighbors=N_NEIGHBORS),
    "robust": RobustLaplacianClassifier(alpha=ALPHA, n_neighbors=N_NEIGHBORS),
    "gtf": GTFClassifier(alpha=ALPHA, n_neighbors=N_NEIGHBORS),
    "siis": SIISClassifier(
        alpha=ALPHA, beta=BETA, n_components=2, n_neighbors=N_NEIGHBORS, method="paper", solver="certified"
    ),
}
PAPER = {"gfhf": 0.7801, "robust": 0.8829, "gtf": 0.9161, "siis": 1.0}  # accuracy on its one problem
PANEL_SEED = 0


def predict(method: str, X: Floats, y: Ints) -> Ints:
    """Classify all points of a problem by one method."""
    with warnings.catch_warnings():  # a baseline may collapse to one class
        warnings.filterwarnings("ignore", "every example was given|.*connected to no label")
        classes: Ints = clone(METHODS[method]).fit(X, y).transduction_
    return classes


def measure(method: str, seed: int) -> dict[str, Any]:
    """One random problem: accuracy on the labelled and on the unlabelled points."""
    X, y, truth = make_noisy_double_moon(random_state=seed)
    started = time.perf_counter()
    found = accuracies(predict(method, X, y) == truth, coded_rows(y))
    return {"method": method, "noise": NOISE, "run": seed, **found, "seconds": time.perf_counter() - started}


def run(options: Options) -> None:
    """Write ``moons.csv``, ``moons.md`` and the five-panel figure; at least 20 random problems."""
    methods = options.chosen(METHODS)
    settings = {"alpha": ALPHA, "beta": BETA, "n_neighbors": N_NEIGHBORS, "n_components": 2, "shift": SHIFT}
    records = Records(options.out / "moons.csv", settings)
    calls = [(m, round(NOISE, 6), r) for m in methods for r in range(max(20, options.runs))]
    for row in options.each(measure, [(m, r) for m, _, r in records.missing(calls)], "NoisyDoubleMoon"):
        records.add(row)
    records.finish()
    runs, lines = read_rows(options.out / "moons.csv"), []
    for letter, method in zip("bcde", METHODS, strict=True):
        rows = [row for row in runs if row["method"] == method]
        whole = np.array([(6 * row["labelled_accuracy"] + 634 * row["unlabelled_accuracy"]) / 640 for row in rows])
        if rows:
            mean, perfect = f"{whole.mean():.3f} ± {whole.std():.3f}", f"{np.mean(whole > 1 - 1e-9):.0%}"
            lines.append([f"({letter}) {STYLE[method][0]}", mean, perfect, f"{PAPER[method]:.4f}"])
    header = ["method", "accuracy over all points", "problems solved without error", "paper (one problem)"]
    (options.out / "moons.md").write_text(markdown(header, lines))
    draw(options.out / "moons", (13, 2.9), _paint)


def _paint(figure: Any) -> None:
    X, y, truth = make_noisy_double_moon(random_state=PANEL_SEED)
    wrong = coded_rows(y) & (y != truth)
    colours = np.array(["#1f77b4", "#d62728"])
    axes = figure.subplots(1, 5, sharex=True, sharey=True)
    axes[0].scatter(*X.T, s=3, c="0.75")
    axes[0].set_title("(a) given labels", fontsize=9)
    for ax, letter, method in zip(axes[1:], "bcde", METHODS, strict=True):
        classes = predict(method, X, y)
        ax.scatter(*X.T, s=3, c=colours[classes])
        ax.set_title(f"({letter}) {STYLE[method][0]}: {np.mean(classes == truth):.1%}", fontsize=9)
    for ax in axes:
        for k, marker in ((0, "o"), (1, "^")):
            ax.scatter(*X[y == k].T, s=45, c=colours[k], marker=marker, edgecolors="black", linewidths=0.8)
        ax.scatter(*X[wrong].T, s=140, facecolors="none", edgecolors="#9467bd", linewidths=1.6)
        ax.set(xticks=[], yticks=[], aspect="equal")
