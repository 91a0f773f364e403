"""The paper's comparison on real data: COIL, RCV1 and ISOLET, six methods, four noise levels."""

import time
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass
from functools import partial
from pathlib import Path
from typing import Any, TypeAlias

import numpy as np
from sklearn.svm import SVC

from siis._types import Features, Floats, Ints
from siis.baselines.ablation import free_program, harmonic
from siis.baselines.lssc import sparse_coding
from siis.baselines.spmr import manifold_machine
from siis.datasets import Dataset, contaminate, draw_labelled, load_coil20, load_isolet, load_rcv1_4class
from siis.graph import Graph, NeighborGraph, build_neighbor_graph
from siis.labels import VertexLabels, distributions, gather, one_hot
from siis.program import Program
from siis.program.basis import SmoothBasis, smooth_basis
from siis.program.solvers import Solution, solve_certified, solve_paper
from siis.reproduction.options import STYLE, Options, draw
from siis.reproduction.records import Records, accuracies, fingerprint, markdown, read_rows, summarize

Scores: TypeAlias = Callable[[VertexLabels], Floats]  # given labels -> class scores of vertices
METHODS = ("svm", "gfhf", "lssc", "gtf", "spmr", "siis", "siis-tuned")
MEASURES = {"labelled_accuracy": "labelled examples", "unlabelled_accuracy": "unlabelled examples"}
GTF_TOL = 1e-2  # relative gap of GTF: its answers no longer change below
PAPER_NOISE = (0.0, 0.2, 0.4, 0.6)
PAPER = {  # its two tables of ISOLET: accuracy on labelled and on unlabelled examples at these levels
    "svm": ((0.943, 0.813, 0.687, 0.521), (0.851, 0.805, 0.729, 0.594)),
    "gfhf": ((1.000, 0.800, 0.600, 0.400), (0.865, 0.816, 0.797, 0.674)),
    "lssc": ((0.899, 0.877, 0.829, 0.718), (0.848, 0.828, 0.785, 0.677)),
    "gtf": ((0.958, 0.798, 0.633, 0.553), (0.701, 0.699, 0.598, 0.548)),
    "spmr": ((0.685, 0.638, 0.635, 0.548), (0.689, 0.638, 0.627, 0.539)),
    "siis": ((0.911, 0.905, 0.836, 0.774), (0.854, 0.849, 0.802, 0.749)),
}


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

    def draw(self, data: Dataset) -> Ints:
        """Draw the labelled examples, sorted."""
        return draw_labelled(data.y, self.per_class, self.total, self.labelled_seed)

    def load(self, folder: Path | None) -> Dataset:
        """Load the data set."""
        return {"coil": load_coil20, "rcv1": load_rcv1_4class, "isolet": load_isolet}[self.name](folder)


COIL_GRAPH = GraphSetting(10, 100.0, "union", "unnormalized", 30, 100.0, 10.0)
COIL_TUNED = GraphSetting(5, "median", "mutual", "normalized", 300, 1000.0, 10000.0)
RCV1_GRAPH = GraphSetting(10, 10.0, "union", "unnormalized", 30, 1000.0, 10.0)
RCV1_TUNED = GraphSetting(30, "median", "union", "normalized", 40, 1000.0, 1.0)
ISOLET_GRAPH = GraphSetting(11, 100.0, "union", "unnormalized", 400, 100.0, 1.0)
SETTINGS = {
    "coil": Setting("coil", "COIL-20", 10, None, 0, COIL_GRAPH, COIL_TUNED),
    "rcv1": Setting("rcv1", "RCV1", None, 240, 0, RCV1_GRAPH, RCV1_TUNED),
    "isolet": Setting("isolet", "ISOLET", 40, None, 26, ISOLET_GRAPH, None),
}


@dataclass(frozen=True, eq=False)
class LabelledGraph:
    """A data set on a graph, with the examples that are labelled; the same for all contaminations."""

    truth: Ints
    labelled: Ints
    setting: GraphSetting
    neighbors: NeighborGraph

    @property
    def n_classes(self) -> int:
        """Number of classes."""
        return int(self.truth.max()) + 1

    def basis(self) -> SmoothBasis:
        """Compute the basis of SIIS."""
        m = max(self.setting.n_components, self.neighbors.graph.n_components)
        return smooth_basis(self.neighbors.graph, m, self.setting.laplacian)

    def given(self, codes: Ints) -> VertexLabels:
        """Place given classes on the graph."""
        return gather(self.neighbors.vertex[self.labelled], one_hot(codes, self.n_classes), np.ones(codes.size))

    def predict(self, scores: Scores, codes: Ints) -> Ints:
        """Give the classes of all examples, by a method that turns given classes into class scores of vertices."""
        F = distributions(scores(self.given(codes)), self.n_classes)
        winners: Ints = np.argmax(F, axis=1)[self.neighbors.vertex]
        return winners


def place(data: Dataset, setting: Setting, graph: GraphSetting) -> LabelledGraph:
    """Draw the labelled examples, and build the graph."""
    neighbors = build_neighbor_graph(data.X, graph.n_neighbors, graph.bandwidth, "euclidean", graph.kind)
    return LabelledGraph(data.y, setting.draw(data), graph, neighbors)


def siis_program(graph: Graph, basis: SmoothBasis, setting: GraphSetting, given: VertexLabels) -> Program:
    """Build the program of SIIS."""
    return Program(graph, basis, given.rows, given.coded, setting.alpha * given.weights, setting.beta)


