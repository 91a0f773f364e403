"""Members of the average: each scores all vertices, and every labelled one without its own label."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace

import numpy as np

from siis._types import Floats, Ints
from siis.engine.rows import evenly
from siis.model.config import MemberConfig, Plan
from siis.model.kernels import Kernel
from siis.model.link import SHARES, Link, MemberLabels, fit_link
from siis.model.ridge import Ridge, Scale, scale_of
from siis.model.scores import centred

MOST, WIDTH = 12, 2.0  # members of a family, and standard errors of the likelihood that they are behind at most
MOST_ROWS = 600  # vertices by which scores are standardised
STEPS = 4  # of the weights of families


@dataclass(eq=False)
class Member:
    """A fitted model of the labels."""

    config: MemberConfig
    kernel: Kernel | None  # None for a forest, whose scores do not change between passes
    ridge: Ridge | None
    scores: Floats  # (n, c), standardised, of all vertices
    held_out: Floats  # (l, c), the same of each label, without it
    scale: Scale
    link: Link = field(repr=False)

    @property
    def family(self) -> str:
        """Name of the family."""
        return self.config.family

    def fit(self, T: Floats) -> Floats:
        """Logarithms of probabilities of all vertices by other targets."""
        assert self.kernel is not None
        assert self.ridge is not None
        R, mean = self.ridge.fit(T)
        scores = self.kernel @ R + mean
        return self.link.logarithms(self.scaled(scores, mean))

    def scaled(self, scores: Floats, mean: Floats) -> Floats:
        """Scores of all vertices on the member's scale; ``mean`` is that of the targets."""
        return scale_of(scores[some_rows(len(scores))], mean if self.config.is_balanced else None)(scores)


def kernel_members(
    kernel: Kernel, labels: MemberLabels, fidelities: Sequence[float], scales: Sequence[bool] = (False,)
) -> list[Member]:
    """One member for each fidelity and scale of the scores, balanced or not."""
    K, found = kernel.rows(labels.rows), []
    some = some_rows(kernel.n)
    columns = kernel.rows(some)
    for fidelity in fidelities:
        ridge = Ridge.of(K, labels, fidelity)
        R, mean = ridge.fit(labels.Y)
        scores = kernel @ R + mean
        for is_balanced in scales:
            scale = scale_of(scores[some], mean if is_balanced else None)
            held = ridge.alone(R, mean, labels.Y, columns, is_balanced)
            config = replace(kernel.config, fidelity=fidelity, is_balanced=is_balanced)
            link = fit_link(held, labels, SHARES)
            found.append(Member(config, kernel, ridge, scale(scores), held, scale, link))
    return found


def some_rows(n: int) -> Ints:
    """Vertices by which scores are standardised."""
    return evenly(n, MOST_ROWS)


def unlabelled_rows(n: int, at: Ints, most: int) -> Ints:
    """Vertices without a label, all where there are none; at most so many, evenly spread."""
    free = np.setdiff1d(np.arange(n), at)
    rows = free if free.size else np.arange(n)
    return rows[evenly(rows.size, most)]


def families_of(members: Sequence[Member]) -> list[str]:
    """Names of the families, in order."""
    return list(dict.fromkeys(member.family for member in members))


def near_best(members: Sequence[Member], most: int = MOST, width: float = WIDTH) -> list[Member]:
    """Of each family, the members whose held-out likelihood is near that of its best one."""
    found: list[Member] = []
    for family in families_of(members):
        some = sorted((m for m in members if m.family == family), key=lambda m: -m.link.score)
        best = some[0].link.points
        behind = [best - m.link.points for m in some]
        found += [
            m for m, d in zip(some, behind, strict=True) if d.sum() <= width * np.sqrt(d.size) * d.std() + 1e-9
        ][:most]
    return found


@dataclass(frozen=True, eq=False)
class Ensemble:
    """Weighted mean of families' mean logarithms of probabilities, on one scale."""

    members: tuple[Member, ...]
    families: tuple[str, ...]
    weights: Floats

    @property
    def plan(self) -> Plan:
        """What it is made of."""
        return Plan(tuple(m.config for m in self.members), self.families, self.weights)

    def mean(self, values: Sequence[Floats]) -> Floats:
        """The mean of one array for each member; rows have mean 0."""
        total = np.zeros_like(values[0])
        for family, weight in zip(self.families, self.weights.tolist(), strict=True):
            some = [v for m, v in zip(self.members, values, strict=True) if m.family == family]
            total += (weight / len(some)) * np.sum(some, axis=0)
        return centred(total)


def weigh_families(members: Sequence[Member], labels: MemberLabels) -> Ensemble:
    """Average the weights of families over a grid, by held-out likelihood."""
    families = families_of(members)
    logs = [m.link.logarithms(m.held_out) for m in members]
    means = [np.mean([v for m, v in zip(members, logs, strict=True) if m.family == f], axis=0) for f in families]
    grid = np.array([w for w in np.ndindex(*(STEPS + 1,) * len(families)) if sum(w) == STEPS]) / STEPS
    likelihood = []
    for w in grid:
        Z = np.tensordot(w, means, 1)
        Z = centred(Z)
        likelihood.append(fit_link(Z / (Z.std() or 1.0), labels).score)
    posterior = np.exp(np.array(likelihood) - max(likelihood))
    weights = posterior @ grid / posterior.sum()
    kept = [f for f, w in zip(families, weights, strict=True) if w > 0.02]
    shares = np.array([w for w in weights if w > 0.02])
    return Ensemble(tuple(m for m in members if m.family in kept), tuple(kept), shares / shares.sum())
