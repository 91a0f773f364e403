"""Program -> Solution."""

from siis.program.solvers.mixed_precision import solve_batch as solve_batch
from siis.program.solvers.mixed_precision import solve_certified
from siis.program.solvers.paper import solve_paper
from siis.program.solvers.solution import History, Solution

__all__ = ["History", "Solution", "solve_certified", "solve_paper"]
