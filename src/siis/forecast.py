"""How long a fit of the default will take: costs of its stages by the sizes of the data, and the machine's speed."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from functools import cache
from importlib import resources

import numpy as np

COSTS = "costs.json"  # written by benchmarks/stages.py
MOST_SEARCHED, MOST_FEATURES = 10_000, 1_000  # beyond, more of them cost the search nothing, or little
LEAST = 0.02  # seconds of a stage
DOUBT = 0.1  # of the whole, that counts as spent at the usual speed: the first moments of a fit tell little


def kind_of(stage: str) -> str:
    """A stage's name without the numbers in it.

    Parameters
    ----------
    stage : str

    Returns
    -------
    str
    """
    return re.sub(r"\d+ ", "", stage)


def sizes(n_examples: int, n_features: int, n_labels: int, n_classes: int) -> list[float]:
    """Of what the logarithm of a stage's time is a linear function: 1 and the logarithms of sizes.

    Examples, those of them that a search sees all of at most, labels (the same), classes, columns.

    Parameters
    ----------
    n_examples, n_features, n_labels, n_classes : int

    Returns
    -------
    list of float
    """
    searched, labels = min(n_examples, MOST_SEARCHED), min(n_labels, MOST_SEARCHED)
    every = (n_examples, searched, labels, n_classes, min(n_features, MOST_FEATURES))
    return [1.0, *(float(np.log(max(size, 1))) for size in every)]


@cache
def _costs() -> dict[str, list[float]]:
    found: dict[str, list[float]] = json.loads(resources.files("siis").joinpath(COSTS).read_text("utf-8"))
    return found


def expected_seconds(n_examples: int, n_features: int, n_labels: int, n_classes: int) -> dict[str, float]:
    """What the stages of a fit would take on the machine on which they were measured.

    Parameters
    ----------
    n_examples, n_features, n_labels, n_classes : int

    Returns
    -------
    dict of str to float
        By the stage's name without numbers.
    """
    at = sizes(n_examples, n_features, n_labels, n_classes)
    return {stage: max(float(np.exp(np.dot(factors, at))), LEAST) for stage, factors in _costs().items()}


class Forecast:
    """Time left of a fit, by what its stages were expected to take and what those behind it have taken.

    Parameters
    ----------
    expected : mapping of str to float
        Seconds of each stage, by its name without numbers.
    """

    def __init__(self, expected: Mapping[str, float]) -> None:
        self.expected = dict(expected)
        self.taken: dict[str, float] = {}

    def spend(self, stage: str, seconds: float) -> None:
        """Take note of what a stage has taken so far.

        Parameters
        ----------
        stage : str
        seconds : float
        """
        self.taken[kind_of(stage)] = seconds

    def left(self, stage: str, share: float) -> float:
        """Seconds that are left, in a stage of which a share is done.

        sum_ahead e_s v, with e_s what stages were expected to take and v = (taken + D) / (expected + D) the machine's
        slowness, of the stages behind, with D a tenth of the whole. Of the present stage, what was expected and what
        the share tells, which weighs as much as the share: the first few per cent tell next to nothing.

        Parameters
        ----------
        stage : str
        share : float
            0 where it is not known.

        Returns
        -------
        float
        """
        now, doubt = kind_of(stage), DOUBT * sum(self.expected.values())
        behind = [name for name in self.taken if name != now and name in self.expected]
        slowness = (sum(self.taken[name] for name in behind) + doubt) / (
            sum(self.expected[name] for name in behind) + doubt
        )
        ahead = [name for name in self.expected if name not in self.taken and name != now]
        seconds = slowness * sum(self.expected[name] for name in ahead)
        if now in self.expected:
            taken, whole = self.taken.get(now, 0.0), slowness * self.expected[now]
            seconds += (1 - share) * max(whole - taken, 0.0) + (taken * (1 - share) if share > 0 else 0.0)
        return seconds
