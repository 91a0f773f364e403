"""Fig. 1: a chain of ten vertices, one label wrong; trend filtering against the quadratic smoother."""

import csv
import time
from typing import Any

import numpy as np

from siis._types import Floats
from siis.datasets import NoisyChain, make_noisy_chain
from siis.experiments.figures import draw
from siis.experiments.published import CHAIN
from siis.experiments.run_records import Records, markdown
from siis.experiments.settings import Options
from siis.graph import Graph
from siis.program import Program
from siis.program.basis import identity_basis, smooth_basis
from siis.program.solvers import solve_certified

ALPHA = 1.0


def trend_filter(chain: NoisyChain, alpha: float) -> Floats:
    """Minimise ||P f||_1 + alpha ||f - y||_1: shape (n,)."""
    graph = Graph(chain.weights)
    n = graph.n_vertices
    program = Program(
        graph, identity_basis(graph), np.arange(n), chain.y[:, None].astype(float), np.full(n, alpha), 0.0
    )
    return solve_certified(program, 1e-8, 20_000).coefficients[:, 0]


def quadratic_smoother(chain: NoisyChain, alpha: float) -> Floats:
    """Minimise f'L f + alpha ||f - y||^2: shape (n,)."""
    L = Graph(chain.weights).laplacian.toarray()
    f: Floats = np.linalg.solve(L + alpha * np.eye(chain.y.size), alpha * chain.y.astype(float))
    return f


def run(options: Options) -> None:
    """Write ``chain.csv``, ``chain_labels.csv``, ``chain.md`` and the figure."""
    chain = make_noisy_chain()
    smoothers = {"gtf": trend_filter, "laplacian": quadratic_smoother}
    records = Records(options.out / "chain.csv", {"alpha": ALPHA, "wrong": chain.wrong})
    found: dict[str, Floats] = {}
    for name, smooth in smoothers.items():
        started = time.perf_counter()
        found[name] = smooth(chain, ALPHA)
        row = {"method": name, "noise": 0.1, "run": 0, "unlabelled_accuracy": float("nan")}
        right = float(np.mean(np.sign(found[name]) == chain.truth))
        records.add(row | {"labelled_accuracy": right, "seconds": time.perf_counter() - started})
    records.finish()
    with (options.out / "chain_labels.csv").open("w", newline="") as file:
        writer = csv.writer(file)
        writer.writerow(["vertex", "truth", "given", *found])
        for i in range(chain.y.size):
            writer.writerow([i + 1, chain.truth[i], chain.y[i], *[f"{f[i]:.6f}" for f in found.values()]])
    names = {"gtf": "GTF", "laplacian": "quadratic smoother"}
    lines = [[names[k], f"{found[k][chain.wrong]:.4f}", f"{CHAIN[k]:.4f}"] for k in found]
    (options.out / "chain.md").write_text(
        f"The wrong vertex at alpha = {ALPHA:g} (given +1, truth -1):\n\n"
        + markdown(["method", "here", "paper"], lines)
    )
    _figure(options, chain, found)


def _figure(options: Options, chain: NoisyChain, found: dict[str, Floats]) -> None:
    basis = smooth_basis(Graph(chain.weights), chain.y.size)
    vertices = np.arange(1, chain.y.size + 1)

    def paint(_: Any, figure: Any) -> None:
        top, bottom = figure.subfigures(2, 1, height_ratios=[1, 1.5])
        ax = top.subplots()
        ax.axhline(0, color="0.8", lw=0.8)
        ax.plot(vertices, chain.y, "x", color="0.4", label="given")
        ax.plot(vertices, found["gtf"], "o-", color="#d62728", label="GTF", ms=4)
        ax.plot(vertices, found["laplacian"], "s--", color="#1f77b4", label="quadratic smoother", ms=4)
        ax.annotate(
            "wrong label", (chain.wrong + 1, 1), (chain.wrong + 1.4, 0.55), fontsize=8, arrowprops={"arrowstyle": "-"}
        )
        ax.set(xticks=vertices, xlabel="vertex", ylabel="label")
        ax.legend(frameon=False, fontsize=8, loc="lower left")
        axes = bottom.subplots(2, 5, sharex=True, sharey=True)
        for k, ax in enumerate(axes.ravel()):
            ax.axhline(0, color="0.8", lw=0.8)
            ax.plot(vertices, basis.vectors[:, k], "o-", color="#2ca02c", ms=3, lw=1)
            ax.set_title(f"eigenvalue {basis.values[k]:.3f}", fontsize=8)
        bottom.suptitle("eigenvectors of the Laplacian", fontsize=9)

    draw(options.out / "chain", (8.4, 5.6), paint)
