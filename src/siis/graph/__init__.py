"""Examples -> neighbours -> Graph."""

from siis.graph.distinct import DistinctRows, distinct_rows
from siis.graph.embed import Embedded, embed
from siis.graph.graph import Graph
from siis.graph.neighbors import Neighbors, neighbors_between, neighbors_within, prepare
from siis.graph.weights import gaussian_weights, median_bandwidth

__all__ = [
    "DistinctRows",
    "Embedded",
    "Graph",
    "Neighbors",
    "distinct_rows",
    "embed",
    "gaussian_weights",
    "median_bandwidth",
    "neighbors_between",
    "neighbors_within",
    "prepare",
]
