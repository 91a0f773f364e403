"""Convergence: the change of A and the duality gap per iteration, for Algorithm 1 and for the certified solver."""

import csv
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

from siis.datasets import contaminate, make_noisy_double_moon
from siis.graph import build_neighbor_graph
from siis.labels import coded, one_hot
from siis.labels.unlabelled import coded_rows
from siis.program import Program
from siis.program.basis import smooth_basis
from siis.program.solvers import Solution, solve_certified, solve_paper
from siis.reproduction import moons
from siis.reproduction.comparison import SETTINGS, place, siis_program
from siis.reproduction.options import Options, draw
from siis.reproduction.records import markdown

DATA, NOISE, N_ITER = ("moons", "coil", "rcv1", "isolet"), 0.4, 100
SOLVERS: dict[str, Callable[..., Solution]] = {"paper": solve_paper, "certified": solve_certified}
FIELDS = ("data", "solver", "iteration", "change", "objective", "relative_gap")


def moons_program() -> Program:
    """Build the program of panel (e)."""
    X, y, _ = make_noisy_double_moon(random_state=moons.PANEL_SEED)
    neighbors = build_neighbor_graph(X, moons.N_NEIGHBORS)
    rows = np.flatnonzero(coded_rows(y))
    reached = neighbors.graph.reached_from(neighbors.vertex[rows])
    graph = neighbors.graph.subgraph(reached)
    basis = smooth_basis(graph, max(2, graph.n_components))
    vertices = (np.cumsum(reached) - 1)[neighbors.vertex[rows]]
    return Program(graph, basis, vertices, coded(one_hot(y[rows], 2)), np.full(rows.size, moons.ALPHA), moons.BETA)


def real_program(name: str, folder: Path | None) -> Program:
    """Build the paper's program of a real data set with wrong labels."""
    setting = SETTINGS[name]
    at = place(setting.load(folder), setting, setting.paper)
    given = at.given(contaminate(at.truth[at.labelled], NOISE, 0))
    return siis_program(at.neighbors.graph, at.basis(), setting.paper, given)


def trace(name: str, folder: Path | None) -> list[dict[str, Any]]:
    """Measure every iteration of both solvers on one data set."""
    program = moons_program() if name == "moons" else real_program(name, folder)
    rows = []
    for solver, solve in SOLVERS.items():
        history = solve(program, tol=1e-300, max_iter=N_ITER, check_every=1).history
        columns = (history.iteration, history.change, history.objective, history.relative_gap)
        for i, change, objective, gap in zip(*columns, strict=True):
            rows.append(dict(zip(FIELDS, (name, solver, int(i), change, objective, gap), strict=True)))
    return rows


def run(options: Options) -> None:
    """Write ``convergence.csv``, ``convergence.md`` and the figure."""
    found = list(options.each(trace, [(name, options.data) for name in DATA], "convergence"))
    traces = {rows[0]["data"]: rows for rows in sorted(found, key=lambda rows: DATA.index(rows[0]["data"]))}
    with (options.out / "convergence.csv").open("w", newline="") as file:
        writer = csv.DictWriter(file, FIELDS)
        writer.writeheader()
        for row in (row for rows in traces.values() for row in rows):
            writer.writerow({k: f"{v:.6g}" if isinstance(v, float) else v for k, v in row.items()})
    lines = []
    for name, rows in traces.items():
        stop = next((r["iteration"] for r in rows if r["solver"] == "paper" and r["change"] <= 1e-4), "-")
        gaps = {r["solver"]: f"{r['relative_gap']:.1e}" for r in rows}  # of the last iteration
        lines.append([name, str(stop), *gaps.values()])
    header = ["data", "Algorithm 1's rule stops at", "its gap after 100", "certified solver's gap after 100"]
    (options.out / "convergence.md").write_text(markdown(header, lines))

    def paint(figure: Any) -> None:
        axes = figure.subplots(2, 4, sharex=True)
        for column, (name, rows) in zip(axes.T, traces.items(), strict=True):
            for solver, colour in zip(SOLVERS, ("#1f77b4", "#d62728"), strict=True):
                part = [r for r in rows if r["solver"] == solver]
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
