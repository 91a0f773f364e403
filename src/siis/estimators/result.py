"""What a fit has found, as one object; the fitted attributes of a classifier are views of it."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from siis._types import Bools, Floats, Ints
from siis.engine import NUMPY, Engine
from siis.graph import NeighborGraph
from siis.model.choose import Choices
from siis.model.located import FittedGraph
from siis.model.predictor import Predictor
from siis.program.basis import SmoothBasis
from siis.program.solvers import Solution
from siis.program.solvers.solution import History
from siis.quality.noise import NoiseModel
from siis.result_table import Table


@dataclass(frozen=True, eq=False)
class SolverResult:
    """How the program was solved; None where there is none."""

    objective: float | None = None
    dual_gap: float | None = None
    n_iter: int | None = None
    history: History | None = None
    solution: Solution | None = None  # model files keep neither solution nor basis
    basis: SmoothBasis | None = None

    @classmethod
    def of(cls, solution: Solution, engine: Engine = NUMPY, basis: SmoothBasis | None = None) -> SolverResult:
        """Of a solution that an engine has found, with the multipliers on the host."""
        if not engine.is_host:
            dual = solution.dual
            dual = replace(dual, edges=engine.host(dual.edges), labels=engine.host(dual.labels))
            solution = replace(solution, dual=dual)
        found = solution.objective, solution.relative_gap, solution.n_iter, solution.history
        return cls(*found, solution, None if basis is None else basis.on(NUMPY))


@dataclass(frozen=True, eq=False)
class LabelQuality:
    """The given labels assessed by scores that did not see them."""

    quality: Floats  # (n,), probability that a given label is right; NaN where unlabelled
    suggested: Ints  # (n,), likeliest class of labelled examples; -1 elsewhere
    listed: Bools  # (n,), in the list of issues
    before: Ints  # (n,), verified labels before they were checked, other labels; -1 where unknown
    held_out: Floats  # (n, c), probabilities of labelled examples without their own labels; NaN elsewhere
    noise: NoiseModel
    graph_score: float
    class_shares: Table
    levels: Floats  # (m, 2), of prediction sets: probabilities, and how often the true class has at least these


@dataclass(frozen=True, eq=False)
class AverageFit:
    """What was averaged, and the models that predict new examples."""

    choices: Choices
    families: Table
    predictor: Predictor
    supported: Ints  # (s,), the classes that take part, ascending
    n_searched: int  # labels at the last search
    settings: str  # the parameters of that search


@dataclass(frozen=True, eq=False)
class FitResult:
    """Everything that a fit has found."""

    classes: np.ndarray[Any, Any]  # (c,)
    codes: Ints  # (n,), given classes; -1 where no label is used
    fitted: FittedGraph
    metric: str  # of the points; with ``fitted.space``, that of the space
    n_neighbors: int  # by which new examples are predicted
    vertex_distributions: Floats  # (n_vertices, c)
    vertex_reached: Bools  # (n_vertices,), whether a label is connected
    prior: Floats  # (c,), frequencies of the given labels
    seed: int
    solver: SolverResult
    distributions: Floats = field(default_factory=lambda: np.zeros((0, 0)))  # (n, c)
    reached: Bools = field(default_factory=lambda: np.zeros(0, dtype=bool))  # (n,)
    quality: LabelQuality | None = None  # None where no label was held out
    average: AverageFit | None = None  # None with the plain method

    @property
    def placed(self) -> NeighborGraph:
        """The examples on their graph."""
        return self.fitted.placed

    def attributes(self) -> dict[str, Any]:
        """Public attributes of the fitted classifier."""
        placed, solver = self.placed, self.solver
        winners = np.argmax(self.vertex_distributions[placed.vertex[self.reached & (placed.vertex >= 0)]], axis=1)
        found = {
            "classes_": self.classes,
            "transduction_": self.classes[np.argmax(self.distributions, axis=1)],
            "label_distributions_": self.distributions,
            "is_reached_": self.reached,
            "graph_": placed.graph,
            "vertex_": placed.vertex,
            "bandwidth_": placed.bandwidth,
            "neighbor_search_": placed.search,
            "neighbor_recall_": placed.recall,
            "largest_class_share_": float(np.bincount(winners).max() / winners.size),
            "largest_given_share_": float(self.prior.max()),
            "objective_": solver.objective,
            "dual_gap_": solver.dual_gap,
            "n_iter_": solver.n_iter,
            "history_": solver.history,
            "solution_": solver.solution,
            "basis_": solver.basis,
        }
        if self.average is not None and self.quality is not None:
            choices, quality, noise = self.average.choices, self.quality, self.quality.noise
            found |= {
                "members_": choices.members,
                "families_": self.average.families,
                "average_summary_": choices.summary,
                "leading_graph_": choices.leading,
                "program_": choices.program,
                "label_quality_": quality.quality,
                "held_out_distributions_": quality.held_out,
                "noise_rate_": noise.rate,
                "noise_interval_": noise.interval,
                "noise_matrix_": noise.matrix,
                "class_noise_rates_": noise.class_rates,
                "graph_score_": quality.graph_score,
                "class_shares_": quality.class_shares,
            }
        return {name: value for name, value in found.items() if value is not None}


def set_result(model: Any, result: FitResult) -> Any:
    """Make a classifier the one that a fit has found; attributes of an earlier fit go."""
    earlier = getattr(model, "result_", None)
    for name in {} if earlier is None else earlier.attributes():
        model.__dict__.pop(name, None)
    model.result_ = result
    model.__dict__.update(result.attributes())
    return model
