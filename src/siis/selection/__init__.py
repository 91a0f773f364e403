"""Choosing graph and smoothing from the given labels alone, however noisy."""

from siis.selection.candidate import Candidate
from siis.selection.constraints import Constraints
from siis.selection.final import Solved, final_basis, final_program, final_readings, solve_final
from siis.selection.folds import deal_folds
from siis.selection.part import is_searched_in_part
from siis.selection.prepared import join_scores, smoothed, total_deviation
from siis.selection.programs import program_candidates
from siis.selection.search import TOO_FEW, choose_on_graph, choose_on_points, cross_readings
from siis.selection.selection import BOTH, EVIDENCE, PROGRAM, Selection

__all__ = [
    "BOTH",
    "EVIDENCE",
    "PROGRAM",
    "TOO_FEW",
    "Candidate",
    "Constraints",
    "Selection",
    "Solved",
    "choose_on_graph",
    "choose_on_points",
    "cross_readings",
    "deal_folds",
    "final_basis",
    "final_program",
    "final_readings",
    "is_searched_in_part",
    "join_scores",
    "program_candidates",
    "smoothed",
    "solve_final",
    "total_deviation",
]
