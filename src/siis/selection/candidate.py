"""The graph and the program of a fit."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from siis._types import Floats


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
    connectivity : {"union", "mutual"}
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
    connectivity: str
    fidelity: float
    pull: float
    reading: str
    n_components: int = 150
    beta: float | None = 3.0
    alpha: float | None = 1.0
    laplacian: str = "normalized"

    @property
    def program_reading(self) -> str:
        """How the final program's soft labels are read.

        The distributions that it smooths have been read already, and to read them so twice would favour small classes
        twice. So as they are, unless classes are of like size, or the Laplacian is the unnormalised one, whose smooth
        vectors let large classes flood small ones.
        """
        is_read_again = self.reading == "standardized" or self.laplacian == "unnormalized"
        return self.reading if is_read_again else "centered"


def hits(readings: Floats, Y: Floats) -> Floats:
    """The mass of each label, shape (l, c), on the class that is read, shape (l,)."""
    return np.asarray(Y[np.arange(len(Y)), np.argmax(readings, axis=1)])
