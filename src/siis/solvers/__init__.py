"""Program -> Solution."""

from siis.solvers.certified import solve_batch as solve_batch
from siis.solvers.certified import solve_certified
from siis.solvers.paper import solve_paper
from siis.solvers.solution import History, Solution

__all__ = ["History", "Solution", "solve_certified", "solve_paper"]
