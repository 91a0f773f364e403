"""Classify many examples from few, partly wrong labels, and prove how good the answer is."""

from siis.classifier import SIISClassifier

__version__ = "0.1.0"

__all__ = ["SIISClassifier", "__version__"]
