"""Folds that hold out labels class by class."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from siis._types import Ints
from siis.labels.unlabelled import coded_rows


def deal_folds(codes: Ints, n_folds: int, permute: Callable[[Ints], Ints], least: int = 1) -> Ints:
    """Fold of each label, (l,); -1 for codes of -1 and for classes with fewer than ``least`` labels.

    The labels of a class go round the folds: two of them are never in one fold while there are folds left.
    """
    classes = classes_in_order(codes[coded_rows(codes)])
    members = [at for k in classes if (at := np.flatnonzero(codes == k)).size >= least]
    folds = np.full(codes.size, -1)
    order = np.concatenate([np.zeros(0, dtype=np.int64), *(permute(at) for at in members)])
    folds[order] = np.arange(order.size) % n_folds
    return folds


def stratified_folds(codes: Ints, n_folds: int, seed: int) -> list[tuple[Ints, Ints]]:
    """(kept, held) labels of each fold; every label is held out once."""
    folds = deal_folds(codes, min(n_folds, codes.size), np.random.default_rng(seed).permutation)
    return [(np.flatnonzero(folds != k), np.flatnonzero(folds == k)) for k in range(folds.max() + 1)]


def classes_in_order(codes: Ints) -> Ints:
    """Classes in the order of their first labels, so that their names do not matter."""
    return np.asarray(codes[np.sort(np.unique(codes, return_index=True)[1])])
