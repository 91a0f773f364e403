"""Fig. 1: a chain of ten vertices, one label wrong; trend filtering against the quadratic smoother."""

import csv
import time
from typing import Any

import numpy as np

from siis._types import Floats, Ints
from siis.datasets import make_noisy_chain
from siis.graph import Graph
from siis.program import Program
from siis.program.basis import identity_basis, smooth_basis
from siis.program.solvers import solve_certified
from siis.reproduction.options import Options, draw
from siis.reproduction.records import Records, markdown

ALPHA, WRONG = 1.0, 7
PAPER = {"gtf": -0.9987, "laplacian": -0.3970}  # at the wrong vertex
NAMES = {"gtf": "GTF", "laplacian": "quadratic smoother"}


def trend_filter(graph: Graph, y: Ints) -> Floats:
    """Minimise ||P f||_1 + alpha ||f - y||_1: shape (n,)."""
    Y, alpha = y[:, None].astype(float), np.full(y.size, ALPHA)
    program = Program(graph, identity_basis(graph), np.arange(y.size), Y, alpha, 0.0)
    return solve_certified(program, 1e-8, 20_000).coefficients[:, 0]


def quadratic_smoother(graph: Graph, y: Ints) -> Floats:
    """Minimise f'L f + alpha ||f - y||^2: shape (n,)."""
    f: Floats = np.linalg.solve(graph.laplacian.toarray() + ALPHA * np.eye(y.size), ALPHA * y.astype(float))
    return f


def run(options: Options) -> None:
    """Write ``chain.csv``, ``chain_labels.csv``, ``chain.md`` and the figure."""
    weights, y, truth = make_noisy_chain(wrong=WRONG)
    graph = Graph(weights)
    records = Records(options.out / "chain.csv", {"alpha": ALPHA, "wrong": WRONG})
    found: dict[str, Floats] = {}
    for name, smooth in (("gtf", trend_filter), ("laplacian", quadratic_smoother)):
        started = time.perf_counter()
        found[name] = smooth(graph, y)
        row = {"method": name, "noise": 0.1, "run": 0, "unlabelled_accuracy": float("nan")}
        right = float(np.mean(np.sign(found[name]) == truth))
        records.add(row | {"labelled_accuracy": right, "seconds": time.perf_counter() - started})
    records.finish()
    with (options.out / "chain_labels.csv").open("w", newline="") as file:
        writer = csv.writer(file)
        writer.writerow(["vertex", "truth", "given", *found])
        for i in range(y.size):
            writer.writerow([i + 1, truth[i], y[i], *[f"{f[i]:.6f}" for f in found.values()]])
    lines = [[NAMES[k], f"{found[k][WRONG]:.4f}", f"{PAPER[k]:.4f}"] for k in found]
    (options.out / "chain.md").write_text(
        f"The wrong vertex at alpha = {ALPHA:g} (given +1, truth -1):\n\n"
        + markdown(["method", "here", "paper"], lines)
    )
    basis = smooth_basis(graph, y.size)
    vertices = np.arange(1, y.size + 1)

    def paint(figure: Any) -> None:
        top, bottom = figure.subfigures(2, 1, height_ratios=[1, 1.5])
        ax = top.subplots()
        ax.axhline(0, color="0.8", lw=0.8)
        ax.plot(vertices, y, "x", color="0.4", label="given")
        ax.plot(vertices, found["gtf"], "o-", color="#d62728", label=NAMES["gtf"], ms=4)
        ax.plot(vertices, found["laplacian"], "s--", color="#1f77b4", label=NAMES["laplacian"], ms=4)
        ax.annotate("wrong label", (WRONG + 1, 1), (WRONG + 1.4, 0.55), fontsize=8, arrowprops={"arrowstyle": "-"})
        ax.set(xticks=vertices, xlabel="vertex", ylabel="label")
        ax.legend(frameon=False, fontsize=8, loc="lower left")
        for k, ax in enumerate(bottom.subplots(2, 5, sharex=True, sharey=True).ravel()):
            ax.axhline(0, color="0.8", lw=0.8)
            ax.plot(vertices, basis.vectors[:, k], "o-", color="#2ca02c", ms=3, lw=1)
            ax.set_title(f"eigenvalue {basis.values[k]:.3f}", fontsize=8)
        bottom.suptitle("eigenvectors of the Laplacian", fontsize=9)

    draw(options.out / "chain", (8.4, 5.6), paint)
