"""Models of the features alone, which score new examples."""

from siis.experts.forest import Forest
from siis.experts.linear import LinearScores, linear_scores
from siis.experts.pool import Pool

__all__ = ["Forest", "LinearScores", "Pool", "linear_scores"]
