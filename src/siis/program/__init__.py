"""The paper's convex program (M1): what is minimised, and what "solved" means."""

from siis.program.program import NO_BOUND as NO_BOUND
from siis.program.program import DualPoint, Program

__all__ = ["DualPoint", "Program"]
