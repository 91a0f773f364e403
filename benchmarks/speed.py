"""Time and memory, stage by stage, beside what people would use instead: in one run, each case in its own process.

Generated data of 1,000 to 1,000,000 examples in 64 dimensions (ten classes of three sheets each, which overlap), 1 %
labelled (at least 100), 30 % of the labels wrong; and ISOLET and COIL-20 where SIIS_DATA holds them. Writes
results/speed.csv (a row for each measurement; goes on where it stopped), speed.md with ratios, their spread and
fitted exponents, and speed.png.
"""

import argparse
import json
import resource
import subprocess
import sys
import time
import warnings
from itertools import pairwise
from pathlib import Path

import numpy as np

from protocol import RESULTS, Rows, load
from transcription import transcription

SIZES = (1_000, 3_000, 10_000, 50_000, 100_000, 300_000, 1_000_000)
LARGEST = {"transcription": 10_000, "LabelSpreading": 50_000, "graphlearning": 50_000}
COLUMNS = ("case", "n", "method", "repeat", "neighbours", "basis", "solve", "total", "peak_gb", "accuracy", "gap")
REAL = {"isolet": (10, 300, 100.0, 1.0), "coil20": (10, 30, 100.0, 10.0)}  # K, m, alpha, beta


def generate(n, d=64, n_classes=10, sheets=3, latent=4, spread=0.3, reach=0.4, noise=0.4, seed=0):
    """Classes of several sheets each: a centre, a random frame of a few directions, and noise in all; float32."""
    rng = np.random.default_rng(seed)
    k = n_classes * sheets
    centers = spread * rng.standard_normal((k, d)).astype(np.float32)
    frames = reach * rng.standard_normal((k, latent, d)).astype(np.float32)
    sheet = rng.integers(0, k, n)
    X = np.empty((n, d), np.float32)
    for a in range(0, n, 50_000):
        s = sheet[a : a + 50_000]
        z = rng.uniform(-1, 1, (s.size, latent)).astype(np.float32)
        X[a : a + 50_000] = centers[s] + np.einsum("il,ild->id", z, frames[s])
        X[a : a + 50_000] += noise * rng.standard_normal((s.size, d), dtype=np.float32)
    return X, sheet // sheets


