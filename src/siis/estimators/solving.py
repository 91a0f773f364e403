"""How estimators solve a program: enough vectors, a warning where the gap was not reached, what they show of it."""

from __future__ import annotations

import warnings
from dataclasses import replace
from typing import Any

from sklearn.exceptions import ConvergenceWarning

from siis.engine import NUMPY, Engine
from siis.errors import Message
from siis.graph import Graph
from siis.program import Program
from siis.program.solvers import Solution, solve_certified
from siis.progress import Progress, Report, no_progress


def enough_components(graph: Graph, n_components: int) -> int:
    """Raise the size of a basis to one constant for each connected component, with a warning."""
    if graph.n_components > n_components:
        warnings.warn(
            Message(
                "the labels lie in {found} connected components of the graph, more than {n_components:{n}}: one "
                "constant for each is used instead. Raise {n_neighbors}, or {n_components} to separate examples of "
                "one component.",
                found=graph.n_components,
                n=n_components,
            ),
            UserWarning,
            stacklevel=5,
        )
    return max(n_components, graph.n_components)


def certified_or_warned(
    program: Program,
    tol: float,
    max_iter: int,
    progress: Progress,
    report: Report = no_progress,
    start: Solution | None = None,
) -> Solution:
    """Solve to a duality gap of ``tol``, and warn where it was not reached. ``start`` is of the same basis."""
    solution = log_history(solve_certified(program, tol, max_iter, start=start, report=report), progress)
    if solution.status != "certified":
        warnings.warn(
            Message(
                "after {max_iter:{n}} iterations the relative duality gap is {gap:.1e}, above {tol:{goal:g}}. Raise "
                "{max_iter} or {tol}.",
                n=max_iter,
                gap=solution.relative_gap,
                goal=tol,
            ),
            ConvergenceWarning,
            stacklevel=5,
        )
    return solution


def log_history(solution: Solution, progress: Progress) -> Solution:
    """Report the solver's measurements, and return the solution."""
    history = solution.history
    for iteration, objective, gap in zip(history.iteration, history.objective, history.relative_gap, strict=True):
        progress.say(2, f"iteration {iteration}: objective {objective:.6g}, relative gap {gap:.1e}")
    return solution


def solution_attributes(solution: Solution, engine: Engine = NUMPY) -> dict[str, Any]:
    """Fitted attributes of a solution that an engine has found, with the multipliers on the host."""
    if not engine.is_host:
        dual = solution.dual
        dual = replace(dual, edges=engine.host(dual.edges), labels=engine.host(dual.labels))
        solution = replace(solution, dual=dual)
    return {
        "solution_": solution,
        "objective_": solution.objective,
        "dual_gap_": solution.relative_gap,
        "n_iter_": solution.n_iter,
        "history_": solution.history,
    }
