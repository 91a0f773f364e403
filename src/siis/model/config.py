"""What members are made of, and which of them are averaged."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from siis._types import Floats

GRAPH, KERNEL, SUM, FOREST = FAMILIES = "graph", "kernel", "graph and kernel", "forest"
GIVEN = "ready-made"  # graph
FEATURES = "features"  # instead of a space: the features themselves


@dataclass(frozen=True)
class MemberConfig:
    """Family, data and fidelity of one member."""

    family: str
    space: str = FEATURES
    n_neighbors: int = 0  # of its graph; 0 without one
    connectivity: str = ""  # "mutual", "union" or "ready-made"; "" without a graph
    weight: float = 0.0  # of the Gaussian kernel in a sum
    partner: str = ""  # space of that kernel
    splits: str = ""  # of a forest's trees
    fidelity: float = 0.0  # trust in the labels
    is_balanced: bool = False  # scores are scaled for classes of unlike size

    @property
    def graph(self) -> tuple[str, int, str]:
        """Space, neighbours and connectivity of its graph."""
        return self.space, self.n_neighbors, self.connectivity


@dataclass(frozen=True, eq=False)
class Plan:
    """The members that are averaged, and the weights of their families."""

    members: tuple[MemberConfig, ...]
    families: tuple[str, ...]
    weights: Floats  # of the families

    def member_weights(self) -> list[float]:
        """Weight of each member."""
        of = [config.family for config in self.members]
        weight = dict(zip(self.families, self.weights.tolist(), strict=True))
        return [weight[family] / of.count(family) for family in of]

    def shortened(self, n_graphs: int, n_of_family: int) -> Plan:
        """The best members of each family, on the best graphs: each graph needs a factorisation.

        Members of a family are in order, the best first.
        """
        order = [f for _, f in sorted(zip(-self.weights, self.families, strict=True)) if f in (GRAPH, SUM)]
        graphs = list(dict.fromkeys(c.graph for f in order for c in self.members if c.family == f))[:n_graphs]
        kept = [c for c in self.members if c.family not in (GRAPH, SUM) or c.graph in graphs]
        configs = [c for f in self.families for c in [c for c in kept if c.family == f][:n_of_family]]
        families = [f for f in self.families if any(c.family == f for c in configs)]
        weights = np.array([w for f, w in zip(self.families, self.weights, strict=True) if f in families])
        return Plan(tuple(configs), tuple(families), weights / weights.sum())
