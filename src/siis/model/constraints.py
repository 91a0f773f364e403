"""What the user has fixed."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from siis.model.config import FAMILIES


@dataclass(frozen=True)
class Constraints:
    """What the user has fixed; "auto" leaves it open."""

    n_neighbors: int | str = "auto"
    connectivity: str = "auto"
    metric: str = "auto"
    bandwidth: float | str = "median"
    n_components: int | str = "auto"
    alpha: float | str = "auto"
    beta: float | str = "auto"
    laplacian: str = "auto"
    neighbor_search: Any = "auto"  # of the final graph: a name or an object
    members: Any = "auto"  # families of the members that are averaged

    @property
    def families(self) -> tuple[str, ...]:
        """Families of the members that are averaged."""
        return FAMILIES if isinstance(self.members, str) else tuple(self.members)

    @property
    def space_metric(self) -> str:
        """The spaces to try: a bandwidth in numbers is one in the units of X."""
        return "euclidean" if self.metric == "auto" and self.bandwidth != "median" else self.metric
