"""Program -> Solution."""

from siis.solvers.mixed_precision import solve_batch as solve_batch
from siis.solvers.mixed_precision import solve_certified
from siis.solvers.paper import solve_paper
from siis.solvers.solution import History, Solution

__all__ = ["History", "Solution", "solve_certified", "solve_paper"]
