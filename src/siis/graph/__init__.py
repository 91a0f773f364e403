"""Examples -> neighbours -> Graph."""

from siis.graph.distinct import DistinctRows, distinct_rows, fingerprints
from siis.graph.graph import Graph, components_of, join
from siis.graph.neighbor_graph import NeighborGraph, build_neighbor_graph, from_neighbors, knn_from_graph, ready_made
from siis.graph.neighbors import (
    Neighbors,
    candidates,
    check_range,
    neighbors_between,
    neighbors_within,
    prepare,
    without_self,
)
from siis.graph.precomputed import graph_of_weights
from siis.graph.weights import gaussian_weights, median_bandwidth

__all__ = [
    "DistinctRows",
    "Graph",
    "NeighborGraph",
    "Neighbors",
    "build_neighbor_graph",
    "candidates",
    "check_range",
    "components_of",
    "distinct_rows",
    "fingerprints",
    "from_neighbors",
    "gaussian_weights",
    "graph_of_weights",
    "join",
    "knn_from_graph",
    "median_bandwidth",
    "neighbors_between",
    "neighbors_within",
    "prepare",
    "ready_made",
    "without_self",
]
