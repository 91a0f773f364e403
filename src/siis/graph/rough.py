"""Neighbours and weights of graphs that are tried and thrown away: fast, in single precision, unchecked."""

import numpy as np

from siis._types import Floats, Sparse
from siis.engine import NUMPY, Engine
from siis.graph.graph import join
from siis.graph.neighbors import Neighbors, candidates, without_self
from siis.graph.weights import LEAST, gaussian_weights, median_bandwidth
from siis.progress import no_progress


def graph_weights(
    points: Floats | Neighbors, n_neighbors: int, kind: str, bandwidth: float | str = "median"
) -> Sparse:
    """Weights of a neighbourhood graph, unchecked and fast: for graphs that are tried and thrown away."""
    found = points if isinstance(points, Neighbors) else nearest(points, n_neighbors)
    found = Neighbors(found.indices[:, :n_neighbors], found.distances[:, :n_neighbors])
    width = median_bandwidth(found) if bandwidth == "median" else float(bandwidth)
    return join(found, gaussian_weights(found, width, LEAST if bandwidth == "median" else 0.0), kind)


def nearest(points: Floats, n_neighbors: int, engine: Engine = NUMPY) -> Neighbors:
    """Nearest other points, in single precision."""
    if engine.can_search:
        indices, distances = engine.nearest(points, min(n_neighbors + 1, len(points)), 0, no_progress)
        return Neighbors(*without_self(indices, distances))
    centered = points - points.mean(axis=0)
    largest = float(np.abs(centered).max()) or 1.0  # any units of X fit into single precision
    compact = np.ascontiguousarray(centered / largest, dtype=np.float32)
    indices, scores = candidates(compact, compact, min(n_neighbors + 1, len(points)))
    own = np.einsum("ij,ij->i", compact, compact)[:, None]
    indices, squares = without_self(indices, np.maximum(scores + own, 0).astype(np.float64))
    return Neighbors(indices, largest * np.sqrt(squares))
