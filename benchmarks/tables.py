"""The untouched default on real tables, through the door that `siis fit` uses: from a CSV file to answers.

Of each table a fifth of the rows has a label (ten a class on average at least, 600 in all at most, two of each class
that has two), and a quarter of the labels is wrong, uniformly at random. Beside it, on the same encoded columns, a
random forest, histogram gradient boosting and logistic regression of scaled columns, all as scikit-learn has them.
Every table is fitted in a process of its own with a limit in time, so that a crash is a result too. Writes
results/tables.csv (goes on where it stopped) and tables.md.
"""

import argparse
import json
import subprocess
import sys
import tempfile
import time
import traceback
import warnings
from pathlib import Path

import numpy as np

import siis
from protocol import RESULTS, Rows
from real_tables import HELD_OUT, INSTALL, TABLES, load, missing_packages
from siis.datasets import contaminate

COLUMNS = (
    "table",
    "seed",
    "version",
    "outcome",
    "rows",
    "columns",
    "classes",
    "labels",
    "accuracy",
    "balanced",
    "majority",
    "forest",
    "forest_balanced",
    "boosting",
    "boosting_balanced",
    "logistic",
    "logistic_balanced",
    "noise_rate",
    "noise_low",
    "noise_high",
    "unreached",
    "warnings",
    "seconds",
)
N_KEYS = 3
ANSWERED = "answered"
SHARE, PER_CLASS, MOST_LABELS = 0.2, 10, 600
NOISE = 0.25
LIMIT = 600  # seconds
LABEL = "given label"


def draw_labels(codes, seed):
    """Rows that get a label: two of each class where it has them, the others at random.

    Parameters
    ----------
    codes : ndarray of shape (n,)
        True classes, 0 to c - 1.
    seed : int

    Returns
    -------
    ndarray of shape (l,)
    """
    n, c = codes.size, int(codes.max()) + 1
    wanted = min(MOST_LABELS, max(round(SHARE * n), PER_CLASS * c))
    order = np.random.default_rng(seed).permutation(n)
    first = np.concatenate([order[codes[order] == k][:2] for k in range(c)])
    others = order[~np.isin(order, first)]
    return np.sort(np.concatenate([first, others[: max(wanted - first.size, 0)]]))


def scores(predicted, truth, at):
    """Accuracy, and the mean of the classes' accuracies, on some rows."""
    right = predicted[at] == truth[at]
    return float(right.mean()), float(np.mean([right[truth[at] == name].mean() for name in np.unique(truth[at])]))


def other_methods(X, given, rows, seed):
    """Answers of a random forest, of boosting and of logistic regression on the labelled rows."""
    from scipy.sparse import issparse  # noqa: PLC0415
    from sklearn.ensemble import HistGradientBoostingClassifier, RandomForestClassifier  # noqa: PLC0415
    from sklearn.linear_model import LogisticRegression  # noqa: PLC0415
    from sklearn.pipeline import make_pipeline  # noqa: PLC0415
    from sklearn.preprocessing import StandardScaler  # noqa: PLC0415

    models = {
        "forest": RandomForestClassifier(random_state=seed),
        "boosting": HistGradientBoostingClassifier(random_state=seed),
        "logistic": make_pipeline(StandardScaler(), LogisticRegression(max_iter=1000)),
    }
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of convergence
        some = X.toarray() if issparse(X) else X  # boosting takes no sparse matrix
        return {name: model.fit(some[rows], given[rows]).predict(some) for name, model in models.items()}


