"""Convergence: the change of A and the duality gap per iteration, for Algorithm 1 and for the certified solver."""

import csv
from pathlib import Path
from typing import Any

import numpy as np

from siis.datasets import contaminate, make_noisy_double_moon
from siis.experiments import moons
from siis.experiments.comparison import SETTINGS, prepare, siis_program
from siis.experiments.figures import draw
from siis.experiments.run_records import markdown
from siis.experiments.settings import Options
from siis.graph import build_neighbor_graph
from siis.labels import coded, one_hot
from siis.labels.unlabelled import coded_rows
from siis.program import Program
from siis.program.basis import smooth_basis
from siis.program.solvers import solve_certified, solve_paper

NOISE, N_ITER, SOLVERS = 0.4, 100, ("paper", "certified")
FIELDS = ("data", "solver", "iteration", "change", "objective", "relative_gap")


def moons_program() -> Program:
    """Build the program of panel (e)."""
    problem = make_noisy_double_moon(random_state=moons.PANEL_SEED)
    placed = build_neighbor_graph(problem.X, moons.N_NEIGHBORS)
    rows = np.flatnonzero(coded_rows(problem.y))
    reached = placed.graph.reached_from(placed.vertex[rows])
    graph = placed.graph.subgraph(reached)
    basis = smooth_basis(graph, max(2, graph.n_components))
    vertices = (np.cumsum(reached) - 1)[placed.vertex[rows]]
    return Program(
        graph, basis, vertices, coded(one_hot(problem.y[rows], 2)), np.full(rows.size, moons.ALPHA), moons.BETA
    )


def trace(name: str, folder: Path | None) -> list[dict[str, Any]]:
    """Measure every iteration of both solvers on one data set."""
    if name == "moons":
        program = moons_program()
    else:
        setting = SETTINGS[name]
        shared = prepare(setting.load(folder), setting, ["siis"])["siis"]
        codes = contaminate(shared.truth[shared.labelled], NOISE, 0)
        program = siis_program(shared, codes, setting.paper)
    rows = []
    for solver in SOLVERS:
        if solver == "paper":
            history = solve_paper(program, tol=1e-300, max_iter=N_ITER, check_every=1).history
        else:
            history = solve_certified(program, tol=1e-300, max_iter=N_ITER, check_every=1).history
        columns = (history.iteration, history.change, history.objective, history.relative_gap)
        for i, change, objective, gap in zip(*columns, strict=True):
            rows.append(dict(zip(FIELDS, (name, solver, int(i), change, objective, gap), strict=True)))
    return rows


def run(options: Options) -> None:
    """Write ``convergence.csv``, ``convergence.md`` and the figure."""
    names = ["moons", "coil", "rcv1", "isolet"]
    traces = {
        rows[0]["data"]: rows for rows in options.each(trace, [(n, options.data) for n in names], "convergence")
    }
    rows = [row for name in names for row in traces[name]]
    with (options.out / "convergence.csv").open("w", newline="") as file:
        writer = csv.DictWriter(file, FIELDS)
        writer.writeheader()
        writer.writerows({k: f"{v:.6g}" if isinstance(v, float) else v for k, v in row.items()} for row in rows)
    lines = []
    for name in names:
        last = {s: [r for r in traces[name] if r["solver"] == s][-1] for s in SOLVERS}
        stop = next((r["iteration"] for r in traces[name] if r["solver"] == "paper" and r["change"] <= 1e-4), "-")
        gaps = [f"{last[s]['relative_gap']:.1e}" for s in SOLVERS]
        lines.append([name, str(stop), *gaps])
    header = ["data", "Algorithm 1's rule stops at", "its gap after 100", "certified solver's gap after 100"]
    (options.out / "convergence.md").write_text(markdown(header, lines))

    def paint(_: Any, figure: Any) -> None:
        axes = figure.subplots(2, 4, sharex=True)
        for column, name in zip(axes.T, names, strict=True):
            for solver, colour in zip(SOLVERS, ("#1f77b4", "#d62728"), strict=True):
                part = [r for r in traces[name] if r["solver"] == solver]
                for ax, field in zip(column, ("change", "relative_gap"), strict=True):
                    values = np.array([r[field] for r in part], dtype=float)
                    ax.semilogy([r["iteration"] for r in part], np.maximum(values, 1e-16), color=colour, label=solver)
                    ax.grid(alpha=0.3)
            column[0].set_title(name, fontsize=10)
            column[1].set_xlabel("iteration")
        axes[0, 0].set_ylabel("change of A")
        axes[1, 0].set_ylabel("relative duality gap")
        axes[0, 0].legend(frameon=False, fontsize=8)

    draw(options.out / "convergence", (11, 4.6), paint)
