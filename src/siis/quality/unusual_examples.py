"""Near-duplicates and outliers: examples much closer to others, or much farther from them, than those around them."""

from __future__ import annotations

from typing import Any

import numpy as np
import scipy.sparse as sp
from scipy.special import betaincinv

from siis._types import Floats, Ints
from siis.graph import Neighbors, components_of
from siis.labels.unlabelled import coded_rows
from siis.result_table import Table

GROUP_COLUMNS = ("group", "index", "given", "distance", "labels_differ")
OUTLIER_COLUMNS = ("index", "given", "score")
CHANCE = 0.05  # expected false findings in all: pairs of different examples, and ordinary examples
CLOSEST = 0.25  # of the local scale: what is farther is no copy, however rare such a distance is
LEAST = 1.5  # times as far off as its neighbours: what is less is no outlier
BODY, TAIL = 0.5, 0.9  # quantiles by which the tail of the scores is drawn: a tenth may be outliers
SMALLEST = 1e-3  # of the median reach: a reach of 0 is that of copies


def near_duplicate_threshold(distances: Floats) -> float:
    """How close, over the local scale, two examples must be to be copies, (C14); distances: (n, K), K at least 2.

    Where examples lie at random in m dimensions, each of the K - 1 neighbours before the last one is closer than t
    times its distance with the probability t^m. So n (K - 1) t^m = 0.05, but t is at most 1/4; m follows from how
    fast distances grow from the middle neighbour to the last one, which a few copies do not change.
    """
    n, K = distances.shape
    middle = (K + 1) // 2
    far, near = distances[:, -1], distances[:, middle - 1]
    apart = near > 0
    growth = float(np.median(np.log(far[apart] / near[apart]))) if apart.any() else 0.0
    usual = -np.log(betaincinv(middle, K - middle, 0.5))  # the median of m log(far / near)
    by_chance = np.log(CHANCE / (n * (K - 1))) * growth / usual
    return float(min(CLOSEST, np.exp(by_chance)))


def near_duplicate_table(near: Neighbors, vertex: Ints, codes: Ints, classes: Any) -> Table:
    """Table of the groups of equal and nearly equal examples; those whose labels differ first, then the closest.

    ``near`` is of the vertices; vertex, codes: (n,), -1 where there is none. The distance to the closest other
    example of the group is over the local scale (0: equal).
    """
    n_vertices = len(near.indices)
    heads, tails, ratios = _close_pairs(near)
    pairs = sp.csr_array((np.ones(heads.size), (heads, tails)), shape=(n_vertices, n_vertices))
    component = components_of(sp.csr_array(pairs.maximum(pairs.T)))
    closest = np.full(n_vertices, np.inf)
    for ends in (heads, tails):
        np.minimum.at(closest, ends, ratios)
    placed = np.flatnonzero(vertex >= 0)
    closest[np.bincount(vertex[placed], minlength=n_vertices) > 1] = 0.0
    member = np.full(vertex.size, -1)
    member[placed] = component[vertex[placed]]
    index = placed[np.bincount(member[placed], minlength=n_vertices)[member[placed]] > 1]
    distance = closest[vertex[index]]
    _, first, group = np.unique(member[index], return_index=True, return_inverse=True)
    least = np.full(first.size, np.inf)
    np.minimum.at(least, group, distance)
    differ = _differ(group, codes[index], first.size)
    order = np.lexsort((index[first], least, ~differ)) if first.size else group
    number = np.empty(first.size, dtype=np.int64)
    number[order] = np.arange(first.size)
    rows = np.lexsort((index, number[group]))
    columns = (number[group], index, _given_classes(codes[index], classes), distance, differ[group])
    return Table(zip(GROUP_COLUMNS, (column[rows] for column in columns), strict=True))


def _close_pairs(near: Neighbors) -> tuple[Ints, Ints, Floats]:
    """Pairs that are closer than copies must be, and their distances over the smaller of the local scales."""
    K = near.distances.shape[1]
    scale = near.distances[:, -1]
    heads = np.repeat(np.arange(len(scale)), K - 1)
    tails, lengths = near.indices[:, :-1].ravel(), near.distances[:, :-1].ravel()
    local = np.minimum(scale[heads], scale[tails])
    ratios = np.divide(lengths, local, out=np.where(lengths > 0, np.inf, 0.0), where=local > 0)
    close = np.flatnonzero(ratios < near_duplicate_threshold(near.distances))
    return heads[close], tails[close], ratios[close]


def _differ(group: Ints, codes: Ints, n_groups: int) -> Any:
    """Whether the given labels of each group are of several classes, shape (n_groups,)."""
    has_label = coded_rows(codes)
    low, high = np.full(n_groups, np.iinfo(np.int64).max), np.full(n_groups, -1)
    np.minimum.at(low, group[has_label], codes[has_label])
    np.maximum.at(high, group[has_label], codes[has_label])
    return high > low


def isolation(near: Neighbors) -> Floats:
    """Mean distance of each example to its neighbours over the median of theirs, (n,), (C15)."""
    reach = near.distances.mean(axis=1)
    usual = float(np.median(reach[reach > 0])) if (reach > 0).any() else 1.0
    reach = np.maximum(reach, SMALLEST * usual)
    return np.asarray(reach / np.median(reach[near.indices], axis=1))


def outlier_threshold(scores: Floats) -> float:
    """The score above which an exponential tail, drawn from median and 90 % quantile, has 0.05 examples of all."""
    body, tail = np.quantile(np.log(scores), (BODY, TAIL))
    fall = (tail - body) / np.log((1 - BODY) / (1 - TAIL))
    return float(max(LEAST, np.exp(body + fall * np.log((1 - BODY) * scores.size / CHANCE))))


def outlier_table(scores: Floats, example: Ints, codes: Ints, classes: Any) -> Table:
    """Table of the outliers, farthest off first; scores (of ``isolation``), example: (n_vertices,); codes: (n,)."""
    at = np.flatnonzero(scores > outlier_threshold(scores))
    at = at[np.lexsort((example[at], -scores[at]))]
    index = example[at]
    return Table(zip(OUTLIER_COLUMNS, (index, _given_classes(codes[index], classes), scores[at]), strict=True))


def _given_classes(codes: Ints, classes: Any) -> Any:
    """The names of given classes, (k,); None where unlabelled."""
    given = np.full(codes.size, None, dtype=object)
    has_label = coded_rows(codes)
    given[has_label] = classes[codes[has_label]]
    return given
