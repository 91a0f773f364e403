"""NoisyDoubleMoon: each component of the model in turn, (b) GFHF to (e) SIIS."""

import time
import warnings
from typing import Any

import numpy as np

from siis.baselines import GFHFClassifier, GTFClassifier, RobustLaplacianClassifier
from siis.datasets import make_noisy_double_moon
from siis.datasets.synthetic import SHIFT
from siis.estimators.classifier import SIISClassifier
from siis.experiments.figures import STYLE, draw
from siis.experiments.published import MOONS
from siis.experiments.run_records import Records, markdown, read_rows
from siis.experiments.settings import Options
from siis.labels.unlabelled import coded_rows

ALPHA, BETA, N_NEIGHBORS, NOISE = 10.0, 1.0, 10, 1 / 3
METHODS = ("gfhf", "robust", "gtf", "siis")
PANEL_SEED = 0


def classifier(method: str) -> Any:
    """Build the classifier of a panel."""
    if method == "gfhf":
        return GFHFClassifier(n_neighbors=N_NEIGHBORS)
    if method == "robust":
        return RobustLaplacianClassifier(alpha=ALPHA, n_neighbors=N_NEIGHBORS)
    if method == "gtf":
        return GTFClassifier(alpha=ALPHA, n_neighbors=N_NEIGHBORS)
    return SIISClassifier(
        alpha=ALPHA, beta=BETA, n_components=2, n_neighbors=N_NEIGHBORS, method="paper", solver="certified"
    )


def measure(method: str, seed: int) -> dict[str, Any]:
    """One random problem: accuracy on the labelled and on the unlabelled points."""
    problem = make_noisy_double_moon(random_state=seed)
    started = time.perf_counter()
    with warnings.catch_warnings():
        # a baseline may collapse to one class
        warnings.filterwarnings("ignore", "every example was given|.*connected to no label")
        model = classifier(method).fit(problem.X, problem.y)
    right, given = model.transduction_ == problem.truth, coded_rows(problem.y)
    return {
        "method": method,
        "noise": NOISE,
        "run": seed,
        "labelled_accuracy": float(right[given].mean()),
        "unlabelled_accuracy": float(right[~given].mean()),
        "seconds": time.perf_counter() - started,
    }


def run(options: Options) -> None:
    """Write ``moons.csv``, ``moons.md`` and the five-panel figure; at least 20 random problems."""
    methods = options.chosen(METHODS)
    settings = {"alpha": ALPHA, "beta": BETA, "n_neighbors": N_NEIGHBORS, "n_components": 2, "shift": SHIFT}
    records = Records(options.out / "moons.csv", settings)
    calls = [(m, round(NOISE, 6), r) for m in methods for r in range(max(20, options.runs))]
    for row in options.each(measure, [(m, r) for m, _, r in records.missing(calls)], "NoisyDoubleMoon"):
        records.add(row)
    records.finish()
    rows = read_rows(options.out / "moons.csv")
    lines = []
    for letter, method in zip("bcde", METHODS, strict=True):
        whole = [
            (6 * row["labelled_accuracy"] + 634 * row["unlabelled_accuracy"]) / 640
            for row in rows
            if row["method"] == method
        ]
        if whole:
            perfect = f"{np.mean(np.array(whole) > 1 - 1e-9):.0%}"
            mean = f"{np.mean(whole):.3f} ± {np.std(whole):.3f}"
            lines.append([f"({letter}) {STYLE[method][0]}", mean, perfect, f"{MOONS[method]:.4f}"])
    header = ["method", "accuracy over all points", "problems solved without error", "paper (one problem)"]
    (options.out / "moons.md").write_text(markdown(header, lines))
    _figure(options)


def _figure(options: Options) -> None:
    problem = make_noisy_double_moon(random_state=PANEL_SEED)
    given, wrong = coded_rows(problem.y), coded_rows(problem.y) & (problem.y != problem.truth)
    colours = np.array(["#1f77b4", "#d62728"])

    def paint(_: Any, figure: Any) -> None:
        axes = figure.subplots(1, 5, sharex=True, sharey=True)
        axes[0].scatter(*problem.X.T, s=3, c="0.75")
        axes[0].set_title("(a) given labels", fontsize=9)
        for ax, letter, method in zip(axes[1:], "bcde", METHODS, strict=True):
            with warnings.catch_warnings():
                warnings.filterwarnings("ignore", "every example was given|.*connected to no label")
                answer = classifier(method).fit(problem.X, problem.y).transduction_
            ax.scatter(*problem.X.T, s=3, c=colours[answer])
            ax.set_title(f"({letter}) {STYLE[method][0]}: {np.mean(answer == problem.truth):.1%}", fontsize=9)
        for ax in axes:
            for k, marker in ((0, "o"), (1, "^")):
                rows = given & (problem.y == k)
                ax.scatter(*problem.X[rows].T, s=45, c=colours[k], marker=marker, edgecolors="black", linewidths=0.8)
            ax.scatter(*problem.X[wrong].T, s=140, facecolors="none", edgecolors="#9467bd", linewidths=1.6)
            ax.set(xticks=[], yticks=[], aspect="equal")

    draw(options.out / "moons", (13, 2.9), paint)
