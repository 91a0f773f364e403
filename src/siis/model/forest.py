"""A forest whose trees each leave out one fold of the labels, which they score."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import scipy.sparse as sp
from sklearn.ensemble import ExtraTreesClassifier, RandomForestClassifier

from siis._types import Features, Ints
from siis.experts.forest import Forest, as_arrays, as_indexed, one_forest, single
from siis.experts.linear import moments
from siis.model.kernels import FOREST, Choice
from siis.model.link import FLOOR, SHARES, Labels, fit_link
from siis.model.members import Member, stratified_folds
from siis.model.ridge import scale_of

N_FOLDS, TREES = 10, 20  # trees of each kind that leave out a fold
LEAST_TREES = 3
WORK, PLACES = 600_000, 30_000_000  # labels times trees, and vertices times trees: more of them get fewer trees
EXTRA_LEAF, LEAF = 3, 2  # least labels in a leaf of trees with random and with best splits
MOST_SPLIT = 64  # columns, half of them at most, among which the best split is sought
KINDS = ("random splits", "best splits")
MOST_COLUMNS = 2000  # of sparse features; more are not split one by one
LEAST_LABELS = 30


def can_grow(X: Features, labels: Labels) -> bool:
    """Whether there are labels enough for a forest, and columns few enough."""
    return labels.rows.size >= LEAST_LABELS and X.shape[1] <= MOST_COLUMNS


def forest_members(
    X: Features, labels: Labels, seed: int, kinds: Sequence[str] = KINDS
) -> tuple[list[Member], dict[str, Forest]]:
    """Grow trees on nine tenths of the labels at a time: all score all vertices, those of a fold its labels.

    Held-out scores come from trees that have seen as many labels as those that score the other vertices.
    """
    center, scale = (None, None) if sp.issparse(X) else moments(X)
    rows = as_indexed(X) if sp.issparse(X) else single(X, center, scale)
    codes, c = labels.Y.argmax(axis=1), labels.n_classes
    folds = stratified_folds(codes, N_FOLDS, seed)
    n_trees = int(np.clip(min(WORK // codes.size, PLACES // X.shape[0]) // N_FOLDS, LEAST_TREES, TREES))
    members, forests = [], {}
    for kind in kinds:
        P, held_out, parts = np.zeros((X.shape[0], c)), np.zeros((labels.rows.size, c)), []
        for k, (kept, held) in enumerate(folds):
            model = _trees(kind, X.shape[1], n_trees, seed + k)
            with one_forest():
                model.fit(rows[labels.rows[kept]], codes[kept], sample_weight=labels.strengths[kept])
                found = model.predict_proba(rows)
            P[:, model.classes_] += found / len(folds)
            held_out[np.ix_(held, model.classes_)] = found[labels.rows[held]]
            parts.append(as_arrays(model, c, center, scale))
        scores = np.log(P + FLOOR)
        unit = scale_of(scores)
        told = unit(np.log(held_out + FLOOR))
        link = fit_link(told, labels, SHARES)
        members.append(Member(Choice(FOREST, kind=kind), None, None, unit(scores), told, unit, link))
        forests[kind] = joined_forests(parts)
    return members, forests


def _trees(kind: str, d: int, n: int, seed: int) -> ExtraTreesClassifier | RandomForestClassifier:
    if kind == KINDS[0]:
        return ExtraTreesClassifier(n, min_samples_leaf=EXTRA_LEAF, random_state=seed, n_jobs=1)
    columns = max(1, min(MOST_SPLIT, -(-d // 2)))
    return RandomForestClassifier(n, min_samples_leaf=LEAF, max_features=columns, random_state=seed, n_jobs=1)


def joined_forests(forests: list[Forest]) -> Forest:
    """One forest of all trees."""
    first = np.cumsum([0, *(f.feature.size for f in forests[:-1])]).astype(np.int32)
    inner = [f.feature >= 0 for f in forests]

    def moved(name: str) -> Ints:
        nodes = [getattr(f, name) for f in forests]
        if name == "roots":
            return np.concatenate([node + at for node, at in zip(nodes, first, strict=True)])
        return np.concatenate([np.where(i, node + at, 0) for node, at, i in zip(nodes, first, inner, strict=True)])

    return Forest(
        moved("roots"),
        np.concatenate([f.feature for f in forests]),
        np.concatenate([f.threshold for f in forests]),
        moved("left"),
        moved("right"),
        np.concatenate([f.votes for f in forests]),
        forests[0].center,
        forests[0].scale,
    )
