"""Other labels on the examples of a previous fit: its members, graph and basis stay."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np

from siis._types import Bools, Floats, Ints
from siis.estimators.result import AverageFit, FitResult, LabelQuality, set_result
from siis.graph import fingerprints
from siis.labels import GivenLabels
from siis.labels.unlabelled import UNLABELLED, coded_rows
from siis.model.vertices import Vertices

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
    """A fit by default, with the classes that took part in it."""

    result: FitResult
    quality: LabelQuality
    average: AverageFit
    classes: Any  # (s,)
    codes: Ints  # (n,), the given labels; -1 where there was none
    before: Ints  # (n,), verified labels before they were checked; -1 where unknown

    @classmethod
    def of(cls, result: FitResult | None) -> PreviousFit | None:
        """What a fit has found; None where it held no label out."""
        if result is None or result.quality is None or result.average is None:
            return None
        quality, columns = result.quality, result.average.supported
        if not np.isfinite(quality.held_out).any():
            return None
        number = np.full(result.classes.size + 1, UNLABELLED)  # the last entry is for -1
        number[columns] = np.arange(columns.size)
        codes, before = number[result.codes], number[quality.before]
        return cls(result, quality, result.average, result.classes[columns], codes, before)

    def reason_to_search_again(self, vertices: Vertices, labels: GivenLabels, settings: str) -> str:
        """Why everything is tried again; "" where the choices still hold."""
        if not np.array_equal(labels.classes, self.classes):
            return OTHER_CLASSES
        if labels.used.size != self.codes.size or not self._has(vertices):
            return OTHER_EXAMPLES
        if settings != self.average.settings:
            return "parameters have changed"
        n_labels = np.count_nonzero(labels.used)
        if n_labels > GROWN * self.average.n_searched:
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
        at = np.flatnonzero(self.quality.listed & coded_rows(self.codes) & labels.used & ~labels.verified)
        found[at] = labels.classes[labels.codes[at]] == self.classes[self.codes[at]]
        return found

    def is_better(self, held_out: Floats, labels: GivenLabels) -> bool:
        """Whether clearly more of the labels that have stayed were predicted before, while held out."""
        P, Q, codes = self.quality.held_out[:, self.average.supported], held_out, labels.codes
        same = labels.used & (codes == self.codes) & np.isfinite(P[:, 0]) & np.isfinite(Q[:, 0])
        rows = np.flatnonzero(same)
        if not rows.size:
            return False
        lost = (P[rows].argmax(axis=1) == codes[rows]).astype(float) - (Q[rows].argmax(axis=1) == codes[rows])
        return bool(lost.mean() > FALLEN * float(lost.std()) / np.sqrt(rows.size) + 1e-12)

    def _has(self, vertices: Vertices) -> bool:
        """Whether the examples are those of the fit."""
        placed, marks_then = self.result.placed, self.result.fitted.marks
        if vertices.graph is not None:
            old, new = placed.graph.weights, vertices.graph.weights
            return placed.points is None and old.shape == new.shape and (old != new).nnz == 0
        if placed.points is None or vertices.X.shape[0] != marks_then.size:
            return False
        marks, vertex = fingerprints(vertices.X), vertices.vertex
        if placed.order is not None:
            marks, vertex = marks[placed.order], np.where(vertex >= 0, np.argsort(placed.order)[vertex], -1)
        return bool(np.array_equal(marks, marks_then) and np.array_equal(vertex, placed.vertex))


def share_basis(previous: SIISClassifier, again: SIISClassifier) -> bool:
    """Give the model of a previous fit the basis of a refit, which files do not keep; False after a new search."""
    before, after = previous.result_, again.result_
    if before.average is None or after.average is None or before.fitted is not after.fitted:
        return False
    set_result(previous, replace(before, solver=replace(before.solver, basis=after.solver.basis)))
    return True
