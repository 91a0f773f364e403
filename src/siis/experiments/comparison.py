"""The paper's comparison on real data: COIL, RCV1 and ISOLET, six methods, four noise levels."""

import time
from collections.abc import Callable
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import numpy as np
from sklearn.svm import SVC

from siis._types import Features, Floats, Ints
from siis.baselines.ablation import free_program
from siis.baselines.gfhf import harmonic
from siis.baselines.lssc import sparse_coding
from siis.baselines.spmr import ManifoldMachine, manifold_machine
from siis.datasets import Dataset, contaminate, draw_labelled, load_coil20, load_isolet, load_rcv1_4class
from siis.experiments import published
from siis.experiments.figures import STYLE, draw
from siis.experiments.run_records import Records, fingerprint, markdown, read_rows, summarize
from siis.experiments.settings import Options
from siis.graph import NeighborGraph, build_neighbor_graph
from siis.labels import VertexLabels, distributions, gather, one_hot
from siis.program import Program
from siis.program.basis import SmoothBasis, smooth_basis
from siis.program.solvers import solve_certified, solve_paper

METHODS = ("svm", "gfhf", "lssc", "gtf", "spmr", "siis", "siis-tuned")
GTF_TOL = 1e-2  # relative gap of GTF: its answers no longer change below


@dataclass(frozen=True)
class GraphSetting:
    """A graph, a basis on it, and the weights of SIIS."""

    n_neighbors: int
    bandwidth: float | str
    kind: str
    laplacian: str
    n_components: int
    alpha: float
    beta: float


@dataclass(frozen=True)
class Setting:
    """What is fixed in a comparison; ``paper``: graph and weights for all methods; ``tuned``: for SIIS alone."""

    name: str
    title: str
    per_class: int | None
    total: int | None
    labelled_seed: int
    paper: GraphSetting
    tuned: GraphSetting | None
    gtf_alpha: float = 100.0
    lssc_lam: float = 0.1
    gamma_k: float = 1.0
    gamma_i: float = 0.01
    n_centers: int = 1500

    def load(self, folder: Path | None) -> Dataset:
        """Load the data set."""
        return {"coil": load_coil20, "rcv1": load_rcv1_4class, "isolet": load_isolet}[self.name](folder)


SETTINGS = {
    "coil": Setting(
        "coil",
        "COIL-20",
        10,
        None,
        0,
        GraphSetting(10, 100.0, "union", "unnormalized", 30, 100.0, 10.0),
        GraphSetting(5, "median", "mutual", "normalized", 300, 1000.0, 10000.0),
    ),
    "rcv1": Setting(
        "rcv1",
        "RCV1",
        None,
        240,
        0,
        GraphSetting(10, 10.0, "union", "unnormalized", 30, 1000.0, 10.0),
        GraphSetting(30, "median", "union", "normalized", 40, 1000.0, 1.0),
    ),
    "isolet": Setting(
        "isolet",
        "ISOLET",
        40,
        None,
        26,
        GraphSetting(11, 100.0, "union", "unnormalized", 400, 100.0, 1.0),
        None,
    ),
}


@dataclass(frozen=True, eq=False)
class Prepared:
    """What all runs of a method share; computed once."""

    setting: Setting
    truth: Ints
    labelled: Ints
    X: Features | None = None
    placed: NeighborGraph | None = None
    basis: SmoothBasis | None = None
    machine: ManifoldMachine | None = None

    def given(self, codes: Ints) -> VertexLabels:
        """Place given classes on the graph."""
        assert self.placed is not None
        return gather(self.placed.vertex[self.labelled], one_hot(codes, self.n_classes), np.ones(codes.size))

    @property
    def n_classes(self) -> int:
        """Number of classes."""
        return int(self.truth.max()) + 1

    def classes(self, F: Floats) -> Ints:
        """Turn soft labels of vertices into classes of examples."""
        assert self.placed is not None
        winners: Ints = np.argmax(distributions(F, self.n_classes), axis=1)[self.placed.vertex]
        return winners


def _svm(shared: Prepared, codes: Ints) -> Ints:
    assert shared.X is not None
    model = SVC().fit(shared.X[shared.labelled], codes)
    return np.asarray(model.predict(shared.X), dtype=np.int64)


