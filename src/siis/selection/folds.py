"""Folds that keep every class in every training set."""

from collections.abc import Iterator

import numpy as np

from siis._types import Floats, Ints
from siis.labels import VertexLabels

N_FOLDS = 5


def deal_folds(Y: Floats, seed: int) -> Ints:
    """Deal labels to folds, class by class.

    The labels of a class go round the folds, so that two of them are never held out together while there are folds
    left: with two labels of a class, one always stays. The only label of a class is never held out. Classes come in
    the order of their first labels, so that their names do not matter.

    Parameters
    ----------
    Y : ndarray of shape (l, c)
    seed : int

    Returns
    -------
    ndarray of shape (l,)
        Fold of each label, 0 to 4; -1 where it is never held out.
    """
    rng = np.random.default_rng(seed)
    codes = np.argmax(Y, axis=1)
    folds = np.full(codes.size, -1)
    turn = 0
    for k in codes[np.sort(np.unique(codes, return_index=True)[1])]:
        members = rng.permutation(np.flatnonzero(codes == k))
        if members.size > 1:
            folds[members] = (turn + np.arange(members.size)) % N_FOLDS
            turn += members.size
    return folds


def splits(given: VertexLabels, folds: Ints) -> Iterator[tuple[VertexLabels, Ints]]:
    """Hold out fold after fold: the labels that stay, merged at their vertices, and the indices of the others.

    Equal examples have labels of their own: one of them is held out while the others stay, as it would be for an
    unlabelled example that is equal to labelled ones.
    """
    for fold in range(N_FOLDS):
        held = np.flatnonzero(folds == fold)
        if held.size:
            yield given.subset(folds != fold).aggregate(), held
