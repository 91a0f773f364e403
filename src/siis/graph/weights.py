"""Gaussian weights on the edges, and a bandwidth in units of the data."""

import numpy as np

from siis._types import Floats
from siis.errors import Message
from siis.graph.neighbors import Neighbors

LEAST_NEAREST_WEIGHT = 0.1  # weight of the nearest neighbour in graphs of the default
UNDERFLOW = 1e-10  # a vertex whose largest weight is below this hangs on nothing


def median_bandwidth(neighbors: Neighbors) -> float:
    """The median positive distance between neighbours; 1.0 where all are 0 (then every weight is 1 anyway)."""
    positive = neighbors.distances[neighbors.distances > 0]
    return float(np.median(positive)) if positive.size else 1.0


def gaussian(distances: Floats, bandwidth: float) -> Floats:
    """exp(-d^2 / (2 xi^2)), in the precision of the distances."""
    return np.asarray(np.exp(-0.5 * (distances / bandwidth) ** 2))


def gaussian_weights(neighbors: Neighbors, bandwidth: float, least: float = 0.0) -> Floats:
    """Compute ``w_ij = exp(-||x_i - x_j||^2 / (2 xi^2))``.

    ``least`` is the weight of the nearest neighbour of a distant example: all its weights are scaled up to it, so
    that no example is cut off. Returns (n, K).
    """
    if not (np.isfinite(bandwidth) and bandwidth > 0):
        raise ValueError(f"bandwidth must be a positive number or 'median'; found {bandwidth!r}")
    exponents = 0.5 * (neighbors.distances / bandwidth) ** 2
    if least > 0:
        exponents -= np.maximum(exponents.min(axis=1, keepdims=True, initial=np.inf) + np.log(least), 0.0)
    weights: Floats = np.exp(-exponents)
    largest = weights.max(axis=1)
    if np.median(largest) < UNDERFLOW:
        raise ValueError(
            Message(
                "{bandwidth:{found:g}} is too small for these data: for most examples every neighbour's weight is "
                "below {least:g}. The median distance between neighbours is {median:.3g}; use a bandwidth of that "
                "size, or {bandwidth:median}.",
                found=bandwidth,
                least=UNDERFLOW,
                median=median_bandwidth(neighbors),
            )
        )
    return weights