def measure(name, seed):
    """Fit one table; everything of its row but the key.

    Parameters
    ----------
    name : str
    seed : int

    Returns
    -------
    dict
    """
    from siis import tables  # noqa: PLC0415
    from siis.app.merged_labels import merge_checked  # noqa: PLC0415
    from siis.app.options import FitOptions  # noqa: PLC0415
    from siis.app.run import fit_data  # noqa: PLC0415

    frame, truth = load(name)
    classes, codes = np.unique(truth, return_inverse=True)
    rows = draw_labels(codes, seed)
    given = np.full(truth.size, "", dtype=classes.dtype)
    given[rows] = classes[contaminate(codes[rows], NOISE, random_state=seed)]
    found = {"rows": truth.size, "columns": frame.shape[1], "classes": classes.size, "labels": rows.size}
    at = np.flatnonzero(given == "")
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / f"{name}.csv"
        frame.assign(**{LABEL: given}).to_csv(path, index=False)
        started = time.perf_counter()
        try:
            data = tables.read(path, tables.Roles(label=LABEL, text=TABLES[name].text or None))
            options = FitOptions(str(path), parameters={"random_state": seed})
            outcome = fit_data(data, merge_checked(data, {}), options)
        except Exception as error:
            traceback.print_exc()
            said = f"{type(error).__name__}: {error}".replace(f"{folder}/", "")
            return {**found, "outcome": " ".join(said.split()), "seconds": f"{time.perf_counter() - started:.1f}"}
        seconds = time.perf_counter() - started
    model = outcome.model
    found |= {
        "outcome": ANSWERED,
        "noise_rate": model.noise_rate_,
        "noise_low": model.noise_interval_[0],
        "noise_high": model.noise_interval_[1],
        "unreached": float(np.mean(~model.is_reached_)),
        "majority": float(np.unique(truth[at], return_counts=True)[1].max() / at.size),
    }
    answers = {"": model.transduction_, **other_methods(data.X, given, rows, seed)}
    for rival, predicted in answers.items():
        accuracy, balanced = scores(np.asarray(predicted).astype(str), truth, at)
        found |= {rival or "accuracy": accuracy, f"{rival}_balanced".lstrip("_"): balanced}
    found = {key: f"{value:.4f}" if isinstance(value, float) else value for key, value in found.items()}
    return {**found, "warnings": len(outcome.warnings), "seconds": f"{seconds:.1f}"}


def in_process(name, seed):
    """Measure in a process of its own: what it found, or how it ended."""
    command = [sys.executable, __file__, "--one", name, "--seed", str(seed)]
    try:
        done = subprocess.run(command, capture_output=True, text=True, timeout=LIMIT, check=False)
    except subprocess.TimeoutExpired:
        return {"outcome": f"no answer after {LIMIT} s", "seconds": LIMIT}
    if done.returncode:
        last = (done.stderr.strip().splitlines() or ["nothing was said"])[-1]
        return {"outcome": f"the process ended with {done.returncode}: {last}"}
    return json.loads(done.stdout.splitlines()[-1])


