"""A learning curve on the fitted graph: held-out labels, predicted by fewer labels than there are."""

from __future__ import annotations

import numpy as np

from siis._types import Bools, Floats, Ints, Sparse
from siis.labels import VertexLabels
from siis.labels.folds import deal_folds
from siis.model.scores import standardize
from siis.model.smoothing import smooth_labels

N_FOLDS = 5
SHARES = (1.0, 0.6, 0.36)  # of the labels that stay while a fold is held out
DRAWS, LEAST_DRAWS = 3, 2  # of folds and of labels; fewer where there is much to smooth
MOST_WORK = 2**27  # soft labels of all draws, folds and shares
MOST_AT_ONCE = 2**20  # of those that are smoothed together
ROUGHLY = 3e-2  # tolerance of that


def learning_curve(
    W: Sparse, given: VertexLabels, fidelity: float, may_hold_out: Bools, seed: int
) -> tuple[Ints, Floats, Floats]:
    """Hold labels out in turn, and predict them by fewer and fewer others, on a graph of weights W.

    may_hold_out: (l,). Returns the h labels that were held out; by how many labels they were predicted, in the mean,
    falling, (s,); and whether each was predicted, by each share of the labels and in each draw, (h, s, draws).
    """
    each = W.shape[0] * given.n_classes
    n_draws = int(np.clip(MOST_WORK // (each * len(SHARES) * N_FOLDS), LEAST_DRAWS, DRAWS))
    correct = np.full((given.rows.size, len(SHARES), n_draws), np.nan)
    counts: list[list[int]] = [[] for _ in SHARES]
    works: list[tuple[int, int, Ints, VertexLabels]] = []
    for draw in range(n_draws):
        rng = np.random.default_rng([seed, draw])
        folds = deal_folds(given.codes, N_FOLDS, np.random.default_rng(seed + draw).permutation, least=2)
        for fold in np.unique(folds[folds >= 0]):
            held, order = np.flatnonzero(folds == fold), rng.permutation(np.flatnonzero(folds != fold))
            for k, share in enumerate(SHARES):
                kept = _stratified(order, given.codes, share)
                counts[k].append(kept.size)
                works.append((draw, k, held, given.subset(kept).aggregate()))
    together = max(1, MOST_AT_ONCE // each)
    for a in range(0, len(works), together):
        some = works[a : a + together]
        trains = [train for *_, train in some]
        smooth = smooth_labels(W, trains, fidelity, ROUGHLY)
        for F, (draw, k, held, _) in zip(smooth, some, strict=True):
            winners = standardize(F, given.rows[held]).argmax(axis=1)
            correct[held, k, draw] = given.Y[held, winners]
    which = np.flatnonzero(np.isfinite(correct).all(axis=(1, 2)) & may_hold_out)
    return which, np.array([np.mean(found) for found in counts]), correct[which]


def _stratified(order: Ints, codes: Ints, share: float) -> Ints:
    """The first labels of each class, so many that they are the share; at least one of each."""
    kept = []
    for code in np.unique(codes[order]):
        members = order[codes[order] == code]
        kept.append(members[: max(1, round(share * members.size))])
    return np.sort(np.concatenate(kept))