def siis_scores(
    graph: Graph, basis: SmoothBasis, setting: GraphSetting, solve: Callable[[Program], Solution], given: VertexLabels
) -> Floats:
    """Solve the program of SIIS: (n_vertices, 1) or (n_vertices, c)."""
    program = siis_program(graph, basis, setting, given)
    F: Floats = basis.synthesize(solve(program).coefficients)
    return F


def gtf_scores(graph: Graph, alpha: float, given: VertexLabels) -> Floats:
    """Solve the program of GTF, or fail: (n_vertices, 1) or (n_vertices, c)."""
    solution = solve_certified(free_program(graph, given, alpha, 0.0, 1.0), GTF_TOL, 3000)
    if solution.status != "certified":
        raise RuntimeError(f"GTF stopped at a relative gap of {solution.relative_gap:.1e}, above {GTF_TOL:g}")
    return solution.coefficients


def svm_classes(X: Features, labelled: Ints, codes: Ints) -> Ints:
    """Give the classes of all examples by a support vector machine."""
    return np.asarray(SVC().fit(X[labelled], codes).predict(X), dtype=np.int64)


def scores_of(method: str, at: LabelledGraph, setting: Setting) -> Scores:
    """Compute the basis or kernel that all contaminations share; returns the method as a function of given labels."""
    graph = at.neighbors.graph
    if method == "gfhf":
        return partial(harmonic, graph)
    if method == "lssc":
        basis = smooth_basis(graph, setting.paper.n_components, "normalized")
        return partial(sparse_coding, graph, basis, lam=setting.lssc_lam)
    if method == "gtf":
        return partial(gtf_scores, graph, setting.gtf_alpha)
    if method == "spmr":
        rows, sizes = at.neighbors.vertex[at.labelled], (setting.gamma_k, setting.gamma_i, setting.n_centers, 0)
        return manifold_machine(graph, at.neighbors.points, rows, *sizes).self_paced
    if method == "siis":  # the paper's Algorithm 1
        return partial(siis_scores, graph, at.basis(), at.setting, partial(solve_paper, check_every=1000))
    return partial(siis_scores, graph, at.basis(), at.setting, partial(solve_certified, tol=1e-3))


@dataclass(frozen=True, eq=False)
class Prepared:
    """A method on a data set, ready for any contamination of the given labels."""

    truth: Ints
    labelled: Ints
    predict: Callable[[Ints], Ints]  # classes of all examples from given classes


def prepare(data: Dataset, setting: Setting, methods: Sequence[str]) -> dict[str, Prepared]:
    """Compute what the runs of each method share."""
    labelled = setting.draw(data)
    placed: dict[GraphSetting, LabelledGraph] = {}
    found: dict[str, Callable[[Ints], Ints]] = {}
    for method in methods:
        graph = setting.tuned if method == "siis-tuned" and setting.tuned else setting.paper
        if method == "svm":
            found[method] = partial(svm_classes, data.X, labelled)
            continue
        if graph not in placed:
            placed[graph] = place(data, setting, graph)
        found[method] = partial(placed[graph].predict, scores_of(method, placed[graph], setting))
    return {method: Prepared(data.y, labelled, predict) for method, predict in found.items()}


def measure(shared: Prepared, method: str, noise: float, run: int) -> dict[str, Any]:
    """One contamination: accuracy on the labelled and on the unlabelled examples."""
    codes = contaminate(shared.truth[shared.labelled], noise, run)
    started = time.perf_counter()
    predicted = shared.predict(codes)
    seconds = time.perf_counter() - started
    found = accuracies(predicted == shared.truth, shared.labelled)
    return {"method": method, "noise": noise, "run": run, **found, "seconds": seconds}


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
        for row in options.each(measure, [(shared[m], m, noise, r) for m, noise, r in todo], setting.title):
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
    counts = {sum(r["method"] == m and r["noise"] == v for r in rows) for m in methods for v in levels if v} - {0}
    text = ""
    if counts:
        ends = sorted({min(counts), max(counts)})
        text = f"Contaminations at each noise level: {' to '.join(map(str, ends))}.\n\n"
    for field, title in MEASURES.items():
        lines = [[STYLE[m][0], *[_cell(name, rows, m, level, field) for level in levels]] for m in methods]
        text += f"**{title.capitalize()}**\n\n"
        text += markdown(["method", *[f"{level:.0%} noise" for level in levels]], lines) + "\n"
    (out / f"{name}.md").write_text(text)

    def paint(figure: Any) -> None:
        axes = figure.subplots(1, 2, sharey=True)
        for ax, (field, title) in zip(axes, MEASURES.items(), strict=True):
            for m in methods:
                label, colour, marker = STYLE[m]
                points = [(100 * v, *found) for v in levels if (found := summarize(rows, m, v, field))]
                x, y, spread = zip(*points, strict=True)
                ax.errorbar(x, y, spread, label=label, color=colour, marker=marker, capsize=2, lw=1.3, ms=5)
            ax.set_title(title, fontsize=10)
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
    text = f"{found[0]:.3f}" + (f" ± {found[1]:.3f}" if noise > 0 and found[1] >= 5e-4 else "")
    if name == "isolet" and method in PAPER and noise in PAPER_NOISE:
        paper = PAPER[method][list(MEASURES).index(field)][PAPER_NOISE.index(noise)]
        text += f" (paper {paper:.3f})"
    return text
