"""How estimators solve a program: enough vectors, the solver, a warning where the gap was not reached."""

from __future__ import annotations

from dataclasses import dataclass

from sklearn.exceptions import ConvergenceWarning

from siis.errors import Message, warn
from siis.graph import Graph
from siis.program import Program
from siis.program.solvers import Solution, solve_certified, solve_paper
from siis.program.solvers.paper import MAX_ITER as PAPER_MAX_ITER
from siis.progress import Progress, Report, no_progress


@dataclass(frozen=True)
class Solver:
    """A solver and when it stops."""

    name: str  # "certified" or "paper"
    tol: float
    max_iter: int

    def __call__(
        self, program: Program, progress: Progress, report: Report = no_progress, start: Solution | None = None
    ) -> Solution:
        """Solve a program; warn where "certified" has not reached the gap. ``start`` is of the same basis."""
        if self.name == "paper":
            return _logged(solve_paper(program, self.tol, min(self.max_iter, PAPER_MAX_ITER)), progress)
        solution = _logged(solve_certified(program, self.tol, self.max_iter, start=start, report=report), progress)
        if solution.status != "certified":
            warn(
                Message(
                    "after {max_iter:{n}} iterations the relative duality gap is {gap:.1e}, above {tol:{goal:g}}. "
                    "Raise {max_iter} or {tol}.",
                    n=self.max_iter,
                    gap=solution.relative_gap,
                    goal=self.tol,
                ),
                ConvergenceWarning,
            )
        return solution


def enough_components(graph: Graph, n_components: int) -> int:
    """Raise the size of a basis to one constant for each connected component, with a warning."""
    if graph.n_components > n_components:
        warn(
            Message(
                "the labels lie in {found} connected components of the graph, more than {n_components:{n}}: one "
                "constant for each is used instead. Raise {n_neighbors}, or {n_components} to separate examples of "
                "one component.",
                found=graph.n_components,
                n=n_components,
            )
        )
    return max(n_components, graph.n_components)


def _logged(solution: Solution, progress: Progress) -> Solution:
    """Report the solver's measurements, and return the solution."""
    history = solution.history
    for iteration, objective, gap in zip(history.iteration, history.objective, history.relative_gap, strict=True):
        progress.say(2, f"iteration {iteration}: objective {objective:.6g}, relative gap {gap:.1e}")
    return solution