def table(rows, names):
    """Markdown: a line for each table, means over its seeds, then what can be said of all, then the failures."""
    chosen = [row for row in rows if row["table"] in names]
    seeds = sorted({row["seed"] for row in chosen}, key=int)
    lines = [
        "| table | rows x columns | classes | labels | answered | accuracy | balanced | largest class | forest "
        "| its balanced | boosting | its balanced | logistic | its balanced | wrong labels, estimate | seconds |",
        "|" + "---|" * 16,
    ]
    means = []
    for name in names:
        mine = [row for row in chosen if row["table"] == name]
        if not mine:
            continue
        good = [row for row in mine if row["outcome"] == ANSWERED]
        mean = {c: np.mean([float(row[c]) for row in good]) for c in COLUMNS[8:21]} if good else None
        size = next((row for row in mine if row["rows"]), mine[0])
        known = f"{int(size['rows']):,} x {size['columns']}" if size["rows"] else "?"
        line = f"| {name} | {known} | {size['classes']} | {size['labels']} | {len(good)} of {len(mine)} | "
        if mean is None:
            lines.append(line + "- | " * 10 + "- |")
            continue
        means.append(mean)
        line += " | ".join(f"{mean[c]:.3f}" for c in COLUMNS[8:17])
        line += f" | {mean['noise_rate']:.0%} ({mean['noise_low']:.0%} to {mean['noise_high']:.0%}) "
        lines.append(line + f"| {np.mean([float(row['seconds']) for row in good]):.1f} |")
    failed = [row for row in chosen if row["outcome"] != ANSWERED]
    warned = sum(row["outcome"] == ANSWERED and int(row["warnings"]) > 0 for row in chosen)
    lines += ["", f"{len(chosen) - len(failed)} of {len(chosen)} fits answered, {warned} of them with a warning."]
    if means:
        lines[-1] += f" Of the {len(means)} tables with an answer:"
        lines += [""]
        for c, balanced, word in (
            ("majority", None, "the largest class"),
            ("forest", "forest_balanced", "the random forest"),
            ("boosting", "boosting_balanced", "gradient boosting"),
            ("logistic", "logistic_balanced", "logistic regression"),
        ):
            ahead = sum(mean["accuracy"] >= mean[c] - 0.005 for mean in means)
            text = f"- accuracy not more than 0.005 behind {word}: {ahead}"
            if balanced:
                fair = sum(mean["balanced"] >= mean[balanced] - 0.005 for mean in means)
                text += f"; balanced accuracy: {fair}"
            lines.append(text)
        fits = [row for row in chosen if row["outcome"] == ANSWERED]
        held = sum(float(row["noise_low"]) <= NOISE <= float(row["noise_high"]) for row in fits)
        of_all = ", ".join(
            f"{word} {np.mean([mean[c] for mean in means]):.3f} ({np.mean([mean[b] for mean in means]):.3f})"
            for c, b, word in (
                ("accuracy", "balanced", "siis"),
                ("forest", "forest_balanced", "forest"),
                ("boosting", "boosting_balanced", "boosting"),
                ("logistic", "logistic_balanced", "logistic"),
            )
        )
        behind = np.array([max(mean["forest"], mean["boosting"]) - mean["accuracy"] for mean in means])
        lines += [
            f"- means of accuracy (balanced): {of_all}",
            f"- not more than 0.01 behind the better of forest and boosting: {np.sum(behind <= 0.01)}; more than "
            f"0.03 behind: {np.sum(behind > 0.03)}; furthest behind: {behind.max():.3f}",
            f"- the interval of the share of wrong labels holds {NOISE:.0%}: {held} of {len(fits)} fits",
        ]
    if failed:
        lines += ["", "Without an answer:", ""]
        lines += [f"- {row['table']}, seed {row['seed']}: {row['outcome']}" for row in failed]
    if missing := [name for name in names if all(row["table"] != name for row in chosen)]:
        lines += ["", f"Not measured yet: {', '.join(missing)}."]
    lines += ["", f"Seeds: {', '.join(seeds)}. Version {', '.join(sorted({row['version'] for row in chosen}))}."]
    return "\n".join(lines) + "\n"


def write_tables(rows):
    """Write tables.md, and tables_held_out.md where those were run."""
    mine = [row for row in rows if row["version"] == siis.__version__]
    for stem, names in (
        ("tables", [name for name in TABLES if name not in HELD_OUT]),
        ("tables_held_out", list(HELD_OUT)),
    ):
        if any(row["table"] in names for row in mine):
            (RESULTS / f"{stem}.md").write_text(table(mine, names))


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--only", nargs="+", metavar="NAME", choices=list(TABLES), help="some of the tables")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--held-out", action="store_true", help="the tables that are kept for the end, and only they")
    parser.add_argument("--again", action="store_true", help="measure again what is in the CSV file already")
    parser.add_argument("--one", metavar="NAME", help=argparse.SUPPRESS)  # in its own process: one row as JSON
    options = parser.parse_args()
    if options.one:
        print(json.dumps(measure(options.one, options.seed)))
        return
    names = [name for name in TABLES if (name in HELD_OUT) == options.held_out]
    if options.only:
        if hidden := sorted(set(options.only) - set(names)):
            which = (
                "not kept for the end: leave out --held-out" if options.held_out else "kept for the end: --held-out"
            )
            parser.error(f"{', '.join(hidden)}: {which}")
        names = options.only
    if missing := missing_packages(names):
        sys.exit(f"these tables need packages that are not there: {', '.join(missing)}. {INSTALL}")
    rows = Rows(RESULTS / "tables.csv", COLUMNS, N_KEYS)
    for name in names:
        key = name, options.seed, siis.__version__
        if rows.has(*key):
            if not options.again:
                continue
            rows.rows = [r for r in rows.rows if [r[c] for c in COLUMNS[:N_KEYS]] != [str(k) for k in key]]
        found = in_process(name, options.seed)
        rows.add(*key, *(found.get(c, "") for c in COLUMNS[N_KEYS:]))
        print(f"{name} seed {options.seed}: {found}", flush=True)
    write_tables(rows.rows)


if __name__ == "__main__":
    main()
