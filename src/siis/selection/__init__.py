"""Choosing graph and smoothing from the given labels alone, however noisy."""

from siis.selection.candidate import Candidate
from siis.selection.final import final_basis, final_program, final_readings, solve_final
from siis.selection.folds import deal_folds
from siis.selection.place import Wishes, join_scores, smoothed, total_deviation
from siis.selection.search import (
    MOST_VERTICES,
    Selection,
    cross_readings,
    search,
    search_graph,
)

__all__ = [
    "MOST_VERTICES",
    "Candidate",
    "Selection",
    "Wishes",
    "cross_readings",
    "deal_folds",
    "final_basis",
    "final_program",
    "final_readings",
    "join_scores",
    "search",
    "search_graph",
    "smoothed",
    "solve_final",
    "total_deviation",
]
