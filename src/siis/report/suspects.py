"""The labels to review, each with what a reviewer needs to see."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np

from siis._types import Ints
from siis.classifier import SIISClassifier
from siis.report.data import Neighbor, Suspect
from siis.report.words import reason
from siis.trust.issues import witnesses

SNIPPET, NEAR_SNIPPET = 300, 120  # characters
MOST_PICTURED = 2_000  # suspects with thumbnails: more would make a page of hundreds of megabytes


@dataclass(frozen=True)
class Issue:
    """A suspected label.

    Attributes
    ----------
    index : int
        The example.
    given, suggested : str
    quality : float
    neighbors : list of int
        Examples that speak against it.
    """

    index: int
    given: str
    suggested: str
    quality: float
    neighbors: list[int]


def found_issues(model: SIISClassifier, confirmed: frozenset[int]) -> list[Issue]:
    """List what ``label_issues`` finds, less the labels that a reviewer has confirmed.

    Parameters
    ----------
    model : SIISClassifier
        Fitted with selection.
    confirmed : frozenset of int

    Returns
    -------
    list of Issue
        Worst first.
    """
    return [
        Issue(int(row["index"]), str(row["given"]), str(row["suggested"]), float(row["quality"]), row["neighbors"])
        for row in model.label_issues().rows()
        if int(row["index"]) not in confirmed
    ]


def doubted(model: SIISClassifier, codes: Ints, confirmed: frozenset[int]) -> list[Issue]:
    """List the given labels that the plain method's answer contradicts.

    Parameters
    ----------
    model : SIISClassifier
        Fitted without selection.
    codes : ndarray of shape (n,)
        Number of the given class; -1 where unlabelled.
    confirmed : frozenset of int

    Returns
    -------
    list of Issue
        Worst first.
    """
    answers, vertex = model.label_distributions_, model.vertex_
    winners = np.argmax(answers, axis=1)
    index = np.flatnonzero((codes >= 0) & (codes != winners))
    quality = answers[index, codes[index]]
    at_vertex = np.zeros(model.graph_.n_vertices, dtype=np.int64)
    example = np.zeros(model.graph_.n_vertices, dtype=np.int64)
    present = np.flatnonzero(vertex >= 0)[::-1]  # the first example at a vertex is written last
    at_vertex[vertex[present]], example[vertex[present]] = winners[present], present
    issues = []
    for k in np.lexsort((index, quality)):
        i = int(index[k])
        if i in confirmed:
            continue
        near = [] if vertex[i] < 0 else witnesses(model.graph_, int(vertex[i]), at_vertex, int(codes[i]), example)
        names = (str(model.classes_[codes[i]]), str(model.classes_[winners[i]]))
        issues.append(Issue(i, *names, float(quality[k]), near))
    return issues


@dataclass(frozen=True, eq=False)
class Material:
    """What can be shown of the examples.

    Attributes
    ----------
    ids : sequence of n str
    texts : sequence of n str or None, optional
    thumbnails : callable, optional
        Index -> data URI or None.
    predicted : list of n str
    """

    ids: Sequence[str]
    texts: Sequence[str | None] | None
    thumbnails: Callable[[int], str | None] | None
    predicted: list[str]

    def suspect(self, issue: Issue, rank: int, plain: bool) -> Suspect:
        """Show a suspect with its neighbours.

        Parameters
        ----------
        issue : Issue
        rank : int
            Its place in the list.
        plain : bool
            Whether the label had a say in its own quality.

        Returns
        -------
        Suspect
        """
        pictured = rank < MOST_PICTURED
        classes = [self.predicted[i] for i in issue.neighbors]
        return Suspect(
            id=self.ids[issue.index],
            given=issue.given,
            suggested=issue.suggested,
            quality=round(issue.quality, 6),
            why=reason(issue.given, issue.suggested, issue.quality, classes, plain),
            snippet=self.snippet(issue.index, SNIPPET),
            thumbnail=self.thumbnail(issue.index) if pictured else None,
            neighbors=[
                Neighbor(
                    self.ids[i],
                    self.predicted[i],
                    self.snippet(i, NEAR_SNIPPET),
                    self.thumbnail(i) if pictured else None,
                )
                for i in issue.neighbors
            ],
        )

    def snippet(self, index: int, length: int) -> str | None:
        """The beginning of an example's text, on one line.

        Parameters
        ----------
        index : int
        length : int

        Returns
        -------
        str or None
        """
        text = None if self.texts is None else self.texts[index]
        if text is None:
            return None
        line = " ".join(text[: 4 * length].split())  # a cell may hold megabytes
        return line if len(line) <= length and len(text) <= 4 * length else line[: length - 1] + "…"

    def thumbnail(self, index: int) -> str | None:
        """An example's picture, checked to be one.

        Parameters
        ----------
        index : int

        Returns
        -------
        str or None
        """
        picture = None if self.thumbnails is None else self.thumbnails(index)
        if picture is not None and not picture.startswith("data:image/"):
            raise ValueError(
                f"thumbnails must give data URIs of images; that of {self.ids[index]!r} begins with {picture[:20]!r}"
            )
        return picture
