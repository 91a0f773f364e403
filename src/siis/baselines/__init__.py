"""The methods that the paper compares with, on the same graph and with the same API as SIISClassifier."""

from siis.baselines.ablation import GFHFClassifier, GTFClassifier, RobustLaplacianClassifier
from siis.baselines.lssc import LSSCClassifier
from siis.baselines.spmr import SPMRClassifier

__all__ = ["GFHFClassifier", "GTFClassifier", "LSSCClassifier", "RobustLaplacianClassifier", "SPMRClassifier"]
