"""Outliers: examples much farther from their neighbours than these are from theirs."""

from __future__ import annotations

from typing import Any

import numpy as np

from siis._types import Floats, Ints
from siis.graph import Neighbors
from siis.labels.unlabelled import coded_rows
from siis.result_table import Table

COLUMNS = ("index", "given", "score")
CHANCE = 0.05  # ordinary examples that are taken for outliers by chance, in all
LEAST = 1.5  # times as far off as its neighbours: what is less is no outlier
BODY, TAIL = 0.5, 0.9  # quantiles by which the tail of the scores is drawn: a tenth may be outliers
SMALLEST = 1e-3  # of the median reach: a reach of 0 is that of copies


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
    given = np.full(index.size, None, dtype=object)
    has_label = coded_rows(codes[index])
    given[has_label] = classes[codes[index][has_label]]
    return Table(zip(COLUMNS, (index, given, scores[at]), strict=True))
