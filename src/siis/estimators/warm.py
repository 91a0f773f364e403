"""Other labels on the examples of a former fit: its choices, graphs and basis stay; what was held out is updated."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np

from siis._types import Floats, Ints
from siis.engine import Engine
from siis.estimators.evidence import Evidence, Located, relocate, spoken_evidence
from siis.estimators.pooling import Pooled, Voices, graph_scores, pool_again
from siis.estimators.vertices import Vertices
from siis.evidence import softmax
from siis.graph import fingerprints
from siis.labels import GivenLabels
from siis.labels.unlabelled import coded_rows
from siis.program import Program
from siis.progress import Progress
from siis.result_table import Table
from siis.selection import Candidate, Constraints, Solved, final_program
from siis.selection.candidate import hits
from siis.solvers import Solution
from siis.spectral import SmoothBasis

if TYPE_CHECKING:
    from siis.estimators.classifier import SIISClassifier

GROWN = 1.5  # times the labels of the search, at which to search anew
CHANGED = 1 / 3  # of the labels, that are other ones than before
FALLEN = 2.0  # standard errors by which fewer held-out labels are met, at which to search anew
OTHER_CLASSES, OTHER_EXAMPLES = "the classes have changed", "the examples have changed"
KEPT = "; choices, graph and basis of the former fit were kept"


@dataclass(frozen=True, eq=False)
class Former:
    """What a former fit has left.

    Attributes
    ----------
    evidence : Evidence
    voices : Voices
    basis : SmoothBasis or None
    solution : Solution or None
        Files keep neither.
    experts : Table
    classes : ndarray of shape (c,)
    codes : ndarray of shape (n,)
        The labels that it was given; -1 where there was none.
    before : ndarray of shape (n,)
        What these were before somebody checked them; -1 where nobody knows.
    judged : ndarray of shape (h,)
        The examples whose labels were held out, in the order of the evidence's readings.
    n_searched : int
        Labels at the last search.
    settings : str
        The parameters of that search.
    """

    evidence: Evidence
    voices: Voices
    basis: SmoothBasis | None
    solution: Solution | None
    experts: Table
    classes: Ints
    codes: Ints
    before: Ints
    judged: Ints
    n_searched: int
    settings: str

    @classmethod
    def of(cls, model: SIISClassifier) -> Former | None:
        """What a classifier has kept of its fit; None where that held no label out, or was by an older siis."""
        if not all(hasattr(model, name) for name in ("_judged", "_settings", "_voices")) or not model._judged.size:
            return None
        return cls(
            model._evidence,
            model._voices,
            getattr(model, "basis_", None),
            getattr(model, "solution_", None),
            model.experts_,
            model.classes_,
            model._given_codes,
            model._before_codes if hasattr(model, "_before_codes") else model._given_codes,
            model._judged,
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


def refit(
    former: Former,
    vertices: Vertices,
    labels: GivenLabels,
    constraints: Constraints,
    basis_of: Callable[[Candidate], SmoothBasis],
    solve: Callable[[Program, Solution | None], Solution],
    seed: int,
    progress: Progress,
    engine: Engine,
) -> tuple[Evidence, Solved, Pooled] | None:
    """Smooth the new labels over the former graphs, and solve the former program from its former solution.

    A label that was held out before is read as then, plus what its vertex's score has changed by, to which its own
    label has not added; one that is new, by what was said of its example when it had none.

    Parameters
    ----------
    former : Former
    vertices : Vertices
    labels : GivenLabels
    constraints : Constraints
    basis_of : callable
        Computes the basis of a candidate's program on the former graph, where it is not there any more.
    solve : callable
        Takes a program and a solution to start from.
    seed : int
    progress : Progress
    engine : Engine

    Returns
    -------
    evidence : Evidence
    solved : Solved
    pooled : Pooled
        Or None, where clearly fewer of the labels are met than before: it takes a new search.
    """
    evidence, c = former.evidence, labels.classes.size
    chosen = evidence.selection.chosen
    basis = basis_of(chosen) if former.basis is None else former.basis.on(engine)
    with progress.stage("evidence"):
        located = relocate(evidence, vertices, constraints, engine)
        distributions = softmax(spoken_evidence(located, evidence.selection, basis.vectors, engine))
    program = final_program(evidence.placed.graph, basis, distributions, chosen, constraints)
    solved = Solved(chosen, program, solve(program, former.solution), {})
    evidence = replace(evidence, pairs=located.pairs, given=located.given, distributions=distributions)
    spoken = graph_scores(evidence, solved, c)
    rows, readings, is_worse = _held_out(former, located, vertices, labels, spoken)
    if is_worse:
        return None
    evidence = replace(
        evidence,
        rows=rows,
        readings=readings,
        selection=replace(evidence.selection, reason=evidence.selection.reason.removesuffix(KEPT) + KEPT),
    )
    pooled = pool_again(former.voices, former.experts, evidence, located, spoken, seed, progress)
    return evidence, solved, pooled


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


def _held_out(
    former: Former, located: Located, vertices: Vertices, labels: GivenLabels, spoken: Floats
) -> tuple[Ints, Floats, bool]:
    """Which labels were held out, what is read of them, and whether clearly fewer are met."""
    example = np.flatnonzero(labels.used)[vertices.order]
    place = np.full(labels.used.size, -1)
    place[former.judged] = np.arange(former.judged.size)
    at, vertex = place[example], located.labels.rows
    is_new, is_same = ~coded_rows(former.codes[example]), former.codes[example] == labels.codes[example]
    rows = np.flatnonzero((at >= 0) | is_new)
    at, vertex, is_new, is_same = at[rows], vertex[rows], is_new[rows], is_same[rows]
    before, old = former.voices.graph, former.evidence.readings
    change = np.where(is_same[:, None], spoken[vertex] - before[vertex], 0.0)
    readings = np.where(is_new[:, None], before[vertex], old[np.maximum(at, 0)] + change)
    Y = located.labels.Y[rows]
    shared = np.flatnonzero(is_same & ~is_new)
    if not shared.size:
        return rows, readings, False
    lost = hits(old[at[shared]], Y[shared]) - hits(readings[shared], Y[shared])
    error = float(lost.std()) / np.sqrt(shared.size)
    return rows, readings, bool(lost.mean() > FALLEN * error + 1e-12)
