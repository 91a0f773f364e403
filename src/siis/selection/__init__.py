"""Choosing graph and smoothing from the given labels alone, however noisy."""

from siis.selection.candidate import Candidate
from siis.selection.folds import deal_folds
from siis.selection.place import Wishes, join_scores, total_deviation
from siis.selection.search import (
    MOST_VERTICES,
    Selection,
    cross_readings,
    search,
    search_graph,
    smoothed,
)

__all__ = [
    "MOST_VERTICES",
    "Candidate",
    "Selection",
    "Wishes",
    "cross_readings",
    "deal_folds",
    "join_scores",
    "search",
    "search_graph",
    "smoothed",
    "total_deviation",
]
