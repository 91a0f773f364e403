"""The default without each of its parts, on small cells of every kind; writes results/ablation.csv and ablation.md.

A cell is a data set, a share of wrong labels and a draw of at most 2,000 examples and their labels. Rows of the
table: the default, the default without one part, and (--other FILE) another implementation, a module with
predict(X, y) -> result with P, quality and interval(). Resumed where it stopped. The table is of the code (the last
commit that changed src) that was measured last.
"""

import argparse
import contextlib
import csv
import functools
import importlib.util
import inspect
import subprocess
import time
import warnings
from pathlib import Path

import numpy as np

from cells import cells
from protocol import RESULTS, mean_and_error
from siis import SIISClassifier
from siis.estimators import default_fit
from siis.model import average, build, forest, kernels, link, members, ridge, score_set, sizes
from trust import calibration_error

KINDS = ("balanced", "skewed", "text", "tables", "people's")
NOISES = (0.0, 0.4)
TABLE_NAMES = (
    "iris", "glass", "cells", "titanic_ages", "credit_status", "loan_grades", "contraceptives", "attrition",
    "hotel_segments", "splice",
)  # fmt: skip
COLUMNS = (
    "code", "row", "kind", "data", "noise", "draw", "accuracy", "balanced", "calibration", "log_loss", "precision",
    "holds", "flips", "seconds",
)  # fmt: skip
KEYS = COLUMNS[:6]
ANY = "-"  # code of what is not ours
BINS, SMALLEST = 15, 1e-6  # of confidence; of a probability whose logarithm is taken


def ablation_cells(draws):
    """The cells of the table: of real tables only some."""
    for cell in cells(KINDS, NOISES, draws):
        if cell[0] != "tables" or cell[1] in TABLE_NAMES:
            yield cell


@contextlib.contextmanager
def changed(**values):
    """Give module constants other values: module__NAME=value."""
    modules = {m.__name__.rsplit(".", 1)[-1]: m for m in (default_fit, average, build, link)}
    places = [(modules[key.split("__")[0]], key.split("__")[1], value) for key, value in values.items()]
    before = [getattr(module, name) for module, name, _ in places]
    try:
        for module, name, value in places:
            setattr(module, name, value)
        yield
    finally:
        for (module, name, _), value in zip(places, before, strict=True):
            setattr(module, name, value)


ROWS = {  # name: settings of the estimator, constants that are changed, and the code that the part needs
    "default": ({}, {}, ()),
    "without forests": ({"members": ("graph", "kernel", "graph and kernel")}, {}, (forest,)),
    "without sums of kernels": ({"members": ("graph", "kernel", "forest")}, {}, (kernels.Kernel.plus,)),
    "without kernels of features": (
        {"members": ("graph", "forest")},
        {},
        (kernels.feature_kernels, kernels.gaussian_columns, kernels.linear_columns, kernels.Kernel.plus),
    ),
    "without graphs": (
        {"members": ("kernel", "forest")},
        {},
        (kernels.graph_kernels, kernels.graph_columns, kernels.Kernel.plus),
    ),
    "the best member of each family": (
        {},
        {"average__near_best": functools.partial(members.near_best, most=1)},
        (members.near_best,),
    ),
    "all members": (
        {},
        {"average__near_best": functools.partial(members.near_best, most=10**6, width=1e9)},
        (members.near_best,),
    ),
    "one pass": ({}, {"average__PASSES": 1}, (link.label_posterior, ridge.Ridge.without, ridge.Ridge.held_out)),
    "without agreement of halves": ({}, {"link__AGREEMENT_SD": 1e6}, (average.agreement, link.ExpectedAccuracy)),
    "one scale of scores": ({}, {"build__EVEN": 0.0}, (build.scales_of,)),
    "without the program": (
        {},
        {"default_fit__program_weight": lambda _: 0.0},
        (score_set.ScoreSet.with_program, sizes),
    ),
}


def lines_of(parts):
    """Lines of source that parts of the code have."""
    return sum(len(inspect.getsource(part).splitlines()) for part in parts)


def code_version():
    """The commit that src was last changed in."""
    here = Path(__file__).parent.parent
    return subprocess.check_output(["git", "log", "-1", "--format=%h", "--", "src"], cwd=here, text=True).strip()


def fitted(X, given, row, other, seed=0):
    """Probabilities of all classes, quality of every label, interval of the noise rate, answers."""
    c = int(given.max()) + 1
    if row == "other":
        result = other(X, given)
        quality = np.full(given.size, np.nan)
        quality[given >= 0] = result.quality
        return result.P, quality, result.interval()
    settings, constants, _ = ROWS[row]
    with changed(**constants), warnings.catch_warnings():
        warnings.simplefilter("ignore")  # weak agreement, weak classes
        model = SIISClassifier(random_state=seed, **settings).fit(X, given)
    P = np.zeros((given.size, max(c, int(model.classes_.max()) + 1)))
    P[:, model.classes_] = model.label_distributions_
    P[np.arange(given.size), model.transduction_] += 1e-9
    return P, model.label_quality_, model.noise_interval_


