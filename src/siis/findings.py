"""Findings of a fitted classifier, as data: label issues, queries, near-duplicates and more.

CSV files, JSON and the report are views of these findings.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from siis._types import Ints
from siis.estimators.classifier import SIISClassifier
from siis.estimators.insights import compares_features, example_of_vertex
from siis.labels import LabelCoding
from siis.labels.unlabelled import UNLABELLED, coded_rows, is_minus_one, is_unlabelled, named
from siis.quality import LabelGain
from siis.quality.listings import BELOW_VERIFIED, VERIFIED, dissenting_neighbors, ranking_table
from siis.result_table import Table

N_QUERIES = 20
N_FURTHER = 100  # labels whose gain is estimated, if as many examples are unlabelled
ANY = -1  # no class: dissenting_neighbors are then all neighbours


@dataclass(frozen=True)
class Issue:
    """A given label that may be wrong; ``neighbors`` are close examples with another class."""

    index: int
    given: str
    suggested: str
    quality: float  # probability that the given label is right
    neighbors: list[int]


@dataclass(frozen=True)
class Suggestion:
    """An example to label or to check next."""

    index: int
    action: str  # "label" or "check"
    gain: float  # in relative units
    neighbors: list[int]  # closest examples


@dataclass(frozen=True, eq=False)
class Findings:
    """The findings on n examples; tables are None where they do not apply: ``method="paper"`` holds no scores out."""

    codes: Ints  # (n,) class number of the given label; -1 where unlabelled
    confirmed: frozenset[int]  # examples whose labels a reviewer has checked: never issues
    is_held_out: bool  # whether qualities are of scores that did not see the label
    ranking: Table  # all given labels: index, given, suggested, quality; worst first
    issues: list[Issue]  # given labels that are probably wrong, worst first
    queries: list[Suggestion]  # most helpful first, without issues
    duplicates: Table | None
    outliers: Table | None
    overlap: Table | None
    annotators: Table | None
    label_gain: LabelGain | None


def find(
    model: SIISClassifier,
    *,
    given: Sequence[Any] | LabelCoding | None = None,
    checked: Iterable[int] = (),
    n_queries: int = N_QUERIES,
    n_issues: int | None = None,
    answers: Any = None,
    annotators: Sequence[str] = (),
) -> Findings:
    """Gather the findings of a fitted classifier.

    Parameters
    ----------
    model : SIISClassifier
        Fitted.
    given : sequence of n or LabelCoding, optional
        Given class of each example; None, NaN or -1 where unlabelled. Needed for a model without held-out scores
        (``method="paper"``, or one class only); other models know their given labels.
    checked : iterable of int
        Examples whose labels a reviewer has confirmed.
    n_queries : int
        Number of examples to suggest for labelling or checking, at most.
    n_issues : int, optional
        Number of issues to list; as many labels as are estimated to be wrong if left out.
    answers : ndarray of shape (n, a), optional
        Labels of several annotators; None where one has not answered.
    annotators : sequence of a str
        Their names.

    Returns
    -------
    Findings
    """
    n = model.transduction_.size
    if given is not None and len(given) != n:
        raise ValueError(f"given must have one entry for each of the {n} examples; found {len(given)}")
    codes = given.codes if isinstance(given, LabelCoding) else given_codes(model, given)
    confirmed = _confirmed(checked, n)
    if not hasattr(model, "label_quality_"):
        ranking = _unscored_ranking(model, codes, confirmed)
        issues = _contradicted(model, codes, confirmed, ranking)
        return Findings(codes, confirmed, False, ranking, issues, [], None, None, None, None, None)
    issues = _issues(model, confirmed, n_issues)
    compares, knows_noise = compares_features(model.result_), bool(np.isfinite(model.noise_matrix_).all())
    n_further = min(N_FURTHER, int(np.count_nonzero(~coded_rows(model.result_.codes))))
    return Findings(
        codes=codes,
        confirmed=confirmed,
        is_held_out=True,
        ranking=model.label_ranking(),
        issues=issues,
        queries=_suggestions(model, {issue.index for issue in issues} | confirmed, n_queries),
        duplicates=model.near_duplicates() if compares else None,
        outliers=model.outliers() if compares else None,
        overlap=model.class_overlap() if knows_noise else None,
        annotators=_ranked_annotators(model, answers, annotators) if knows_noise and answers is not None else None,
        label_gain=model.label_gain(n_further) if n_further else None,
    )


def given_codes(model: SIISClassifier, given: Sequence[Any] | None) -> Ints:
    """Class number of each given label, shape (n,); -1 where unlabelled."""
    if given is None:
        if model.result_.quality is None:
            raise ValueError(
                "given must hold the given class of each example where the model was fitted with method='paper'; "
                "found None. Pass given=y"
            )
        return model.result_.codes
    number = {str(name): k for k, name in enumerate(model.classes_)}
    codes = np.full(len(given), UNLABELLED)
    minus_one_is_class = any(map(is_minus_one, number))
    for i, label in enumerate(given):
        if is_unlabelled(label, minus_one_is_class):
            continue
        if str(label) not in number:
            raise ValueError(f"given must hold classes of the model; entry {i} is {label!r}")
        codes[i] = number[str(label)]
    return codes


def _confirmed(checked: Iterable[int], n: int) -> frozenset[int]:
    confirmed = frozenset(int(i) for i in checked)
    wrong = next((i for i in sorted(confirmed) if not 0 <= i < n), None)
    if wrong is not None:
        raise ValueError(f"checked must hold indices of examples, 0 to {n - 1}; found {wrong}")
    return confirmed


def _issues(model: SIISClassifier, confirmed: frozenset[int], n: int | None) -> list[Issue]:
    return [
        Issue(int(row["index"]), str(row["given"]), str(row["suggested"]), float(row["quality"]), row["neighbors"])
        for row in model.label_issues(n=n).rows()
        if int(row["index"]) not in confirmed
    ]


def _contradicted(model: SIISClassifier, codes: Ints, confirmed: frozenset[int], ranking: Table) -> list[Issue]:
    """Given labels that the prediction contradicts, worst first."""
    vertex, winners = model.vertex_, np.argmax(model.label_distributions_, axis=1)
    at_vertex = np.zeros(model.graph_.n_vertices, dtype=np.int64)
    example = np.zeros(model.graph_.n_vertices, dtype=np.int64)
    present = np.flatnonzero(vertex >= 0)[::-1]  # the first example at a vertex is written last
    at_vertex[vertex[present]], example[vertex[present]] = winners[present], present
    issues = []
    for row in ranking.rows():
        i = int(row["index"])
        if i in confirmed or codes[i] == winners[i]:
            continue
        v, near = int(vertex[i]), []
        if v >= 0:
            near = dissenting_neighbors(model.graph_, v, at_vertex, int(codes[i]), example)
        issues.append(Issue(i, str(row["given"]), str(row["suggested"]), float(row["quality"]), near))
    return issues


def _unscored_ranking(model: SIISClassifier, codes: Ints, confirmed: frozenset[int]) -> Table:
    """Rank all given labels by the predicted probability of the given class; confirmed ones last."""
    index = np.flatnonzero(coded_rows(codes))
    quality = np.minimum(model.label_distributions_[index, codes[index]], BELOW_VERIFIED)
    quality[np.isin(index, list(confirmed))] = VERIFIED
    return ranking_table(index, model.classes_[codes[index]], model.transduction_[index], quality)


def _suggestions(model: SIISClassifier, left_out: Collection[int], n: int) -> list[Suggestion]:
    table = model.suggest_queries(n + len(left_out)).rows()
    rows = [row for row in table if row["gain"] > 0 and int(row["index"]) not in left_out][:n]
    example = example_of_vertex(model.result_)
    no_class = np.zeros(model.graph_.n_vertices, dtype=np.int64)
    return [
        Suggestion(
            int(row["index"]),
            str(row["action"]),
            float(row["gain"]),
            dissenting_neighbors(model.graph_, int(model.vertex_[int(row["index"])]), no_class, ANY, example),
        )
        for row in rows
    ]


def _ranked_annotators(model: SIISClassifier, answers: Any, annotators: Sequence[str]) -> Table:
    known = {str(name) for name in model.classes_}  # an answer that no other annotator gives may have no weight
    example, who = np.nonzero(named(answers) & np.isin(answers.astype(str), list(known)))
    return model.rank_annotators(example, np.asarray(annotators, dtype=object)[who], answers[example, who])
