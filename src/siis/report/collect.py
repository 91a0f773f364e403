"""Fitted model -> report data. Nothing is computed anew: fitted attributes are read and put into words."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from siis._types import Ints
from siis.estimators.classifier import SIISClassifier
from siis.labels import LabelCoding
from siis.labels.unlabelled import UNLABELLED, coded_rows, is_minus_one, is_unlabelled
from siis.quality import LabelGain
from siis.quality.agreement import VAGUE
from siis.report.data import Cell, Convergence, Counts, Enough, Noise, ReportData, Selection, Suspect, Trust
from siis.report.differences import TableRows, contrasts
from siis.report.findings import Findings, find
from siis.report.findings import shown as findings_shown
from siis.report.map import ID_SHOWN, map_of
from siis.report.queries import query, wanted
from siis.report.reliability import reliability
from siis.report.shown import Material, large_pictures, shown_cells
from siis.report.suspects import MOST_PICTURED, doubted, found_issues, most_doubtful, suspect
from siis.report.words import expected_wrong, graph_word, summary

N_QUERIES = 20
LEAST_DOUBTFUL, MOST_DOUBTFUL = 10, 100  # labels that are listed where none stands out


def collect(
    model: SIISClassifier,
    *,
    ids: Sequence[str],
    source: str = "",
    title: str = "",
    results: str = "",
    texts: Sequence[str | None] | None = None,
    rows: TableRows | None = None,
    thumbnails: Callable[[int], str | None] | None = None,
    pictures: Callable[[int], str | None] | None = None,
    checked: Iterable[int] | None = None,
    given: Sequence[Any] | LabelCoding | None = None,
    warnings: Sequence[str] = (),
    n_queries: int = N_QUERIES,
    findings: Findings | None = None,
) -> ReportData:
    """Gather what a report shows of a fitted model.

    Parameters
    ----------
    model : SIISClassifier
        Fitted.
    ids : sequence of n str
        Names of the examples, all different.
    source : str
        Name of the file that the examples came from.
    title : str
        Heading of the report; if empty, one is made from the source.
    results : str
        Folder of the results, for the command that takes a review in; without it the page names none.
    texts : sequence of n str or None, optional
        Their beginnings are shown.
    rows : siis.tables.rows.Rows of length n, optional
        The cells of the table that the examples came from. Those of suspects, queries and their neighbours are shown,
        with what tells them apart.
    thumbnails : callable, optional
        Index of an example -> its picture as a data URI ("data:image/..."), or None. Called for the worst 2,000
        suspects, the queries, their neighbours, and up to 3,000 points of the map.
    pictures : callable, optional
        The same for large pictures, which the page shows when a thumbnail is clicked. Called for queries and
        suspects, then for their neighbours, until the page holds 12 MB of them. Without it thumbnails are drawn
        larger.
    checked : iterable of int, optional
        Indices of the examples whose labels a reviewer has confirmed: never suspects.
    given : sequence of n or LabelCoding, optional
        Given class of each example; None, NaN or -1 where unlabelled. Or these numbered already, by ``given_codes``.
        Needed for a model that did not judge its labels (``selection=None``, or one class only); other models know
        their given labels.
    warnings : sequence of str
        What was warned about on the way.
    n_queries : int
        How many examples to name, at most, that should be labelled or checked next.
    findings : Findings, optional
        What else the graph tells; if left out, the model is asked.

    Returns
    -------
    ReportData
    """
    n = model.transduction_.size
    for name, column in (("ids", ids), ("texts", texts), ("rows", rows), ("given", given)):
        if column is not None and len(column) != n:
            raise ValueError(f"{name} must have one entry for each of the {n} examples; found {len(column)}")
    _check_ids(ids)
    if rows is not None and not rows.names:
        rows = None
    classes = [str(name) for name in model.classes_]
    codes = given.codes if isinstance(given, LabelCoding) else given_codes(model, given)
    confirmed = _confirmed(checked, n)
    is_judged = hasattr(model, "label_quality_")
    issues = found_issues(model, confirmed) if is_judged else doubted(model, codes, confirmed)
    trust = _trust(model, warnings)
    counts = Counts(
        examples=n,
        labelled=int(np.count_nonzero(coded_rows(codes))),
        features=None if model.affinity == "precomputed" else int(model.n_features_in_),
        classes=len(classes),
        suspects=len(issues),
        checked=len(confirmed),
        doubtful=0,
        answered=int(np.unique(np.argmax(model.label_distributions_, axis=1)).size),
    )
    n_wrong = expected_wrong(counts, trust)
    if is_judged and not issues and n_wrong >= 1:
        doubtful = most_doubtful(model, confirmed, min(max(math.ceil(2 * n_wrong), LEAST_DOUBTFUL), MOST_DOUBTFUL))
        counts = replace(counts, doubtful=len(doubtful))
    else:
        doubtful = []
    listed = issues or doubtful
    told = find(model) if findings is None else findings
    asked = wanted(model, {issue.index for issue in listed} | confirmed, n_queries) if is_judged else []
    first, rest = ([(one.index, *one.neighbors) for one in some] for some in (asked[:N_QUERIES], asked[N_QUERIES:]))
    groups = [*first, *((issue.index, *issue.neighbors) for issue in listed), *rest]
    cells, n_tabled = shown_cells(rows, groups) if rows is not None else ({}, 0)
    material = Material(
        ids=ids,
        texts=texts,
        rows=rows,
        cells=cells,
        columns=[] if rows is None else contrasts(rows, cells),
        thumbnails=thumbnails,
        predicted=[classes[k] for k in np.argmax(model.label_distributions_, axis=1)],
    )
    shown = [suspect(issue, material, rank, plain=not is_judged) for rank, issue in enumerate(listed)]
    return ReportData(
        title=title or (f"Labels of {source}" if source else "Label report"),
        source=source,
        results=results,
        classes=classes,
        counts=counts,
        summary=summary(counts, trust),
        trust=trust,
        reliability=reliability(model),
        noise=_noise(model),
        selection=_selection(model),
        convergence=_convergence(model),
        map=map_of(model, material, codes, [issue.index for issue in issues]),
        suspects=shown if issues else [],
        doubtful=shown if doubtful else [],
        queries=[query(one, model, codes, material, rank < MOST_PICTURED) for rank, one in enumerate(asked)],
        columns=[] if rows is None else list(rows.names),
        pictured=_pictured(shown),
        tabled=None if rows is None else min(max(n_tabled - len(first), 0), len(listed)),
        findings=findings_shown(told, ids),
        enough=_enough(told.enough),
        large=large_pictures(material, pictures, groups) if pictures is not None else {},
    )


def _check_ids(ids: Sequence[str]) -> None:
    seen: dict[str, int] = {}
    for i, name in enumerate(ids):
        if not isinstance(name, str):
            raise ValueError(f"ids must be strings; entry {i} is {name!r}. Convert them with str")
        if name in seen:
            raise ValueError(f"ids must all differ; entries {seen[name]} and {i} are both {name[:ID_SHOWN]!r}")
        seen[name] = i


def given_codes(model: SIISClassifier, given: Sequence[Any] | None) -> Ints:
    """Class number of each given label, shape (n,); -1 where unlabelled."""
    if given is None:
        if not hasattr(model, "_given_codes"):
            raise ValueError(
                "given must hold the given class of each example where the model was fitted without selection; "
                "found None. Pass given=y"
            )
        return np.asarray(model._given_codes)
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


def _confirmed(checked: Iterable[int] | None, n: int) -> frozenset[int]:
    confirmed = frozenset(int(i) for i in checked) if checked is not None else frozenset()
    wrong = next((i for i in sorted(confirmed) if not 0 <= i < n), None)
    if wrong is not None:
        raise ValueError(f"checked must hold indices of examples, 0 to {n - 1}; found {wrong}")
    return confirmed


def _trust(model: SIISClassifier, warnings: Sequence[str]) -> Trust:
    score = finite(getattr(model, "graph_score_", None))
    rate = finite(getattr(model, "noise_rate_", None))
    low, high = getattr(model, "noise_interval_", (None, None)) if rate is not None else (None, None)
    return Trust(
        gap=finite(model.dual_gap_),
        tol=float(model.tol),
        status=model.solution_.status,
        iterations=int(model.n_iter_),
        graph_score=score,
        graph_word=None if score is None else graph_word(score),
        noise_rate=rate,
        noise_low=finite(low),
        noise_high=finite(high),
        is_rate_known=rate is not None and bool(model.graph_score_ >= VAGUE),
        neighbor_recall=finite(model.neighbor_recall_),
        neighbor_search=model.neighbor_search_,
        unreached=int(np.count_nonzero(~model.is_reached_)),
        warnings=[str(text) for text in warnings],
    )


def _enough(found: LabelGain | None) -> Enough | None:
    if found is None:
        return None
    return Enough(
        labels=found.n_labels,
        accuracy=finite(found.accuracy),
        accuracy_low=finite(found.accuracy_low),
        accuracy_high=finite(found.accuracy_high),
        after=finite(found.after),
        gain=finite(found.gain),
        low=finite(found.low),
        high=finite(found.high),
        reason=found.reason,
    )


def _noise(model: SIISClassifier) -> Noise | None:
    matrix = getattr(model, "noise_matrix_", None)
    if matrix is None or not np.isfinite(matrix).all():
        return None
    return Noise(
        [[round(float(share), 4) for share in row] for row in matrix], [finite(r) for r in model.class_noise_rates_]
    )


def _selection(model: SIISClassifier) -> Selection | None:
    table = getattr(model, "selection_", None)
    if table is None:
        return None
    rows = [[_cell(value) for value in row.values()] for row in table.rows()]
    return Selection(list(table), rows, model.selection_reason_)


def _convergence(model: SIISClassifier) -> Convergence:
    history = model.history_
    measured = (history.objective, history.dual_objective, history.relative_gap)
    return Convergence(
        [int(i) for i in history.iteration], *([finite(value) for value in column] for column in measured)
    )


def _pictured(suspects: list[Suspect]) -> int | None:
    last = max((k for k, s in enumerate(suspects) if s.thumbnail is not None), default=-1)
    return None if last < 0 else last + 1


def finite(value: Any) -> float | None:
    """Round to six significant digits; None for NaN, infinity and None."""
    if value is None or not math.isfinite(value):
        return None
    return float(f"{value:.6g}")


def _cell(value: Any) -> Cell:
    if isinstance(value, bool | np.bool_):
        return bool(value)
    if isinstance(value, int | np.integer):
        return int(value)
    if isinstance(value, float | np.floating):
        return finite(value)
    return None if value is None else str(value)
