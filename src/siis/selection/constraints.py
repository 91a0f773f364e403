"""What the user has fixed, and the graphs that are left to try."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

GRAPHS = ((5, "mutual"), (10, "mutual"), (20, "mutual"), (50, "mutual"), (10, "union"), (20, "union"))
UNION_ONLY = (5, 10, 20, 50)
USUAL_GRAPH = (10, "mutual")


@dataclass(frozen=True)
class Constraints:
    """What the user has fixed; "auto" leaves it open.

    Attributes
    ----------
    n_neighbors : int or "auto"
    graph : {"auto", "union", "mutual"}
    metric : {"auto", "euclidean", "cosine"}
    bandwidth : float or "median"
    n_components : int or "auto"
    alpha, beta : float or "auto"
    laplacian : {"auto", "normalized", "unnormalized"}
    neighbors : str or object
        How neighbours of the final graph are sought.
    """

    n_neighbors: int | str = "auto"
    graph: str = "auto"
    metric: str = "auto"
    bandwidth: float | str = "median"
    n_components: int | str = "auto"
    alpha: float | str = "auto"
    beta: float | str = "auto"
    laplacian: str = "auto"
    neighbors: Any = "auto"

    @property
    def family(self) -> str:
        """The spaces to try: a bandwidth in numbers is one in the units of X."""
        return "euclidean" if self.metric == "auto" and self.bandwidth != "median" else self.metric

    def graphs(self, n_vertices: int) -> list[tuple[int, str]]:
        """The graphs to try: (n_neighbors, kind), without repetition."""
        kinds = ("mutual", "union") if self.graph == "auto" else (self.graph,)
        if self.n_neighbors == "auto":
            wanted = [(K, kind) for K, kind in GRAPHS if kind in kinds]
            if self.graph == "union":
                wanted = [(K, "union") for K in UNION_ONLY]
        else:
            wanted = [(int(self.n_neighbors), kind) for kind in kinds]
        return list(dict.fromkeys((min(K, n_vertices - 1), kind) for K, kind in wanted))


def usual_graph(graphs: list[tuple[int, str]]) -> tuple[int, str]:
    """The one of these graphs that is nearest to ten mutual neighbours."""
    return min(graphs, key=lambda graph: (abs(graph[0] - USUAL_GRAPH[0]), graph[1] != USUAL_GRAPH[1]))