def measure(cell, row, other, with_flips):
    """Everything of a row of the file but its keys."""
    from sklearn.metrics import average_precision_score  # noqa: PLC0415

    X, truth, given = cell
    started = time.perf_counter()
    P, quality, (low, high) = fitted(X, given, row, other)
    seconds = time.perf_counter() - started
    labelled, judged = given >= 0, given < 0
    judged = judged if judged.any() else labelled
    predicted, confidence = P.argmax(axis=1), P.max(axis=1)[judged]
    right, wrong = (predicted == truth)[judged], given[labelled] != truth[labelled]
    held = P[judged, np.minimum(truth[judged], P.shape[1] - 1)]
    found = {
        "accuracy": right.mean(),
        "balanced": np.mean([right[truth[judged] == k].mean() for k in np.unique(truth[judged])]),
        "calibration": calibration_error(confidence, right, BINS),
        "log_loss": -np.log(np.clip(held, SMALLEST, 1)).mean(),
        "precision": average_precision_score(wrong, -np.nan_to_num(quality[labelled], nan=0.5))
        if wrong.any() and not wrong.all()
        else np.nan,
        "holds": float(low <= wrong.mean() <= high),
        "flips": np.nan,
        "seconds": seconds,
    }
    if with_flips and row != "other":
        again, _, _ = fitted(X, given, row, other, seed=1)
        found["flips"] = np.mean(again.argmax(axis=1) != predicted)
    return {name: f"{value:.5f}" for name, value in found.items()}


def read(path):
    """Rows of a file."""
    if not path.exists():
        return []
    with path.open(newline="") as file:
        return list(csv.DictReader(file))


def summary(rows):
    """Markdown: a line for each row of the table; differences are paired with the default on the same cells."""
    kinds = list(dict.fromkeys(row["kind"] for row in rows))
    by = {(r["row"], r["kind"], r["data"], r["noise"], r["draw"]): r for r in rows}
    head = ["", *(f"accuracy, {kind}" for kind in kinds), "calibration error", "log loss"]
    head += ["precision of wrong labels", "interval holds", "flips", "seconds", "lines"]
    lines = ["| " + " | ".join(head) + " |", "|" + "---|" * len(head)]
    for name in dict.fromkeys(row["row"] for row in rows):
        mine = [key for key in by if key[0] == name and ("default", *key[1:]) in by]
        cells_of = []
        for kind in kinds:
            of_kind = [key for key in mine if key[1] == kind]
            cells_of.append(difference(by, of_kind, "accuracy", name == "default"))
        cells_of += [
            difference(by, mine, column, name == "default") for column in ("calibration", "log_loss", "precision")
        ]
        holds = np.mean([float(by[key]["holds"]) for key in mine])
        flips = [float(by[key]["flips"]) for key in mine if by[key]["flips"] != "nan"]
        seconds = np.mean([float(by[key]["seconds"]) for key in mine])
        cells_of += [f"{holds:.0%}", f"{np.mean(flips):.1%}" if flips else "", f"{seconds:.1f}"]
        cells_of.append(str(lines_of(ROWS[name][2])) if name in ROWS and ROWS[name][2] else "")
        lines.append("| " + " | ".join([name, *cells_of]) + " |")
    return "\n".join(lines) + "\n"


def difference(by, keys, column, is_default):
    """The default's mean, or the mean difference from it with its standard error."""
    values = np.array([float(by[key][column]) for key in keys])
    if is_default:
        return f"{np.nanmean(values):.3f}" if values.size else ""
    base = np.array([float(by["default", *key[1:]][column]) for key in keys])
    apart = (values - base)[~np.isnan(values - base)]
    if not apart.size:
        return ""
    mean, error = mean_and_error(apart)
    return f"{mean:+.3f} ± {error:.3f}"


def main():
    """Measure what is missing, write the table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--draws", type=int, default=3)
    parser.add_argument("--rows", nargs="+", choices=list(ROWS), default=list(ROWS))
    parser.add_argument("--kinds", nargs="+")
    parser.add_argument("--other", type=Path, help="a module with predict(X, y)")
    parser.add_argument("--part", type=int, nargs=2, default=(0, 1), metavar=("I", "N"), help="cells I, I + N, ...")
    parser.add_argument("--table", action="store_true", help="write the table alone")
    args = parser.parse_args()
    code, path, other = code_version(), RESULTS / "ablation.csv", None
    if args.other:
        spec = importlib.util.spec_from_file_location(args.other.stem, args.other)
        module = importlib.util.module_from_spec(spec)
        spec.loader.exec_module(module)
        other = module.predict
    done = {tuple(row[key] for key in KEYS) for row in read(path)}
    for number, (kind, name, noise, draw, make) in enumerate(() if args.table else ablation_cells(args.draws)):
        if number % args.part[1] != args.part[0] or (args.kinds and kind not in args.kinds):
            continue
        cell = None
        for row in [*args.rows, *(["other"] if other else [])]:
            key = (ANY if row == "other" else code, row, kind, name, str(noise), str(draw))
            if key in done:
                continue
            cell = make(name, noise, draw) if cell is None else cell
            found = measure(cell, row, other, with_flips=draw == 0)
            is_new = not path.exists()
            with path.open("a", newline="") as file:
                writer = csv.DictWriter(file, COLUMNS)
                if is_new:
                    writer.writeheader()
                writer.writerow(dict(zip(KEYS, key, strict=True)) | found)
            print(*key[1:], found["accuracy"], found["calibration"], found["seconds"], flush=True)
    every = read(path)
    if measured := [row["code"] for row in every if row["code"] != ANY]:
        shown = [row for row in every if row["code"] in (measured[-1], ANY)]
        n_cells = sum(row["row"] == "default" for row in shown)
        n_draws = len({row["draw"] for row in shown})
        note = f"{n_cells} cells of {n_draws} draw(s); siis at commit {measured[-1]}."
        (RESULTS / "ablation.md").write_text(f"{summary(shown)}\n{note}\n")


if __name__ == "__main__":
    main()
