"""The labels to review, each with what a reviewer needs to see."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from siis._types import Ints
from siis.estimators.classifier import SIISClassifier
from siis.quality.issues import dissenting_neighbors
from siis.report.data import Suspect
from siis.report.shown import Material
from siis.report.words import reason

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


def found_issues(model: SIISClassifier, confirmed: frozenset[int], threshold: float | None = None) -> list[Issue]:
    """List what ``label_issues`` finds, less the labels that a reviewer has confirmed.

    Parameters
    ----------
    model : SIISClassifier
        Fitted with selection.
    confirmed : frozenset of int
    threshold : float, optional
        As that of ``label_issues``.

    Returns
    -------
    list of Issue
        Worst first.
    """
    return [
        Issue(int(row["index"]), str(row["given"]), str(row["suggested"]), float(row["quality"]), row["neighbors"])
        for row in model.label_issues(threshold).rows()
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
        near = (
            []
            if vertex[i] < 0
            else dissenting_neighbors(model.graph_, int(vertex[i]), at_vertex, int(codes[i]), example)
        )
        names = (str(model.classes_[codes[i]]), str(model.classes_[winners[i]]))
        issues.append(Issue(i, *names, float(quality[k]), near))
    return issues


def most_doubtful(model: SIISClassifier, confirmed: frozenset[int], n: int) -> list[Issue]:
    """List the given labels of the lowest quality, each with the likeliest other class.

    Parameters
    ----------
    model : SIISClassifier
        Fitted with selection.
    confirmed : frozenset of int
    n : int
        At most so many.

    Returns
    -------
    list of Issue
        Worst first.
    """
    quality = model.label_quality_.copy()
    quality[sorted(confirmed)] = np.nan
    known = np.sort(quality[~np.isnan(quality)])
    if not known.size:
        return []
    threshold = float(np.nextafter(known[min(n, known.size) - 1], np.inf))
    issues = found_issues(model, confirmed, threshold)[:n]
    return [replace(issue, suggested=_other(model, issue)) for issue in issues]


def _other(model: SIISClassifier, issue: Issue) -> str:
    """The likeliest class without the label's own say, other than the given one; where nothing is known, that one."""
    P = model.held_out_distributions_[issue.index].copy()
    if issue.suggested != issue.given or np.isnan(P).any():
        return issue.suggested
    P[model._given_codes[issue.index]] = -1.0
    return str(model.classes_[np.argmax(P)])


def suspect(issue: Issue, material: Material, rank: int, plain: bool) -> Suspect:
    """Show a suspect with its neighbours.

    Parameters
    ----------
    issue : Issue
    material : Material
    rank : int
        Its place in the list.
    plain : bool
        Whether the label had a say in its own quality.

    Returns
    -------
    Suspect
    """
    pictured = rank < MOST_PICTURED
    classes = [material.predicted[i] for i in issue.neighbors]
    return Suspect(
        **material.example(issue.index, pictured),
        given=issue.given,
        suggested=issue.suggested,
        quality=round(issue.quality, 6),
        why=reason(issue.given, issue.suggested, issue.quality, classes, plain),
        **material.neighborhood(issue.index, issue.neighbors, pictured),
    )