def _gfhf(shared: Prepared, codes: Ints) -> Ints:
    assert shared.placed is not None
    return shared.classes(harmonic(shared.placed.graph, shared.given(codes)))


def _lssc(shared: Prepared, codes: Ints) -> Ints:
    assert shared.placed is not None
    assert shared.basis is not None
    given = shared.given(codes)
    F = sparse_coding(shared.placed.graph, shared.basis, given, shared.setting.lssc_lam)
    return shared.classes(F)


def _gtf(shared: Prepared, codes: Ints) -> Ints:
    assert shared.placed is not None
    given = shared.given(codes)
    program = free_program(shared.placed.graph, given, shared.setting.gtf_alpha, 0.0, 1.0)
    solution = solve_certified(program, GTF_TOL, 3000)
    if solution.status != "certified":
        raise RuntimeError(f"GTF stopped at a relative gap of {solution.relative_gap:.1e}, above {GTF_TOL:g}")
    return shared.classes(solution.coefficients)


def _spmr(shared: Prepared, codes: Ints) -> Ints:
    assert shared.machine is not None
    return shared.classes(shared.machine.self_paced(shared.given(codes)))


def siis_program(shared: Prepared, codes: Ints, setting: GraphSetting) -> Program:
    """Build the program of SIIS for given classes."""
    assert shared.placed is not None
    assert shared.basis is not None
    given = shared.given(codes)
    Y = given.coded
    return Program(shared.placed.graph, shared.basis, given.rows, Y, setting.alpha * given.weights, setting.beta)


def _siis(shared: Prepared, codes: Ints) -> Ints:
    program = siis_program(shared, codes, shared.setting.paper)
    solution = solve_paper(program, check_every=1000)  # the paper's Algorithm 1
    return shared.classes(program.basis.synthesize(solution.coefficients))


def _siis_tuned(shared: Prepared, codes: Ints) -> Ints:
    assert shared.setting.tuned is not None
    program = siis_program(shared, codes, shared.setting.tuned)
    solution = solve_certified(program, 1e-3)
    return shared.classes(program.basis.synthesize(solution.coefficients))


ANSWERS: dict[str, Callable[[Prepared, Ints], Ints]] = {
    "svm": _svm,
    "gfhf": _gfhf,
    "lssc": _lssc,
    "gtf": _gtf,
    "spmr": _spmr,
    "siis": _siis,
    "siis-tuned": _siis_tuned,
}


def place(X: Features, setting: GraphSetting) -> NeighborGraph:
    """Build the graph of a setting."""
    return build_neighbor_graph(X, setting.n_neighbors, setting.bandwidth, "euclidean", setting.kind)


def prepare(data: Dataset, setting: Setting, methods: list[str]) -> dict[str, Prepared]:
    """Compute what the runs of each method share: labelled set, graph, bases, kernel."""
    labelled = draw_labelled(data.y, setting.per_class, setting.total, setting.labelled_seed)
    shared: dict[str, Prepared] = {}
    placed = place(data.X, setting.paper) if set(methods) - {"svm", "siis-tuned"} else None
    for method in methods:
        parts: dict[str, Any] = {}
        if method == "svm":
            parts = {"X": data.X}
        elif method == "siis-tuned":
            assert setting.tuned is not None
            other = place(data.X, setting.tuned)
            m = max(setting.tuned.n_components, other.graph.n_components)
            parts = {"placed": other, "basis": smooth_basis(other.graph, m, setting.tuned.laplacian)}
        else:
            assert placed is not None
            parts = {"placed": placed}
            if method in ("siis", "lssc"):
                laplacian = setting.paper.laplacian if method == "siis" else "normalized"
                parts["basis"] = smooth_basis(placed.graph, setting.paper.n_components, laplacian)
            elif method == "spmr":
                rows = placed.vertex[labelled]
                parts["machine"] = manifold_machine(
                    placed.graph, placed.points, rows, setting.gamma_k, setting.gamma_i, setting.n_centers, 0
                )
        shared[method] = Prepared(setting, data.y, labelled, **parts)
    return shared