def task(case, n):
    """Examples, given labels (-1 where there is none), true classes, and K, m, alpha, beta."""
    if case == "generated":
        X, truth = generate(n)
        n_labelled, settings = max(n // 100, 100), (10, 30, 100.0, 10.0)
    else:
        X, truth = load(case)
        n_labelled, settings = int(0.13 * truth.size), REAL[case]
    rng = np.random.default_rng(1)
    rows = rng.choice(truth.size, n_labelled, replace=False)
    y = np.full(truth.size, -1)
    y[rows] = truth[rows]
    wrong = rng.choice(rows, int(0.3 * rows.size), replace=False)
    c = truth.max() + 1
    y[wrong] = (y[wrong] + rng.integers(1, c, wrong.size)) % c
    return X, y, truth, settings


def clock(function):
    started = time.perf_counter()
    result = function()
    return result, time.perf_counter() - started


def placed(X, y, K):
    from siis.graph import build_neighbor_graph  # noqa: PLC0415

    place, neighbours = clock(lambda: build_neighbor_graph(X, K, search="auto"))
    rows = np.flatnonzero(y >= 0)
    return place, neighbours, rows


def program_of(place, basis, rows, y, alpha, beta):
    from siis.labels import gather, one_hot  # noqa: PLC0415
    from siis.program import Program  # noqa: PLC0415

    given = gather(place.vertex[rows], one_hot(y[rows], y.max() + 1), np.ones(rows.size))
    reached = place.graph.reached_from(given.rows)
    if not reached.all():
        raise SystemExit("the graph has parts without a label; this benchmark has none")
    return Program(place.graph, basis, given.rows, given.coded, alpha * given.weights, beta)


def excess(program, A):
    """How far, relatively, the value of (M1) is above a lower bound that is as good as the optimum."""
    from siis.program.solvers import solve_certified  # noqa: PLC0415

    return program.value(A) / solve_certified(program, 1e-8, 50_000).dual.value - 1


def ours(X, y, settings, tol=1e-4):
    from siis.program.basis import smooth_basis  # noqa: PLC0415
    from siis.program.solvers import solve_certified  # noqa: PLC0415

    K, m, alpha, beta = settings
    place, neighbours, rows = placed(X, y, K)
    basis, t_basis = clock(lambda: smooth_basis(place.graph, m, dtype=X.dtype.type))
    program = program_of(place, basis, rows, y, alpha, beta)
    solution, t_solve = clock(lambda: solve_certified(program, tol))
    F = basis.synthesize(solution.coefficients)[place.vertex]
    return np.argmax(F, axis=1), neighbours, t_basis, t_solve, solution.relative_gap


def directly(X, y, settings):
    """Algorithm 1 with P U formed, its Gram matrix once, and shift-invert ARPACK; always 100 iterations."""
    from scipy.sparse.linalg import eigsh  # noqa: PLC0415

    from siis.program.basis import SmoothBasis  # noqa: PLC0415

    K, m, alpha, beta = settings
    place, neighbours, rows = placed(X, y, K)
    graph = place.graph
    (values, U), t_basis = clock(lambda: eigsh(graph.laplacian.tocsc(), m, sigma=-1e-6, which="LM"))
    kind = SmoothBasis(U, np.maximum(values, 0), "unnormalized", graph.n_components, np.zeros(m), "arpack", "none")
    program = program_of(place, kind, rows, y, alpha, beta)
    (A, L1, L2), t_solve = clock(lambda: transcription(program))
    gap = program.relative_gap(program.value(A), program.dual_point(-L1, -L2).value)
    return np.argmax(U @ A, axis=1)[place.vertex], neighbours, t_basis, t_solve, gap


def clarabel(X, y, settings):
    """The same program through CVXPY."""
    import cvxpy as cp  # noqa: PLC0415

    from siis.program.basis import smooth_basis  # noqa: PLC0415

    K, m, alpha, beta = settings
    place, neighbours, rows = placed(X, y, K)
    basis, t_basis = clock(lambda: smooth_basis(place.graph, m))
    program = program_of(place, basis, rows, y, alpha, beta)
    A = cp.Variable((m, program.Y.shape[1]))
    PU, JU = program.graph.incidence @ basis.vectors, basis.vectors[program.vertices]
    terms = cp.sum(cp.norm(PU @ A, 2, axis=1)) + program.alpha @ cp.norm(JU @ A - program.Y, 2, axis=1)
    energy = beta * cp.sum_squares(np.sqrt(basis.values)[:, None] * np.eye(m) @ A)
    problem = cp.Problem(cp.Minimize(terms + energy))
    _, t_solve = clock(lambda: problem.solve(solver="CLARABEL", tol_gap_rel=1e-6))
    found = np.argmax(basis.vectors @ A.value, axis=1)[place.vertex]
    return found, neighbours, t_basis, t_solve, excess(program, A.value)


def beside_clarabel(X, y, settings):
    """Ours to the same objective: at a certified gap of 3e-5 it is less than 1e-6 above the optimum."""
    from siis.program.basis import smooth_basis  # noqa: PLC0415
    from siis.program.solvers import solve_certified  # noqa: PLC0415

    K, m, alpha, beta = settings
    place, neighbours, rows = placed(X, y, K)
    basis, t_basis = clock(lambda: smooth_basis(place.graph, m))
    program = program_of(place, basis, rows, y, alpha, beta)
    solution, t_solve = clock(lambda: solve_certified(program, 3e-5))
    found = np.argmax(basis.synthesize(solution.coefficients), axis=1)[place.vertex]
    return found, neighbours, t_basis, t_solve, excess(program, solution.coefficients)


def label_spreading(X, y, settings):
    from sklearn.semi_supervised import LabelSpreading  # noqa: PLC0415

    model, total = clock(lambda: LabelSpreading(kernel="knn", n_neighbors=settings[0]).fit(X, y))
    return model.transduction_, np.nan, np.nan, total, np.nan


def graph_learning(X, y, settings):
    import graphlearning  # noqa: PLC0415
    from sklearn.neighbors import NearestNeighbors  # noqa: PLC0415  (its own search needs a package without wheels)

    rows, K = np.flatnonzero(y >= 0), settings[0]
    (distances, indices), neighbours = clock(lambda: NearestNeighbors(n_neighbors=K + 1).fit(X).kneighbors(X))
    W = graphlearning.weightmatrix.knn(None, K + 1, knn_data=(indices, distances))
    predicted, t_solve = clock(lambda: graphlearning.ssl.laplace(W).fit_predict(rows, y[rows]))
    return predicted, neighbours, np.nan, t_solve, np.nan


METHODS = {
    "siis": ours,
    "siis beside Clarabel": beside_clarabel,
    "transcription": directly,
    "Clarabel": clarabel,
    "LabelSpreading": label_spreading,
    "graphlearning": graph_learning,
}


def peak_memory():
    """Bytes; what the parent held before this program began does not count, as it would in ru_maxrss."""
    status = Path("/proc/self/status")
    if status.exists():
        line = next(line for line in status.read_text().splitlines() if line.startswith("VmHWM"))
        return 1024 * int(line.split()[1])
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * (1 if sys.platform == "darwin" else 1024)


def one(case, n, method):
    """Measure once, in this process; print JSON."""
    X, y, truth, settings = task(case, n)
    if method.startswith("siis"):  # compiled code is loaded, not measured
        small, labels, _, _ = task("generated", 1_000)
        ours(small.astype(X.dtype), labels, (10, 30, 100.0, 10.0))
    (predicted, neighbours, basis, solve, gap), total = clock(lambda: METHODS[method](X, y, settings))
    unlabelled = y < 0
    print(
        json.dumps(
            {
                "neighbours": neighbours,
                "basis": basis,
                "solve": solve,
                "total": total,
                "peak_gb": peak_memory() / 2**30,
                "accuracy": float(np.mean(predicted[unlabelled] == truth[unlabelled])),
                "gap": gap,
            }
        )
    )


def left_out(case, n, method, repeat):
    """What takes too long, or says nothing: Clarabel once on COIL-20, and ours to the same objective beside it."""
    if method in ("Clarabel", "siis beside Clarabel"):
        return case != "coil20" or (method == "Clarabel" and repeat > 0)
    if case != "generated":
        return method not in ("siis", "transcription")
    return n > LARGEST.get(method, n)


def measured(rows, case, n, method):
    return [r for r in rows.rows if (r["case"], r["n"], r["method"]) == (case, str(n), method)]


def spread(values):
    values = np.asarray(values)
    if np.isnan(values).all():
        return "-"
    return f"{np.median(values):.3g}" + (f" ({values.min():.3g} to {values.max():.3g})" if values.size > 1 else "")


def column(found, *names):
    return [sum(float(row[name]) for name in names) for row in found]


def exponent(points):
    """Slope of log time against log n."""
    n, t = np.log(np.array(points)).T
    return float(np.polyfit(n, t, 1)[0])


def table(rows):
    lines = ["| case | n | method | neighbours s | basis s | solve s | total s | peak GB | accuracy | gap |"]
    lines.append("|" + "---|" * 10)
    keys = sorted({(r["case"], int(r["n"]), r["method"]) for r in rows.rows})
    for case, n, method in keys:
        found = measured(rows, case, n, method)
        cells = [spread(column(found, name)) for name in COLUMNS[4:]]
        lines.append(f"| {case} | {n or 'all'} | {method} | " + " | ".join(cells) + " |")
    lines.append("")
    ratios = []
    for case, n, method in keys:
        if not method.startswith("siis") and (case, n, "siis") in keys:
            mine, theirs = measured(rows, case, n, "siis"), measured(rows, case, n, method)
            names = ("total",) if method in ("LabelSpreading", "graphlearning") else ("basis", "solve")
            if method == "Clarabel":
                names, mine = ("solve",), measured(rows, case, n, "siis beside Clarabel")
            pairs = [b / a for a in column(mine, *names) for b in column(theirs, *names)]
            of = f"{case}, n = {n}" if n else case
            ratios.append(f"- {of}: {method} takes {spread(pairs)} times our {' and '.join(names)}")
    lines += ["Ratios (median, and the range over all pairs of repeats):", "", *ratios, ""]
    sizes = sorted({n for case, n, method in keys if (case, method) == ("generated", "siis")})
    points = [(n, float(np.median(column(measured(rows, "generated", n, "siis"), "basis", "solve")))) for n in sizes]
    large = [p for p in points if p[0] >= 100_000]
    if len(large) > 1:
        lines.append(f"Exponent of basis plus solve from n = {large[0][0]} to {large[-1][0]}: {exponent(large):.2f}.")
        lines += [f"- from {a[0]} to {b[0]}: {exponent([a, b]):.2f}" for a, b in pairwise(large)]
    return "\n".join(lines) + "\n"


def figure(rows, path):
    import matplotlib  # noqa: PLC0415

    matplotlib.use("Agg")
    import matplotlib.pyplot as plt  # noqa: PLC0415

    fig, (left, right) = plt.subplots(1, 2, figsize=(11, 4.2))
    for k, method in enumerate(METHODS):
        sizes = sorted({int(r["n"]) for r in rows.rows if r["case"] == "generated" and r["method"] == method})
        if not sizes:
            continue
        found = {n: measured(rows, "generated", n, method) for n in sizes}
        total = [np.median(column(found[n], "total")) for n in sizes]
        slope = f", n^{exponent(list(zip(sizes, total, strict=True))):.2f}" if len(sizes) > 2 else ""
        left.loglog(sizes, total, "o-", color=f"C{k}", lw=2 if method == "siis" else 1, label=f"{method}{slope}")
        peaks = [np.median(column(found[n], "peak_gb")) for n in sizes]
        right.loglog(sizes, peaks, "o-", color=f"C{k}", label=method)
        if method == "siis" and len(sizes) > 2:
            for name, style in (("neighbours", ":"), ("basis", "--"), ("solve", "-.")):
                times = [np.median(column(found[n], name)) for n in sizes]
                label = f"siis, {name}, n^{exponent(list(zip(sizes, times, strict=True))):.2f}"
                left.loglog(sizes, times, style, color="C0", lw=1, label=label)
    left.set(xlabel="examples", ylabel="seconds", title="time")
    right.set(xlabel="examples", ylabel="GB", title="peak memory of the process")
    for ax in (left, right):
        ax.grid(alpha=0.3)
        ax.legend(fontsize=8, frameon=False)
    fig.tight_layout()
    fig.savefig(path, dpi=120)


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--sizes", nargs="+", type=int, default=list(SIZES))
    parser.add_argument("--methods", nargs="+", default=list(METHODS), choices=list(METHODS))
    parser.add_argument("--repeats", type=int, default=3, help="up to 50,000 examples; larger cases are run once")
    parser.add_argument("--no-real", action="store_true", help="leave ISOLET and COIL-20 out")
    parser.add_argument("--tables", action="store_true", help="only write table and figure from the CSV file")
    parser.add_argument("--one", nargs=3, metavar=("CASE", "N", "METHOD"), help="measure one case in this process")
    options = parser.parse_args()
    if options.one:
        warnings.simplefilter("ignore")
        one(options.one[0], int(options.one[1]), options.one[2])
        return
    rows = Rows(RESULTS / "speed.csv", COLUMNS, 4)
    cases = [("generated", n) for n in options.sizes]
    cases += [] if options.no_real else [(name, 0) for name in REAL if load(name) is not None]
    for case, n in () if options.tables else cases:
        for repeat in range(options.repeats if n <= 50_000 else 1):
            for method in options.methods:
                if left_out(case, n, method, repeat) or rows.has(case, n, method, repeat):
                    continue
                command = [sys.executable, str(Path(__file__)), "--one", case, str(n), method]
                done = subprocess.run(command, capture_output=True, text=True, check=False)
                if done.returncode:
                    print(f"{case} n = {n} {method}: failed\n{done.stderr[-2000:]}")
                    continue
                found = json.loads(done.stdout.splitlines()[-1])
                rows.add(case, n, method, repeat, *(f"{found[name]:.6g}" for name in COLUMNS[4:]))
                print(f"{case} n = {n} {method}: " + ", ".join(f"{k} {v:.3g}" for k, v in found.items()), flush=True)
    text = table(rows)
    (RESULTS / "speed.md").write_text(text)
    figure(rows, RESULTS / "speed.png")
    print(text)


if __name__ == "__main__":
    main()
