"""Forests whose trees each see a bootstrap sample of the labels, and score the labels that they have not seen."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import scipy.sparse as sp
from sklearn.tree import DecisionTreeRegressor, ExtraTreeRegressor

from siis._types import Features, Ints
from siis.engine.threads import FEW_THREADS, in_threads
from siis.labels.folds import classes_in_order
from siis.model.config import FOREST, MemberConfig
from siis.model.linear import moments
from siis.model.link import FLOOR, SHARES, MemberLabels, fit_link
from siis.model.members import Member
from siis.model.ridge import scale_of
from siis.model.trees import Forest, as_arrays, as_indexed, single

LEAST_TREES, MOST_TREES = 30, 200
WORK, PLACES = 200_000, 30_000_000  # labels times trees, and vertices times trees: more of them get fewer trees
GROUPS = 10  # of trees, which are grown at the same time
EXTRA_LEAF, LEAF = 3, 2  # least labels in a leaf of trees with random and with best splits
MOST_SPLIT = 64  # columns, half of them at most, among which the best split is sought
SPLITS = ("random splits", "best splits")
MOST_COLUMNS = 2000  # of sparse features; more are not split one by one
LEAST_LABELS = 30


def can_grow(X: Features, labels: MemberLabels) -> bool:
    """Whether there are labels enough for a forest, and columns few enough."""
    return labels.rows.size >= LEAST_LABELS and X.shape[1] <= MOST_COLUMNS


def no_member(families: Sequence[str], labels: MemberLabels) -> ValueError:
    """The error where models of these families cannot be fitted to these examples and labels."""
    return ValueError(
        f"no model of the families {', '.join(families)} can be fitted here: forests need {LEAST_LABELS} labels "
        f"(found {labels.rows.size}) and features, kernels need features. Let members name the family 'graph'."
    )


def forest_members(
    X: Features, labels: MemberLabels, seed: int, splits: Sequence[str] = SPLITS
) -> tuple[list[Member], dict[str, Forest]]:
    """A member and a forest of each kind.  (D1b)

    Bootstrap samples keep the size of each class: without the label that is held out, its class would be smaller in
    the trees that score it, and held-out scores would be pessimistic.
    """
    center, scale = (None, None) if sp.issparse(X) else moments(X)
    rows = as_indexed(X) if sp.issparse(X) else single(X, center, scale)
    seen_rows = rows[labels.rows]
    seen = sp.csc_matrix(seen_rows) if sp.issparse(X) else seen_rows
    Y, codes = np.ascontiguousarray(labels.Y), labels.Y.argmax(axis=1)
    n_trees = int(np.clip(min(WORK // codes.size, PLACES // X.shape[0]), LEAST_TREES, MOST_TREES))
    counts = bootstrap_counts(codes, n_trees, seed)
    groups = [np.arange(first, n_trees, GROUPS) for first in range(GROUPS)]
    grown = counts[np.concatenate(groups)]  # in the order in which trees are grown
    members, forests = [], {}
    for kind in splits:

        def grow(group: Ints, kind: str = kind) -> list[Any]:
            trees = [_unfitted(kind, X.shape[1], seed + number) for number in group.tolist()]
            for tree, number in zip(trees, group, strict=True):
                tree.fit(seen, Y, sample_weight=labels.weights * counts[number], check_input=False)
            return trees

        trees = [tree for some in in_threads(grow, groups, FEW_THREADS) for tree in some]
        forests[kind] = forest = as_arrays(trees, center, scale)
        P = forest.mean_votes(lambda some: single(rows[some], None, None), X.shape[0])
        held_out = forest.mean_votes(lambda some: single(seen_rows[some], None, None), codes.size, grown)
        scores, held_out = np.log(P + FLOOR), np.log(held_out + FLOOR)
        unit = scale_of(scores)
        link = fit_link(unit(held_out), labels, SHARES)
        members.append(
            Member(MemberConfig(FOREST, splits=kind), None, None, unit(scores), unit(held_out), unit, link)
        )
    return members, forests


def bootstrap_counts(codes: Ints, n_samples: int, seed: int) -> Ints:
    """How often each label is drawn, shape (n_samples, l); each class is drawn as often as it has labels."""
    rng, counts = np.random.default_rng(seed), np.zeros((n_samples, codes.size), dtype=np.int64)
    for k in classes_in_order(codes):
        of_class = np.flatnonzero(codes == k)
        for sample in counts:
            sample[of_class] = np.bincount(rng.integers(of_class.size, size=of_class.size), minlength=of_class.size)
    return counts


def _unfitted(kind: str, d: int, seed: int) -> Any:
    """A regression tree of label rows: their squared error is Gini's impurity."""
    if kind == SPLITS[0]:
        return ExtraTreeRegressor(min_samples_leaf=EXTRA_LEAF, max_features="sqrt", random_state=seed)
    columns = max(1, min(MOST_SPLIT, -(-d // 2)))
    return DecisionTreeRegressor(min_samples_leaf=LEAF, max_features=columns, random_state=seed)
