"""The default of this tree and of another commit on the same cells; appends to results/paired.csv, writes paired.md.

python benchmarks/paired.py REV measures what is missing: cells of every kind (cells.py), each fitted by both trees.
--kinds "last" "last tables" are sets on which nothing is tuned. Differences are paired, this tree less the other.
"""

import argparse
import csv
import json
import os
import subprocess
import sys
import tempfile
from pathlib import Path

import numpy as np
import scipy.sparse as sp

from cells import cells
from protocol import RESULTS, mean_and_error
from trust import calibration_error

HERE = Path(__file__).resolve().parents[1]
KINDS = ("balanced", "skewed", "text", "tables", "people's")
FIGURES = ("accuracy", "balanced", "calibration", "log_loss", "precision", "labelled", "holds", "seconds")
COLUMNS = ("code", "kind", "data", "noise", "draw", *FIGURES)
BINS, SMALLEST = 15, 1e-6  # of confidence; of a probability whose logarithm is taken
FITS = """
import json, sys, time, warnings
import numpy as np, scipy.sparse as sp
from siis import SIISClassifier
warnings.simplefilter("ignore")
for line in sys.stdin:
    path = line.strip()
    data = np.load(path)
    parts = () if "X" in data else (data["data"], data["indices"], data["indptr"])
    X = sp.csr_array(parts, shape=tuple(data["shape"])) if parts else data["X"]
    start = time.perf_counter()
    model = SIISClassifier().fit(X, data["given"])
    seconds = time.perf_counter() - start
    P = np.zeros((X.shape[0], max(int(data["c"]), int(model.classes_.max()) + 1)))
    P[:, model.classes_] = model.label_distributions_
    P[np.arange(X.shape[0]), model.transduction_] += 1e-9
    np.savez(path + ".out.npz", P=P, quality=model.label_quality_, interval=model.noise_interval_)
    print(json.dumps(seconds), flush=True)
"""


def commit(revision, *paths):
    """Short name of the last commit that changed some paths."""
    command = ["git", "log", "-1", "--format=%h", revision, "--", *paths]
    return subprocess.check_output(command, cwd=HERE, text=True).strip()


def judge(found, truth, given, seconds):
    """The figures of one fit."""
    from sklearn.metrics import average_precision_score  # noqa: PLC0415

    P, quality, (low, high) = found["P"], found["quality"], found["interval"]
    labelled, free = given >= 0, given < 0
    free = free if free.any() else labelled
    predicted, sure = P.argmax(axis=1), P.max(axis=1)[free]
    right, wrong = (predicted == truth)[free], given[labelled] != truth[labelled]
    rank = -np.nan_to_num(quality[labelled], nan=0.5)
    return {
        "accuracy": right.mean(),
        "balanced": np.mean([right[truth[free] == k].mean() for k in np.unique(truth[free])]),
        "calibration": calibration_error(sure, right, BINS),
        "log_loss": -np.log(np.clip(P[free, truth[free]], SMALLEST, 1)).mean(),
        "precision": average_precision_score(wrong, rank) if wrong.any() and not wrong.all() else np.nan,
        "labelled": (predicted == truth)[labelled].mean(),
        "holds": float(low <= wrong.mean() <= high),
        "seconds": seconds,
    }


class Tree:
    """A process that fits the default of one tree to files."""

    def __init__(self, root):
        environment = {**os.environ, "PYTHONPATH": str(root / "src")}
        self.process = subprocess.Popen(
            [sys.executable, "-c", FITS], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, env=environment
        )

    def fit(self, path):
        """Figures of a fit to the file of a cell."""
        self.process.stdin.write(f"{path}\n")
        self.process.stdin.flush()
        if not (line := self.process.stdout.readline()):
            sys.exit(f"the fit to {path} failed")
        return np.load(f"{path}.out.npz"), json.loads(line)


def read(path):
    """Rows of a file."""
    if not path.exists():
        return []
    with path.open(newline="") as file:
        return list(csv.DictReader(file))


