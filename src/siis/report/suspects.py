"""The labels to review, each with what a reviewer needs to see."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from siis._types import Ints
from siis.estimators.classifier import SIISClassifier
from siis.labels.unlabelled import coded_rows
from siis.quality.issues import BELOW_CERTAIN, CERTAIN, dissenting_neighbors, ranking_table
from siis.report.data import Suspect
from siis.report.shown import Material
from siis.report.words import reason
from siis.result_table import Table

MOST_PICTURED = 2_000  # suspects with thumbnails: more would make a page of hundreds of megabytes


@dataclass(frozen=True)
class Issue:
    """A suspected label; ``neighbors`` are close examples with another class."""

    index: int
    given: str
    suggested: str
    quality: float
    neighbors: list[int]


def found_issues(model: SIISClassifier, confirmed: frozenset[int], threshold: float | None = None) -> list[Issue]:
    """Label issues of the model without those that a reviewer has confirmed, worst first."""
    return [
        Issue(int(row["index"]), str(row["given"]), str(row["suggested"]), float(row["quality"]), row["neighbors"])
        for row in model.label_issues(threshold).rows()
        if int(row["index"]) not in confirmed
    ]


def doubted(model: SIISClassifier, codes: Ints, confirmed: frozenset[int]) -> list[Issue]:
    """Given labels that the prediction contradicts, worst first, for a model fitted without selection."""
    vertex, winners = model.vertex_, np.argmax(model.label_distributions_, axis=1)
    at_vertex = np.zeros(model.graph_.n_vertices, dtype=np.int64)
    example = np.zeros(model.graph_.n_vertices, dtype=np.int64)
    present = np.flatnonzero(vertex >= 0)[::-1]  # the first example at a vertex is written last
    at_vertex[vertex[present]], example[vertex[present]] = winners[present], present
    issues = []
    for row in unjudged_ranking(model, codes, confirmed).rows():
        i = int(row["index"])
        if i in confirmed or codes[i] == winners[i]:
            continue
        near = (
            []
            if vertex[i] < 0
            else dissenting_neighbors(model.graph_, int(vertex[i]), at_vertex, int(codes[i]), example)
        )
        issues.append(Issue(i, str(row["given"]), str(row["suggested"]), float(row["quality"]), near))
    return issues


def unjudged_ranking(model: SIISClassifier, codes: Ints, confirmed: frozenset[int]) -> Table:
    """Rank all given labels by the predicted probability of the given class; confirmed ones last.

    For a model fitted without selection, which has no held-out scores.
    """
    index = np.flatnonzero(coded_rows(codes))
    quality = np.minimum(model.label_distributions_[index, codes[index]], BELOW_CERTAIN)
    quality[np.isin(index, list(confirmed))] = CERTAIN
    return ranking_table(index, model.classes_[codes[index]], model.transduction_[index], quality)


def most_doubtful(model: SIISClassifier, confirmed: frozenset[int], n: int) -> list[Issue]:
    """At most n given labels of the lowest quality, worst first, each with the likeliest other class."""
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
    """What the page shows of a suspect and its neighbours; ``plain`` if its quality is not held out."""
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
