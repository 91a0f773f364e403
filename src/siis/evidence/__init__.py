"""What the labels say about every vertex: scores of a kernel model, smoothed over the graph, read class by class."""

from siis.evidence.kernel import KernelScores, kernel_scores
from siis.evidence.reading import READINGS, as_distributions, as_scores, read, softmax
from siis.evidence.smoother import smooth_folds, smooth_labels
from siis.evidence.space import Space, spaces

__all__ = [
    "READINGS",
    "KernelScores",
    "Space",
    "as_distributions",
    "as_scores",
    "kernel_scores",
    "read",
    "smooth_folds",
    "smooth_labels",
    "softmax",
    "spaces",
]
