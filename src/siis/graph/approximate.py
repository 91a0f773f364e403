"""Approximate neighbours for many points, by faiss or an index of the user's; their recall is measured."""

from __future__ import annotations

import warnings
from importlib.util import find_spec
from typing import Any

import numpy as np
from sklearn.base import clone

from siis._types import Floats, Ints
from siis.errors import Message
from siis.progress import Report

CELLS_PER_ROOT = 4.0  # cells of the inverted file, over the root of the number of points
POINTS_PER_CELL = 64  # on which cells are trained
TRAINING_STEPS = 10
GOOD_RECALL = 0.95  # of the nearest neighbours, at which no more cells are searched
QUERIES_AT_ONCE = 20_000  # in one block
INSTALL = "Install it with `pip install 'siis[ann]'`, or use {neighbor_search:exact}."


def has_faiss() -> bool:
    """Whether faiss is installed."""
    return find_spec("faiss") is not None


def with_faiss(points: Floats, n_wanted: int, sample: Ints, exact: Ints, seed: int, report: Report) -> Ints:
    """Search the cells around centres of points, (n, d), nearest first, until the recall of a sample, (s,), suffices.

    Exact neighbours of the sample: (s, n_wanted), where ``n_wanted`` counts the point itself. Returns (n, n_wanted).
    """
    if not has_faiss():
        raise ValueError(Message("{neighbor_search:faiss} needs faiss, which is not installed. " + INSTALL))
    import faiss  # noqa: PLC0415  (an extra)

    n, d = points.shape
    points = np.ascontiguousarray(points - points.mean(axis=0, dtype=np.float64), dtype=np.float32)
    n_lists = max(1, int(CELLS_PER_ROOT * np.sqrt(n)))
    index = faiss.IndexIVFFlat(faiss.IndexFlatL2(d), d, n_lists)
    index.cp.seed, index.cp.niter, index.cp.max_points_per_centroid = seed % 2**31, TRAINING_STEPS, POINTS_PER_CELL
    index.cp.min_points_per_centroid = 1
    drawn = np.random.default_rng(seed).permutation(n)[: POINTS_PER_CELL * n_lists]
    index.train(points[np.sort(drawn)])
    index.add(points)
    index.nprobe = min(4, n_lists)
    while recall(index.search(points[sample], n_wanted)[1], exact) < GOOD_RECALL and index.nprobe < n_lists:
        index.nprobe = min(2 * index.nprobe, n_lists)
    found = np.empty((n, n_wanted), dtype=np.int64)
    for first in range(0, n, QUERIES_AT_ONCE):
        found[first : first + QUERIES_AT_ONCE] = index.search(points[first : first + QUERIES_AT_ONCE], n_wanted)[1]
        report((first + QUERIES_AT_ONCE) / n)
    return found


def with_own(search: Any, points: Floats, n_wanted: int) -> Ints:
    """Neighbours by a copy of the user's index, fitted to the points: (n, n_wanted)."""
    found = clone(search, safe=False).fit(points).kneighbors(points, n_neighbors=n_wanted, return_distance=False)
    found = np.asarray(found)
    if found.shape != (len(points), n_wanted) or not np.issubdtype(found.dtype, np.integer):
        raise ValueError(
            f"kneighbors must give an integer array of shape {(len(points), n_wanted)}; "
            f"{type(search).__name__} gave {found.dtype} of shape {found.shape}"
        )
    return found.astype(np.int64)


def complete(indices: Ints, n: int) -> Ints:
    """Replace what a search left empty (-1, or out of range) or named twice by points that it did not name."""
    ordered = np.sort(indices, axis=1)
    bad = np.flatnonzero(
        (ordered[:, 0] < 0) | (ordered[:, -1] >= n) | (ordered[:, 1:] == ordered[:, :-1]).any(axis=1)
    )
    if bad.size:
        warnings.warn(
            Message(
                "the neighbour search left places empty at {bad} of {n} examples; they are filled with arbitrary "
                "ones. Use {neighbor_search:exact}.",
                bad=bad.size,
                n=len(indices),
            ),
            UserWarning,
            stacklevel=2,
        )
    indices = indices.copy()
    for i in bad:
        named = dict.fromkeys(int(j) for j in indices[i] if 0 <= j < n)
        fill = (j for j in range(n) if j not in named)
        row = list(named)
        indices[i] = row + [next(fill) for _ in range(indices.shape[1] - len(row))]
    return indices


def recall(found: Ints, exact: Ints) -> float:
    """The share of the exact neighbours, (s, k), that were found."""
    return float(np.mean([np.isin(e, f).mean() for f, e in zip(found, exact, strict=True)]))
