"""Examples -> neighbours -> Graph."""

from siis.graph.distinct import DistinctRows as DistinctRows
from siis.graph.distinct import distinct_rows as distinct_rows
from siis.graph.distinct import fingerprints as fingerprints
from siis.graph.graph import Graph
from siis.graph.graph import components_of as components_of
from siis.graph.graph import join as join
from siis.graph.neighbor_graph import NeighborGraph as NeighborGraph
from siis.graph.neighbor_graph import build_neighbor_graph as build_neighbor_graph
from siis.graph.neighbor_graph import from_neighbors as from_neighbors
from siis.graph.neighbor_graph import knn_from_graph as knn_from_graph
from siis.graph.neighbor_graph import ready_made as ready_made
from siis.graph.neighbors import Neighbors as Neighbors
from siis.graph.neighbors import candidates as candidates
from siis.graph.neighbors import check_range as check_range
from siis.graph.neighbors import neighbors_between as neighbors_between
from siis.graph.neighbors import neighbors_within as neighbors_within
from siis.graph.neighbors import prepare as prepare
from siis.graph.neighbors import without_self as without_self
from siis.graph.precomputed import graph_of_weights as graph_of_weights
from siis.graph.weights import gaussian_weights as gaussian_weights
from siis.graph.weights import median_bandwidth as median_bandwidth

__all__ = [
    "Graph",
]
