"""What was chosen, what was tried, and why the winner won."""

from __future__ import annotations

from dataclasses import dataclass, field, replace

import numpy as np

from siis._types import Floats, Ints
from siis.evidence import Space
from siis.evidence.kernel import Kernel
from siis.result_table import Table
from siis.selection.candidate import Candidate

PROGRAM, BOTH, EVIDENCE = "program", "both", "evidence"  # what speaks for the graph


@dataclass(frozen=True, eq=False)
class Selection:
    """What was chosen, and why.

    Attributes
    ----------
    chosen : Candidate
    space : Space or None
        None for a ready-made graph.
    unit : float
        Median distance to the tenth neighbour in it, in which scores are weighed against points.
    kernel : Kernel or None
    table : Table
        Everything that was tried: the share of held-out given labels that was met (accuracy), its standard error, how
        far that is behind the best of its stage, and the standard error of that difference; of graphs, the share of
        vertices that no label reaches, which count as guesses in their accuracy; why a candidate failed, if it did.
    reason : str
        Why the chosen one was chosen, in a sentence.
    rows : ndarray of shape (l,)
        The labelled examples whose labels were held out, by their place among the labelled ones.
    readings : ndarray of shape (l, c)
        What the chosen candidate says of them without their own labels.
    shares : ndarray of shape (c,)
        Of the classes in the population, by which held-out labels are weighed.
    answer : {"program", "both", "evidence"}
        What speaks for the graph: the final program, or, where held-out labels are met more often so, the evidence or
        the mean of both.
    beside : tuple of Candidate
        Other graphs, whose evidence is averaged with the chosen one's.
    """

    chosen: Candidate
    space: Space | None
    unit: float
    kernel: Kernel | None
    table: Table
    reason: str
    rows: Ints
    readings: Floats
    shares: Floats = field(default_factory=lambda: np.zeros(0))
    answer: str = PROGRAM
    beside: tuple[Candidate, ...] = ()

    def without(self, failures: dict[Candidate, str], chosen: Candidate) -> Selection:
        """The selection after final programs have failed, and another one has been solved.

        Parameters
        ----------
        failures : dict of Candidate to str
            Those that failed, and why.
        chosen : Candidate
            The one that was solved.

        Returns
        -------
        Selection
        """
        reason = f"{self.reason}; of the programs, {len(failures)} failed on all examples, and the next was taken"
        return replace(self, chosen=chosen, reason=reason)
