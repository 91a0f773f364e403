"""What the accuracy benchmarks share: data, tasks, cached fits of the default, tables.

Data come from the folder that SIIS_DATA names (coil20.npz, isolet.npz, rcv1_4class.npz, usps.npz, optdigits.npz);
a missing file is said and left out. The labelled set is that of seed 0; run r contaminates it with seed r.
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


@dataclass(frozen=True, eq=False)
class Task:
    """Examples, true classes, and the given labels (-1 where unlabelled)."""

    data: str
    noise: float
    run: int
    X: object
    truth: np.ndarray
    given: np.ndarray

    @property
    def labelled(self):
        """Rows with a given label."""
        return np.flatnonzero(self.given >= 0)

    @property
    def unlabelled(self):
        """Rows without."""
        return np.flatnonzero(self.given < 0)

    def accuracy(self, predicted):
        """Share of the unlabelled rows that are right."""
        return float(np.mean(predicted[self.unlabelled] == self.truth[self.unlabelled]))


def load(name):
    """X and true classes, or None where the file is missing."""
    folder = os.environ.get("SIIS_DATA")
    stem = {"rcv1": "rcv1_4class"}.get(name, name)
    path = Path(folder or ".") / f"{stem}.npz"
    if not folder or not path.exists():
        print(f"{name}: no {stem}.npz in the folder that SIIS_DATA names ({folder}); left out")
        return None
    if name == "rcv1":
        return sp.csr_array(sp.load_npz(path)), np.load(path.with_name("rcv1_4class_y.npy")).astype(int)
    stored = np.load(path)
    return stored["X"].astype(np.float64), stored["y"].astype(int)


def make_task(name, X, truth, noise, run):
    rows = draw_labelled(truth, per_class=PER_CLASS[name], random_state=0)
    given = np.full(truth.size, -1)
    given[rows] = contaminate(truth[rows], noise, random_state=run)
    return Task(name, noise, run, X, truth, given)


def tasks(names, noises, runs):
    """All tasks, run after run, so that an interrupted benchmark is balanced."""
    found = {name: pair for name in names if (pair := load(name)) is not None}
    for run in range(runs):
        for name, (X, truth) in found.items():
            for noise in noises:
                yield make_task(name, X, truth, noise, run)


def default_fit(task):
    """The untouched default on a task: its answers, qualities and estimates; computed once, then read from a file."""
    CACHE.mkdir(parents=True, exist_ok=True)
    path = CACHE / f"{siis.__version__}-{task.data}-{task.noise}-{task.run}.npz"
    if not path.exists():
        started = time.perf_counter()
        with warnings.catch_warnings(record=True) as said:
            warnings.simplefilter("always")
            model = SIISClassifier().fit(task.X, task.given)
        rows = task.labelled
        part = path.with_name(path.name + ".part.npz")
        np.savez(
            part,
            seconds=time.perf_counter() - started,
            predicted=model.transduction_,
            confidence=model.label_distributions_.max(axis=1),
            quality=model.label_quality_[rows],
            held_out=model.held_out_distributions_[rows],
            noise_rate=model.noise_rate_,
            noise_interval=model.noise_interval_,
            graph_score=model.graph_score_,
            gap=model.dual_gap_,
            chosen=str(model.chosen_),
            warnings=np.array([str(w.message) for w in said], dtype=str),
        )
        part.replace(path)
    return dict(np.load(path))


class Rows:
    """Rows of a CSV file, kept as they come; a key is computed once."""

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
        """Add a row and write the file, whole."""
        self.rows.append(dict(zip(self.columns, map(str, values), strict=True)))
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