def table(rows, mine, other):
    """Markdown: for each kind and share of wrong labels the means of both and the paired differences."""
    by = {(r["code"], r["kind"], r["data"], r["noise"], r["draw"]): r for r in rows}
    keys = [key[1:] for key in by if key[0] == mine and (other, *key[1:]) in by]
    head = ["data", "wrong", "cells"]
    head += ["accuracy", "balanced accuracy", "calibration error", "log loss", "precision of wrong labels"]
    head += ["labelled examples right", "interval holds", "seconds, ratio"]
    lines = ["| " + " | ".join(head) + " |", "|" + "---|" * len(head)]
    groups = [
        (kind, noise)
        for kind in dict.fromkeys(k[0] for k in keys)
        for noise in (*sorted({k[2] for k in keys if k[0] == kind}), "")
    ]
    for kind, noise in groups:
        some = [key for key in keys if key[0] == kind and noise in ("", key[2])]
        if noise and len({key[2] for key in keys if key[0] == kind}) == 1:
            continue
        shown = []
        for name in FIGURES[:6]:
            a, b = (np.array([float(by[code, *key][name]) for key in some]) for code in (mine, other))
            known = ~np.isnan(a - b)
            if not known.any():
                shown.append("")
                continue
            mean, error = mean_and_error((a - b)[known])
            shown.append(f"{a[known].mean():.3f} ({mean:+.3f} ± {error:.3f})")
        holds = [np.mean([float(by[code, *key]["holds"]) for key in some]) for code in (mine, other)]
        ratio = np.median([float(by[mine, *key]["seconds"]) / float(by[other, *key]["seconds"]) for key in some])
        wrong = f"{float(noise):.0%}" if noise and float(noise) >= 0 else "all"
        lines.append(
            "| "
            + " | ".join([kind, wrong, str(len(some)), *shown, f"{holds[0]:.0%} ({holds[1]:.0%})", f"{ratio:.2f}"])
            + " |"
        )
    draws = len({key[3] for key in keys})
    note = f"{len(keys)} cells of {draws} draw(s); siis at commit {mine}. In brackets {other}, or the difference."
    return "\n".join(lines) + f"\n\n{note}\n"


def main():
    """Measure what is missing, write the table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("revision", help="the commit to compare with")
    parser.add_argument("--kinds", nargs="+", default=KINDS)
    parser.add_argument("--noises", nargs="+", type=float, default=(0.0, 0.2, 0.4, 0.6))
    parser.add_argument("--draws", type=int, default=3)
    parser.add_argument("--name", help="instead of the last commit of src: for changes that are not committed")
    parser.add_argument("--only", choices=("this", "other"), help="fit one of the trees alone")
    parser.add_argument("--part", type=int, nargs=2, default=(0, 1), metavar=("I", "N"), help="cells I, I + N, ...")
    options = parser.parse_args()
    path = RESULTS / "paired.csv"
    codes = (options.name or commit("HEAD", "src"), commit(options.revision))
    done = {tuple(row[key] for key in COLUMNS[:5]) for row in read(path)}
    with tempfile.TemporaryDirectory() as folder:
        other = Path(folder) / "other"
        subprocess.run(
            ["git", "worktree", "add", "--detach", "--quiet", str(other), options.revision], check=True, cwd=HERE
        )
        try:
            trees = dict(zip(codes, (Tree(HERE), Tree(other)), strict=True))
            every = list(cells(options.kinds, options.noises, options.draws))
            for kind, name, noise, draw, make in every[options.part[0] :: options.part[1]]:
                todo = [code for code in codes if (code, kind, name, str(noise), str(draw)) not in done]
                todo = [code for code in todo if options.only in (None, "this" if code == codes[0] else "other")]
                if not todo:
                    continue
                X, truth, given = make(name, noise, draw)
                file = Path(folder) / "cell.npz"
                parts = {"X": X}
                if sp.issparse(X):
                    parts = {"data": X.data, "indices": X.indices, "indptr": X.indptr, "shape": X.shape}
                np.savez(file, given=given, c=int(truth.max()) + 1, **parts)
                for code in todo:
                    found, seconds = trees[code].fit(file)
                    figures = judge(found, truth, given, seconds)
                    row = dict(zip(COLUMNS[:5], (code, kind, name, noise, draw), strict=True))
                    row |= {key: f"{value:.5f}" for key, value in figures.items()}
                    is_new = not path.exists()
                    with path.open("a", newline="") as opened:
                        writer = csv.DictWriter(opened, COLUMNS)
                        if is_new:
                            writer.writeheader()
                        writer.writerow(row)
                    print(*row.values(), flush=True)
        finally:
            subprocess.run(["git", "worktree", "remove", "--force", str(other)], check=True, cwd=HERE)
    (RESULTS / "paired.md").write_text(table(read(path), *codes))


if __name__ == "__main__":
    main()
