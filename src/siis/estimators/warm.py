"""Other labels on the examples of a previous fit: its members, graph and basis stay."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from siis._types import Bools, Floats, Ints
from siis.graph import fingerprints
from siis.labels import GivenLabels
from siis.labels.unlabelled import UNLABELLED, coded_rows
from siis.model.choose import Choices
from siis.model.located import FittedGraph
from siis.model.vertices import Vertices
from siis.program.basis import SmoothBasis
from siis.program.solvers import Solution

if TYPE_CHECKING:
    from siis.estimators.classifier import SIISClassifier

GROWN = 1.5  # times the labels of the search, at which to search anew
CHANGED = 1 / 3  # of the labels that have changed
FALLEN = 2.0  # standard errors by which fewer held-out labels are predicted, at which to search anew
OTHER_CLASSES, OTHER_EXAMPLES = "the classes have changed", "the examples have changed"
KEPT = "; members, graph and basis of the previous fit were kept"
FALLEN_BEHIND = "clearly fewer held-out labels are predicted than before"


@dataclass(frozen=True, eq=False)
class PreviousFit:
    """What a previous fit has left."""

    fitted_graph: FittedGraph
    choices: Choices
    basis: SmoothBasis | None  # model files keep neither basis nor solution
    solution: Solution | None
    classes: Ints  # (c,)
    codes: Ints  # (n,), the labels that it was given; -1 where there was none
    before: Ints  # (n,), what these were before somebody checked them; -1 where nobody knows
    held_out: Floats  # (n, c), probabilities of labelled examples without their own labels
    listed: Bools  # (n,), labels in the list of issues
    n_searched: int  # labels at the last search
    settings: str  # the parameters of that search

    @classmethod
    def of(cls, model: SIISClassifier) -> PreviousFit | None:
        """What a classifier has kept of its fit; None where that held no label out."""
        if not all(hasattr(model, name) for name in ("_judged", "_settings", "_choices")) or not model._judged.size:
            return None
        columns = model._supported
        number = np.full(model.classes_.size + 1, UNLABELLED)  # the last entry is for -1
        number[columns] = np.arange(columns.size)
        return cls(
            model._fitted_graph,
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

    def reason_to_search_again(self, vertices: Vertices, labels: GivenLabels, settings: str) -> str:
        """Why everything is tried again; "" where the choices still hold."""
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
        placed = self.fitted_graph.placed
        if vertices.graph is not None:
            old, new = placed.graph.weights, vertices.graph.weights
            return placed.points is None and old.shape == new.shape and (old != new).nnz == 0
        if placed.points is None or vertices.X.shape[0] != self.fitted_graph.marks.size:
            return False
        marks, vertex = fingerprints(vertices.X), vertices.vertex
        if placed.order is not None:
            marks, vertex = marks[placed.order], np.where(vertex >= 0, np.argsort(placed.order)[vertex], -1)
        return bool(np.array_equal(marks, self.fitted_graph.marks) and np.array_equal(vertex, placed.vertex))


def share_basis(previous: SIISClassifier, again: SIISClassifier) -> bool:
    """Give the model of a previous fit the basis of a refit, which files do not keep; False after a new search."""
    before, after = (getattr(model, "_fitted_graph", None) for model in (previous, again))
    if before is None or after is None or before.placed is not after.placed:
        return False
    previous.basis_ = again.basis_
    return True
