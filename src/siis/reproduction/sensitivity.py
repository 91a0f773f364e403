"""Sensitivity: accuracy on the unlabelled examples over alpha and beta at 40 % noise."""

from dataclasses import asdict, replace
from functools import partial
from typing import Any

import numpy as np

from siis.datasets import contaminate
from siis.program.basis import SmoothBasis
from siis.program.solvers import solve_certified
from siis.reproduction.comparison import SETTINGS, LabelledGraph, place, siis_scores
from siis.reproduction.options import Options, draw
from siis.reproduction.records import Records, accuracies, fingerprint, markdown

NOISE, GRID, TOL = 0.4, (1.0, 10.0, 100.0, 1000.0), 1e-3
KEYS, MEASURES = ("data", "alpha", "beta", "run"), ("unlabelled_accuracy",)
VARIED = ("alpha", "beta")
COLOURS = {"coil": "#1f77b4", "rcv1": "#2ca02c", "isolet": "#d62728"}


def weights_of(name: str, varied: str, value: float) -> tuple[float, float]:
    """Give alpha and beta where one has this value and the other is the paper's."""
    paper = SETTINGS[name].paper
    return (value, paper.beta) if varied == "alpha" else (paper.alpha, value)


def measure(at: LabelledGraph, basis: SmoothBasis, name: str, alpha: float, beta: float, run: int) -> dict[str, Any]:
    """Accuracy at one pair of weights for one contamination."""
    weights = replace(SETTINGS[name].paper, alpha=alpha, beta=beta)
    scores = partial(siis_scores, at.neighbors.graph, basis, weights, partial(solve_certified, tol=TOL))
    predicted = at.predict(scores, contaminate(at.truth[at.labelled], NOISE, run))
    return dict(zip(KEYS, (name, alpha, beta, run), strict=True)) | accuracies(predicted == at.truth, at.labelled)


def run(options: Options) -> None:
    """Write ``sensitivity.csv``, ``sensitivity.md`` and the figure; at most three contaminations."""
    runs = range(min(3, options.runs))
    loaded = {name: SETTINGS[name].load(options.data) for name in COLOURS}
    settings: dict[str, Any] = {name: asdict(SETTINGS[name].paper) for name in COLOURS}
    settings["data"] = {name: fingerprint(data.X, data.y) for name, data in loaded.items()}
    records = Records(options.out / "sensitivity.csv", settings, KEYS, MEASURES)
    calls: list[tuple[Any, ...]] = []
    for name, data in loaded.items():
        pairs = sorted({weights_of(name, varied, value) for varied in VARIED for value in GRID})
        todo = records.missing((name, *pair, r) for pair in pairs for r in runs)
        if todo:
            at = place(data, SETTINGS[name], SETTINGS[name].paper)
            basis = at.basis()
            calls += [(at, basis, *call) for call in todo]
    for row in options.each(measure, calls, "sensitivity"):
        records.add(row)
    records.finish()
    curves: dict[tuple[str, str], list[float]] = {}  # accuracies over GRID by data set and varied weight
    lines = []
    for name in COLOURS:
        for varied, fixed in (VARIED, VARIED[::-1]):
            curve = [_mean(records, (name, *weights_of(name, varied, value))) for value in GRID]
            title = f"{varied} ({fixed} = {getattr(SETTINGS[name].paper, fixed):g})"
            lines.append([name, title, *[f"{accuracy:.3f}" for accuracy in curve]])
            curves[name, varied] = curve
    (options.out / "sensitivity.md").write_text(markdown(["data", "varied", *[f"{g:g}" for g in GRID]], lines))

    def paint(figure: Any) -> None:
        axes = figure.subplots(1, 2, sharey=True)
        for ax, varied in zip(axes, VARIED, strict=True):
            for name, colour in COLOURS.items():
                ax.semilogx(GRID, curves[name, varied], "o-", color=colour, label=name)
            ax.set(xlabel=varied)
            ax.grid(alpha=0.3)
        axes[0].set_ylabel("accuracy, unlabelled examples")
        axes[1].legend(frameon=False, fontsize=8)

    draw(options.out / "sensitivity", (8, 3.4), paint)


def _mean(records: Records, key: tuple[str, float, float]) -> float:
    return float(np.mean([row["unlabelled_accuracy"] for k, row in records.rows.items() if k[:3] == key]))
