"""Examples -> neighbours -> Graph."""

from siis.graph.around import neighbors_on
from siis.graph.distinct import DistinctRows, distinct_rows, fingerprints
from siis.graph.embed import Embedded, embed, placed, ready_made
from siis.graph.graph import Graph, components_of, join
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
    "Embedded",
    "Graph",
    "Neighbors",
    "candidates",
    "check_range",
    "components_of",
    "distinct_rows",
    "embed",
    "fingerprints",
    "gaussian_weights",
    "graph_of_weights",
    "join",
    "median_bandwidth",
    "neighbors_between",
    "neighbors_on",
    "neighbors_within",
    "placed",
    "prepare",
    "ready_made",
    "without_self",
]
