"""Which programs are solved: the usual one first."""

from __future__ import annotations

from dataclasses import replace

from siis.selection.candidate import Candidate
from siis.selection.constraints import Constraints
from siis.selection.final import FEW_COLUMNS, MOST_COLUMNS

LEAST_COMPONENTS, COMPONENTS_PER_CLASS = 150, 3
SMALLER = 0.4  # of the basis
PROGRAMS = {  # size of the basis and beta, in units of the graph; the usual one first
    "normalized": ((SMALLER, 30.0), (1.0, 3.0)),
    "unnormalized": ((SMALLER, 300.0),),
}
ALPHA = 1.0  # in units of the graph


def program_candidates(chosen: Candidate, constraints: Constraints, n_classes: int) -> list[Candidate]:
    """The final programs to try, the usual one first; what the user has set is kept.

    Parameters
    ----------
    chosen : Candidate
    constraints : Constraints
    n_classes : int

    Returns
    -------
    list of Candidate
    """
    usual = _usual_components(n_classes)
    laplacians = tuple(PROGRAMS) if constraints.laplacian == "auto" else (constraints.laplacian,)
    if chosen.reading != "standardized":
        laplacians = laplacians[:1]  # the unnormalised one lets large classes flood small ones
    found = [
        replace(
            chosen,
            n_components=int(share * usual) if constraints.n_components == "auto" else int(constraints.n_components),
            beta=beta if constraints.beta == "auto" else None,
            alpha=ALPHA if constraints.alpha == "auto" else None,
            laplacian=laplacian,
        )
        for laplacian in laplacians
        for share, beta in PROGRAMS[laplacian]
    ]
    return list(dict.fromkeys(found))


def _usual_components(n_classes: int) -> int:
    return max(COMPONENTS_PER_CLASS * (n_classes if is_within(n_classes) else FEW_COLUMNS), LEAST_COMPONENTS)


def is_within(n_classes: int) -> bool:
    """Whether a program of so many classes is tried at all; else the evidence speaks."""
    return n_classes <= MOST_COLUMNS
