"""Other labels on the examples of a former fit: its members, graph and basis stay."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from siis._types import Bools, Floats, Ints
from siis.estimators.averaging import Choices
from siis.estimators.evidence import Evidence
from siis.estimators.vertices import Vertices
from siis.graph import fingerprints
from siis.labels import GivenLabels
from siis.labels.unlabelled import UNLABELLED, coded_rows
from siis.solvers import Solution
from siis.spectral import SmoothBasis

if TYPE_CHECKING:
    from siis.estimators.classifier import SIISClassifier

GROWN = 1.5  # times the labels of the search, at which to search anew
CHANGED = 1 / 3  # of the labels, that are other ones than before
FALLEN = 2.0  # standard errors by which fewer held-out labels are met, at which to search anew
OTHER_CLASSES, OTHER_EXAMPLES = "the classes have changed", "the examples have changed"
KEPT = "; members, graph and basis of the former fit were kept"
FALLEN_BEHIND = "clearly fewer held-out labels are predicted than before"


@dataclass(frozen=True, eq=False)
class Former:
    """What a former fit has left.

    Attributes
    ----------
    evidence : Evidence
    choices : Choices
    basis : SmoothBasis or None
    solution : Solution or None
        Files keep neither.
    classes : ndarray of shape (c,)
    codes : ndarray of shape (n,)
        The labels that it was given; -1 where there was none.
    before : ndarray of shape (n,)
        What these were before somebody checked them; -1 where nobody knows.
    held_out : ndarray of shape (n, c)
        Probabilities of labelled examples without their own labels.
    listed : ndarray of bool, shape (n,)
        Labels in the list of issues.
    n_searched : int
        Labels at the last search.
    settings : str
        The parameters of that search.
    """

    evidence: Evidence
    choices: Choices
    basis: SmoothBasis | None
    solution: Solution | None
    classes: Ints
    codes: Ints
    before: Ints
    held_out: Floats
    listed: Bools
    n_searched: int
    settings: str

    @classmethod
    def of(cls, model: SIISClassifier) -> Former | None:
        """What a classifier has kept of its fit; None where that held no label out, or was by an older siis."""
        if not all(hasattr(model, name) for name in ("_judged", "_settings", "_choices")) or not model._judged.size:
            return None
        columns = model._supported
        number = np.full(model.classes_.size + 1, UNLABELLED)  # the last entry is for -1
        number[columns] = np.arange(columns.size)
        return cls(
            model._evidence,
            model._choices,
            getattr(model, "basis_", None),
            getattr(model, "solution_", None),
            model.classes_[columns],
            number[model._given_codes],
            number[model._before_codes],
            model.held_out_distributions_[:, columns],
            model._listed,
            model._n_searched,
            model._settings,
        )

    def why_not(self, vertices: Vertices, labels: GivenLabels, settings: str) -> str:
        """Why a search is needed before anything is computed; "" where it is not."""
        if not np.array_equal(labels.classes, self.classes):
            return OTHER_CLASSES
        if labels.used.size != self.codes.size or not self._has(vertices):
            return OTHER_EXAMPLES
        if settings != self.settings:
            return "parameters have changed"
        n_labels = np.count_nonzero(labels.used)
        if n_labels > GROWN * self.n_searched:
            return "there are many more labels"
        is_other = labels.used & coded_rows(self.codes) & (labels.codes != self.codes)
        if np.count_nonzero(is_other) > CHANGED * n_labels:
            return "many labels are other ones"
        return ""

    def still_listed(self, vertices: Vertices, labels: GivenLabels) -> Bools:
        """Listed labels that nobody has verified or changed, (n,); none where the examples are other ones."""
        found = np.zeros(labels.used.size, dtype=bool)
        if found.size != self.codes.size or not self._has(vertices):
            return found
        at = np.flatnonzero(self.listed & coded_rows(self.codes) & labels.used & ~labels.verified)
        found[at] = labels.classes[labels.codes[at]] == self.classes[self.codes[at]]
        return found

    def is_better(self, held_out: Floats, labels: GivenLabels) -> bool:
        """Whether clearly more of the labels that have stayed were predicted before, while held out."""
        P, Q, codes = self.held_out, held_out, labels.codes
        same = labels.used & (codes == self.codes) & np.isfinite(P[:, 0]) & np.isfinite(Q[:, 0])
        rows = np.flatnonzero(same)
        if not rows.size:
            return False
        lost = (P[rows].argmax(axis=1) == codes[rows]).astype(float) - (Q[rows].argmax(axis=1) == codes[rows])
        return bool(lost.mean() > FALLEN * float(lost.std()) / np.sqrt(rows.size) + 1e-12)

    def _has(self, vertices: Vertices) -> bool:
        """Whether the examples are those of the fit."""
        placed = self.evidence.placed
        if vertices.graph is not None:
            old, new = placed.graph.weights, vertices.graph.weights
            return placed.points is None and old.shape == new.shape and (old != new).nnz == 0
        if placed.points is None or vertices.X.shape[0] != self.evidence.marks.size:
            return False
        marks, vertex = fingerprints(vertices.X), vertices.vertex
        if placed.order is not None:
            marks, vertex = marks[placed.order], np.where(vertex >= 0, np.argsort(placed.order)[vertex], -1)
        return bool(np.array_equal(marks, self.evidence.marks) and np.array_equal(vertex, placed.vertex))


def lend_basis(former: SIISClassifier, again: SIISClassifier) -> bool:
    """Spare further refits from the same model its basis, which files do not keep.

    Parameters
    ----------
    former : SIISClassifier
        Gets the basis.
    again : SIISClassifier
        Fitted from a copy of it.

    Returns
    -------
    bool
        False, and nothing is lent, where that was a new search.
    """
    before, after = (getattr(model, "_evidence", None) for model in (former, again))
    if before is None or after is None or before.placed is not after.placed:
        return False
    former.basis_ = again.basis_
    return True
