"""What the user has fixed."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from siis.model.kernels import FAMILIES


@dataclass(frozen=True)
class Constraints:
    """What the user has fixed; "auto" leaves it open.

    Attributes
    ----------
    n_neighbors : int or "auto"
    connectivity : {"auto", "union", "mutual"}
    metric : {"auto", "euclidean", "cosine"}
    bandwidth : float or "median"
    n_components : int or "auto"
    alpha, beta : float or "auto"
    laplacian : {"auto", "normalized", "unnormalized"}
    neighbor_search : str or object
        How neighbours of the final graph are sought.
    members : sequence of str, or "auto"
    """

    n_neighbors: int | str = "auto"
    connectivity: str = "auto"
    metric: str = "auto"
    bandwidth: float | str = "median"
    n_components: int | str = "auto"
    alpha: float | str = "auto"
    beta: float | str = "auto"
    laplacian: str = "auto"
    neighbor_search: Any = "auto"
    members: Any = "auto"

    @property
    def families(self) -> tuple[str, ...]:
        """Families of the members that are averaged."""
        return FAMILIES if isinstance(self.members, str) else tuple(self.members)

    @property
    def family(self) -> str:
        """The spaces to try: a bandwidth in numbers is one in the units of X."""
        return "euclidean" if self.metric == "auto" and self.bandwidth != "median" else self.metric
