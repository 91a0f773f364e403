"""What can be chosen, and which of two choices is the simpler."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np

from siis._types import Bools, Floats, Ints

CHANCE = 4.0  # labels that may fall either way by chance, so that no candidate wins by a single label
TELL_APART = 0.5  # standard errors of the difference: candidates closer than this to the best count as equal


@dataclass(frozen=True)
class Candidate:
    """One way to get from points and labels to evidence.

    Attributes
    ----------
    space : str
        Name of the space in which neighbours are sought.
    score_weight : float
        Weight of the kernel model's scores among the coordinates; 0 leaves them out.
    n_neighbors : int
    graph : {"union", "mutual"}
    fidelity : float
        Trust in the labels, relative to the graph; smaller is smoother.
    pull : float
        Trust in the scores at every vertex.
    reading : {"balanced", "standardized", "centered"}
    n_components : int
        Size of the final program's basis.
    beta, alpha : float or None
        Weights of the final program, over the mean degree of the graph (beta with the unnormalised Laplacian: as it
        is); None where the user has set them.
    laplacian : {"normalized", "unnormalized"}
    """

    space: str
    score_weight: float
    n_neighbors: int
    graph: str
    fidelity: float
    pull: float
    reading: str
    n_components: int = 150
    beta: float | None = 3.0
    alpha: float | None = 1.0
    laplacian: str = "normalized"

    @property
    def graph_key(self) -> tuple[float, int, str]:
        """What makes the graph in a space: score weight, neighbours, and how they are joined."""
        return self.score_weight, self.n_neighbors, self.graph

    @property
    def complexity(self) -> tuple[float, ...]:
        """Simpler and smoother candidates come first; the smoothest last where it would let large classes flood."""
        roughness = self.fidelity if self.reading == "standardized" else abs(np.log10(self.fidelity) + 1)
        return (self.score_weight, self.pull, float(roughness), self.n_neighbors)

    @property
    def program_reading(self) -> str:
        """How the final program's soft labels are read.

        The distributions that it smooths have been read already, and to read them so twice would favour small classes
        twice. So as they are, unless classes are of like size, or the Laplacian is the unnormalised one, whose smooth
        vectors let large classes flood small ones.
        """
        is_read_again = self.reading == "standardized" or self.laplacian == "unnormalized"
        return self.reading if is_read_again else "centered"

    @property
    def program_complexity(self) -> tuple[float, ...]:
        """Of candidates that differ in the final program alone: smaller bases, then smoother programs come first."""
        return (self.n_components, -(self.beta or 0.0), self.alpha or 0.0, float(self.laplacian != "normalized"))


@dataclass(frozen=True, eq=False)
class Comparison:
    """Held-out hits of candidates on the same labels.

    Attributes
    ----------
    accuracy, error : ndarray of shape (k,)
        Weighted mean of the hits and its standard error.
    behind, behind_error : ndarray of shape (k,)
        How far a candidate is behind the best one, and the standard error of that difference, with four labels more
        that may fall either way.
    """

    accuracy: Floats
    error: Floats
    behind: Floats
    behind_error: Floats

    def level(self, margin: float = TELL_APART) -> Bools:
        """Which candidates cannot be told from the best one, shape (k,); margin in standard errors."""
        return np.asarray(self.behind <= margin * self.behind_error + 1e-12)

    def winner(self, complexity: list[tuple[float, ...]], margin: float = TELL_APART) -> int:
        """The simplest of those that cannot be told from the best; ties go to the more accurate."""
        level = [int(k) for k in np.flatnonzero(self.level(margin))]
        return min(level, key=lambda k: (complexity[k], -self.accuracy[k], k))


def compare(met: Floats, weights: Floats, order: list[tuple[float, ...]] | None = None) -> Comparison:
    """Compare candidates on held-out labels.

    Parameters
    ----------
    met : ndarray of shape (k, l)
        The share of each label's mass that lies on the predicted class.
    weights : ndarray of shape (l,)
    order : list of k tuples, optional
        Of several that are best, the others are compared to the least in this; if left out, to the first.

    Returns
    -------
    Comparison
    """
    share = weights / weights.sum()
    accuracy = met @ share
    behind = accuracy.max() - accuracy
    level = np.flatnonzero(behind <= 1e-12)
    best = level[0] if order is None else min(level, key=lambda k: order[k])
    difference = met[best] - met
    return Comparison(
        accuracy,
        _standard_error(met - accuracy[:, None], share),
        behind,
        np.hypot(_standard_error(difference - behind[:, None], share), np.sqrt(CHANCE) * share.max()),
    )


def _standard_error(deviations: Floats, share: Floats) -> Floats:
    return np.asarray(np.sqrt(deviations**2 @ share**2))


def hits(readings: Floats, Y: Floats) -> Floats:
    """The mass of each label, shape (l, c), on the class that is read, shape (l,)."""
    return np.asarray(Y[np.arange(len(Y)), np.argmax(readings, axis=1)])


def expected_hits(met: Floats, Y: Floats, prior: Floats, is_reached: Bools, unreached: float) -> Floats:
    """Hits as they would be over all vertices: where no label reaches, a guess by the labels' frequencies (C7).

    Parameters
    ----------
    met : ndarray of shape (l,)
        Hits on held-out labels.
    Y : ndarray of shape (l, c)
        These labels.
    prior : ndarray of shape (c,)
    is_reached : ndarray of bool, shape (l,)
        Whether one of the other labels is connected to the vertex.
    unreached : float
        Share of all vertices that no label reaches.

    Returns
    -------
    ndarray of shape (l,)
    """
    guessed = Y @ prior
    return np.asarray((1 - unreached) * np.where(is_reached, met, guessed) + unreached * guessed)


def failed_rows(stage: str, failures: Mapping[Candidate, str]) -> list[dict[str, Any]]:
    """Rows of candidates that ended without an answer, for the table of what was tried.

    Parameters
    ----------
    stage : str
    failures : mapping of Candidate to str
        Why each of them did.

    Returns
    -------
    list of dict
    """
    unknown = dict.fromkeys(("accuracy", "error", "behind", "behind_error", "unreached"), float("nan"))
    return [
        {"stage": stage, **asdict(candidate), **unknown, "n_held_out": 0, "chosen": False, "failed": why}
        for candidate, why in failures.items()
    ]


def rank_candidates(
    stage: str,
    candidates: list[Candidate],
    met: Floats,
    weights: Floats,
    order: list[tuple[float, ...]],
    margin: float = TELL_APART,
    unreached: Floats | None = None,
) -> tuple[list[dict[str, Any]], int]:
    """Rank the candidates of a stage of the search.

    Parameters
    ----------
    stage : str
    candidates : list of k Candidate
    met : ndarray of shape (k, l)
        Hits on held-out labels.
    weights : ndarray of shape (l,)
    order : list of k tuples
        Complexity; the least of those that cannot be told from the best wins.
    margin : float
        Standard errors within which they cannot.
    unreached : ndarray of shape (k,), optional
        Share of the vertices that no label reaches, where hits allow for them.

    Returns
    -------
    rows : list of k dict
        For the table of what was tried, best first.
    best : int
    """
    judged = compare(met, weights, order)
    best = judged.winner(order, margin)
    rows: list[dict[str, Any]] = [
        {
            "stage": stage,
            **asdict(candidates[k]),
            "accuracy": float(judged.accuracy[k]),
            "error": float(judged.error[k]),
            "behind": float(judged.behind[k]),
            "behind_error": float(judged.behind_error[k]),
            "unreached": float("nan") if unreached is None else float(unreached[k]),
            "n_held_out": met.shape[1],
            "chosen": bool(k == best),
            "failed": "",
        }
        for k in np.argsort(-judged.accuracy, kind="stable")
    ]
    return rows, best


def held_out(folds: Ints) -> Ints:
    """The labels that are held out in some fold."""
    return np.flatnonzero(folds >= 0)
