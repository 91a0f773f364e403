"""The plain method: no selection, the paper's kind of parameters."""

from functools import partial

from siis import SIISClassifier

PlainSIIS = partial(SIISClassifier, method="paper", solver="certified")
