"""The graph and the program of a fit, and what the user has fixed of them."""

from siis.selection.candidate import Candidate
from siis.selection.constraints import Constraints
from siis.selection.final import Solved, final_basis, final_program, final_readings, solve_final
from siis.selection.folds import deal_folds
from siis.selection.prepared import join_scores, total_deviation
from siis.selection.programs import program_candidates
from siis.selection.selection import BOTH, EVIDENCE, PROGRAM, Selection

__all__ = [
    "BOTH",
    "EVIDENCE",
    "PROGRAM",
    "Candidate",
    "Constraints",
    "Selection",
    "Solved",
    "deal_folds",
    "final_basis",
    "final_program",
    "final_readings",
    "join_scores",
    "program_candidates",
    "solve_final",
    "total_deviation",
]
