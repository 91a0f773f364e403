"""How many held-out labels are met by fewer labels than there are: a learning curve on the fitted graph."""

from __future__ import annotations

import numpy as np

from siis._types import Bools, Floats, Ints, Sparse
from siis.evidence import read
from siis.labels import VertexLabels
from siis.selection import Candidate, deal_folds
from siis.selection.candidate import hits
from siis.selection.folds import N_FOLDS
from siis.selection.prepared import smooth_all

SHARES = (1.0, 0.6, 0.36)  # of the labels that stay while a fold is held out
DRAWS, LEAST_DRAWS = 3, 2  # of folds and of labels; fewer where there is much to smooth
MOST_WORK = 2**27  # soft labels of all draws, folds and shares
MOST_AT_ONCE = 2**20  # of those that are smoothed together
ROUGHLY = 3e-2  # tolerance of that


def learning_curve(
    W: Sparse, given: VertexLabels, chosen: Candidate, is_told: Bools, seed: int
) -> tuple[Ints, Floats, Floats]:
    """Hold labels out in turn, and predict them from fewer and fewer of the others.

    W: (n, n), weights by features alone; ``chosen``: how labels are smoothed; is_told: (l,), labels that may be held
    out. Returns the labels held out, (h,); mean numbers of the labels used, (s,), falling; and whether each label was
    predicted, (h, s, r), by share of the labels and draw.
    """
    each = W.shape[0] * given.n_classes
    n_draws = int(np.clip(MOST_WORK // (each * len(SHARES) * N_FOLDS), LEAST_DRAWS, DRAWS))
    met = np.full((given.rows.size, len(SHARES), n_draws), np.nan)
    counts: list[list[int]] = [[] for _ in SHARES]
    works: list[tuple[int, int, Ints, VertexLabels]] = []
    for draw in range(n_draws):
        rng = np.random.default_rng([seed, draw])
        folds = deal_folds(given.Y, seed + draw)
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
        smooth = smooth_all(W, trains, chosen.fidelity, [chosen.pull] * len(some), [None] * len(some), ROUGHLY)
        for F, (draw, k, held, _) in zip(smooth, some, strict=True):
            met[held, k, draw] = hits(read(F, chosen.reading, given.rows[held]), given.Y[held])
    which = np.flatnonzero(np.isfinite(met).all(axis=(1, 2)) & is_told)
    return which, np.array([np.mean(found) for found in counts]), met[which]


def _stratified(order: Ints, codes: Ints, share: float) -> Ints:
    """The first labels of each class, so many that they are the share; at least one of each."""
    kept = []
    for code in np.unique(codes[order]):
        members = order[codes[order] == code]
        kept.append(members[: max(1, round(share * members.size))])
    return np.sort(np.concatenate(kept))
