"""Models that look at the features alone, without a graph, and the pool of what they and the graph say."""

from siis.experts.forest import Forest, forest_scores
from siis.experts.leaves import LeafGraph, leaf_scores
from siis.experts.linear import LinearScores, linear_scores
from siis.experts.pool import Pool, fit_pool

__all__ = ["Forest", "LeafGraph", "LinearScores", "Pool", "fit_pool", "forest_scores", "leaf_scores", "linear_scores"]
