"""Sensitivity: accuracy on the unlabelled examples over alpha and beta at 40 % noise."""

from dataclasses import asdict, replace
from typing import Any

import numpy as np

from siis.datasets import contaminate
from siis.experiments.comparison import SETTINGS, Prepared, prepare, siis_program
from siis.experiments.figures import draw
from siis.experiments.run_records import Records, fingerprint, markdown
from siis.experiments.settings import Options
from siis.program.solvers import solve_certified

NOISE, GRID, TOL = 0.4, (1.0, 10.0, 100.0, 1000.0), 1e-3
KEYS, MEASURES = ("data", "alpha", "beta", "run"), ("unlabelled_accuracy",)
NAMES = ("coil", "rcv1", "isolet")


def measure(shared: Prepared, name: str, alpha: float, beta: float, run: int) -> dict[str, Any]:
    """Accuracy at one pair of weights for one contamination."""
    codes = contaminate(shared.truth[shared.labelled], NOISE, run)
    program = siis_program(shared, codes, replace(shared.setting.paper, alpha=alpha, beta=beta))
    solution = solve_certified(program, TOL)
    right = shared.classes(program.basis.synthesize(solution.coefficients)) == shared.truth
    unlabelled = np.ones(right.size, dtype=bool)
    unlabelled[shared.labelled] = False
    return dict(zip((*KEYS, *MEASURES), (name, alpha, beta, run, float(right[unlabelled].mean())), strict=True))


def run(options: Options) -> None:
    """Write ``sensitivity.csv``, ``sensitivity.md`` and the figure; at most three contaminations."""
    runs = range(min(3, options.runs))
    loaded = {name: SETTINGS[name].load(options.data) for name in NAMES}
    settings: dict[str, Any] = {name: asdict(SETTINGS[name].paper) for name in NAMES}
    settings["data"] = {name: fingerprint(data.X, data.y) for name, data in loaded.items()}
    records = Records(options.out / "sensitivity.csv", settings, KEYS, MEASURES)
    calls: list[tuple[Any, ...]] = []
    for name in NAMES:
        setting = SETTINGS[name]
        pairs = {(a, setting.paper.beta) for a in GRID} | {(setting.paper.alpha, b) for b in GRID}
        todo = records.missing((name, a, b, r) for a, b in sorted(pairs) for r in runs)
        if todo:
            shared = prepare(loaded[name], setting, ["siis"])["siis"]
            calls += [(shared, *call) for call in todo]
    for row in options.each(measure, calls, "sensitivity"):
        records.add(row)
    records.finish()
    rows = list(records.rows.values())

    def mean(name: str, alpha: float, beta: float) -> float:
        found = [r for r in rows if (r["data"], r["alpha"], r["beta"]) == (name, alpha, beta)]
        return float(np.mean([r["unlabelled_accuracy"] for r in found]))

    lines = []
    for name in NAMES:
        paper = SETTINGS[name].paper
        lines.append([name, f"alpha (beta = {paper.beta:g})", *[f"{mean(name, a, paper.beta):.3f}" for a in GRID]])
        lines.append([name, f"beta (alpha = {paper.alpha:g})", *[f"{mean(name, paper.alpha, b):.3f}" for b in GRID]])
    (options.out / "sensitivity.md").write_text(markdown(["data", "varied", *[f"{g:g}" for g in GRID]], lines))

    def paint(_: Any, figure: Any) -> None:
        axes = figure.subplots(1, 2, sharey=True)
        for name, colour in zip(NAMES, ("#1f77b4", "#2ca02c", "#d62728"), strict=True):
            paper = SETTINGS[name].paper
            axes[0].semilogx(GRID, [mean(name, a, paper.beta) for a in GRID], "o-", color=colour, label=name)
            axes[1].semilogx(GRID, [mean(name, paper.alpha, b) for b in GRID], "o-", color=colour, label=name)
        axes[0].set(xlabel="alpha", ylabel="accuracy, unlabelled examples")
        axes[1].set(xlabel="beta")
        for ax in axes:
            ax.grid(alpha=0.3)
        axes[1].legend(frameon=False, fontsize=8)

    draw(options.out / "sensitivity", (8, 3.4), paint)
