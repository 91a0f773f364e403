"""Scores of all vertices and held-out labels, and what is done to them after the average."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from siis._types import Bools, Floats
from siis.engine.types import Array
from siis.model.average import Average
from siis.model.config import GRAPH, KERNEL, SUM, Plan
from siis.model.linear import LinearScores, linear_scores
from siis.model.link import ExpectedAccuracy, Link, MemberLabels
from siis.model.located import Located
from siis.model.members import unlabelled_rows
from siis.model.predictor import Model, Predictor, fit_predictor
from siis.model.programs import Solved
from siis.model.scores import as_distributions, centred, standardize
from siis.model.sizes import class_offsets, equal_confidence, mean_probabilities
from siis.model.tables import family_table, summary
from siis.model.trees import Forest
from siis.program import Program
from siis.result_table import Table

LINEAR = "linear model"
MOST_SEEN = 1500  # unlabelled vertices by which scores are calibrated
MOST_CLASSES = 64  # up to which models of the features score new examples


@dataclass(frozen=True, eq=False)
class ScoreSet:
    """Scores of an average, without its members, which hold much memory."""

    final: Floats  # (n_vertices, c)
    held_out: Floats  # (p, c), of each part of the labels
    judged: Bools  # (p,), whether it could be held out
    link: Link  # from these scores to probabilities
    estimated: ExpectedAccuracy | None  # accuracy that halves of the labels estimate
    forests: dict[str, Forest]  # by the splits of their trees
    linear: LinearScores | None  # the model of the features, where it was fitted
    families: Table  # their weights and held-out accuracy
    summary: str  # what was averaged, in a sentence

    @classmethod
    def of(cls, mean: Average, labels: MemberLabels) -> ScoreSet:
        """Of an average on all vertices."""
        return cls(
            mean.scores,
            mean.held_out,
            labels.judged,
            mean.link,
            mean.estimated,
            mean.forests,
            mean.linear,
            family_table(mean, labels),
            summary(mean, labels),
        )

    def in_order(self, located: Located) -> ScoreSet:
        """The same by the numbers that vertices have on the graph."""
        order = located.order
        return self if order is None else replace(self, final=self.final[order])

    def with_program(self, solved: Solved, n_classes: int, weight: float) -> tuple[ScoreSet, float]:
        """The average with the program that has smoothed it, and its weight: 0 with fewer columns than classes.

        The program's soft labels are standardised, and offset so that each class has the mean probability that the
        average gives it.
        """
        Z, a = self.final, self.link.mean_sharpness
        P = _program_scores(solved.program, solved.solution.coefficients, n_classes)
        if P is None:
            return self, 0.0
        P = _unit(centred(P)) * (float(Z.std()) or 1.0)
        P += class_offsets(P, mean_probabilities(Z, a), a).astype(P.dtype)
        both = centred(weight * P + (1 - weight) * Z)
        return replace(self, final=np.asarray(both * equal_confidence(both, Z, self.link), Z.dtype)), weight

    def with_shares(self, shares: Floats | None) -> ScoreSet:
        """Scores offset so that the mean probabilities of the classes are known shares.  (D7)"""
        if shares is None:
            return self
        offsets = class_offsets(self.final, shares, self.link.mean_sharpness)
        final = self.final + offsets.astype(self.final.dtype)
        return replace(self, final=final, held_out=self.held_out + offsets)

    def expected_accuracy(self, located: Located) -> tuple[Floats, ExpectedAccuracy] | None:
        """Scores of some unlabelled vertices, all where there are none, and the accuracy that is estimated there."""
        if self.estimated is None:
            return None
        rows = unlabelled_rows(len(self.final), located.parts.rows, MOST_SEEN)
        return np.asarray(self.final[rows], dtype=np.float64), self.estimated

    def predictor(self, plan: Plan, located: Located) -> Predictor:
        """Scores of new examples: neighbours, and the models of the features that have a part in the average."""
        X = located.X
        models: dict[str, Model] = {}
        if X is not None:
            models = {f"forest, {name}": forest for name, forest in self.forests.items()}
            if KERNEL in plan.families and self.final.shape[1] <= MOST_CLASSES and located.parts.rows.size > 1:
                models[LINEAR] = self.linear or linear_scores(X, located.parts)[2]
        return fit_predictor(located.graph.weights, X, self.final, models)


def program_weight(families: Table) -> float:
    """Weight of the program: what families of graphs have in the average, shared with them evenly."""
    of_graphs = [float(row["weight"]) for row in families.rows() if row["family"] in (GRAPH, SUM)]
    return float(sum(of_graphs)) / (1 + len(of_graphs))


def _program_scores(program: Program, A: Array, n_classes: int) -> Floats | None:
    """Standardised soft labels of a solved program; None where it has fewer columns than there are classes."""
    F = program.engine.numpy(program.basis.synthesize(A))
    if F.shape[1] not in (1, n_classes):
        return None
    return standardize(as_distributions(F, n_classes))


def _unit(scores: Floats) -> Floats:
    return np.asarray(scores / (float(scores.std()) or 1.0))