def measure(shared: Prepared, method: str, noise: float, run: int) -> dict[str, Any]:
    """One contamination: accuracy on the labelled and on the unlabelled examples."""
    codes = contaminate(shared.truth[shared.labelled], noise, run)
    started = time.perf_counter()
    answer = ANSWERS[method](shared, codes)
    seconds = time.perf_counter() - started
    right = answer == shared.truth
    unlabelled = np.ones(right.size, dtype=bool)
    unlabelled[shared.labelled] = False
    return {
        "method": method,
        "noise": noise,
        "run": run,
        "labelled_accuracy": float(right[shared.labelled].mean()),
        "unlabelled_accuracy": float(right[unlabelled].mean()),
        "seconds": seconds,
    }


def run(name: str, options: Options) -> None:
    """Compare the methods on one data set: ``NAME.csv``, ``NAME.md``, ``NAME.svg``, ``NAME.png``."""
    setting = SETTINGS[name]
    methods = options.chosen(m for m in METHODS if m != "siis-tuned" or setting.tuned is not None)
    data = setting.load(options.data)
    records = Records(options.out / f"{name}.csv", {**asdict(setting), "data": fingerprint(data.X, data.y)})
    # without noise all contaminations are the same: one run, written for each
    calls = [(m, noise, r) for m in methods for noise in options.noise for r in range(options.runs)]
    todo = [key for key in records.missing(calls) if key[1] > 0 or key[2] == 0]
    if todo:
        shared = prepare(data, setting, sorted({m for m, _, _ in todo}))
        work = [(shared[m], m, noise, r) for m, noise, r in todo]
        for row in options.each(measure, work, setting.title):
            records.add(row)
    for m, noise, r in records.missing(calls):
        if noise == 0:
            records.add(records.rows[m, 0.0, 0] | {"run": r})
    records.finish()
    report(name, options.out)


def report(name: str, out: Path) -> None:
    """Write table and figure from the CSV file."""
    rows = read_rows(out / f"{name}.csv")
    levels = sorted({row["noise"] for row in rows})
    methods = [m for m in METHODS if any(row["method"] == m for row in rows)]
    counts = sorted(
        {sum(r["method"] == m and r["noise"] == v for r in rows) for m in methods for v in levels if v} - {0}
    )
    text = (
        f"Contaminations at each noise level: {' to '.join(str(n) for n in sorted({counts[0], counts[-1]}))}.\n\n"
        if counts
        else ""
    )
    for labelled in (True, False):
        field = "labelled_accuracy" if labelled else "unlabelled_accuracy"
        lines = [[STYLE[m][0], *[_cell(name, rows, m, level, field) for level in levels]] for m in methods]
        title = "Labelled examples" if labelled else "Unlabelled examples"
        text += f"**{title}**\n\n" + markdown(["method", *[f"{level:.0%} noise" for level in levels]], lines) + "\n"
    (out / f"{name}.md").write_text(text)

    def paint(_: Any, figure: Any) -> None:
        axes = figure.subplots(1, 2, sharey=True)
        for ax, field in zip(axes, ("labelled_accuracy", "unlabelled_accuracy"), strict=True):
            for m in methods:
                label, colour, marker = STYLE[m]
                points = [(level, summarize(rows, m, level, field)) for level in levels]
                xs = [100 * level for level, value in points if value]
                means = [value[0] for _, value in points if value]
                spread = [value[1] for _, value in points if value]
                ax.errorbar(xs, means, spread, label=label, color=colour, marker=marker, capsize=2, lw=1.3, ms=5)
            ax.set_title("labelled examples" if field.startswith("labelled") else "unlabelled examples", fontsize=10)
            ax.set_xlabel("wrong labels (%)")
            ax.grid(alpha=0.3)
        axes[0].set_ylabel("accuracy")
        handles, labels = axes[1].get_legend_handles_labels()
        figure.legend(handles, labels, loc="outside lower center", ncols=len(labels), fontsize=8, frameon=False)

    draw(out / name, (8.4, 4.0), paint)


def _cell(name: str, rows: list[dict[str, Any]], method: str, noise: float, field: str) -> str:
    found = summarize(rows, method, noise, field)
    if found is None:
        return ""
    paper = published.isolet(method, noise, field == "labelled_accuracy") if name == "isolet" else None
    spread = f" ± {found[1]:.3f}" if noise > 0 and found[1] >= 5e-4 else ""
    return f"{found[0]:.3f}{spread}" + (f" (paper {paper:.3f})" if paper is not None else "")
