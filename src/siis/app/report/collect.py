"""Fitted model and findings -> report data: nothing is computed anew, only put into words."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from siis.app.report.data import Cell, Convergence, Counts, Noise, ReportData, Selection, Trust, finite
from siis.app.report.map import ID_SHOWN, map_of
from siis.app.report.reliability import reliability
from siis.app.report.sections import sections
from siis.app.report.shown import Material, Pictures, TableRows, contrasts, query, shown_cells, suspect
from siis.app.report.wording import graph_word, summary
from siis.estimators.classifier import SIISClassifier
from siis.findings import Findings
from siis.labels.unlabelled import coded_rows
from siis.quality.assess import VAGUE

FIRST_QUERIES = 20  # come before suspects where cells and large pictures must be few


def collect(
    model: SIISClassifier,
    findings: Findings,
    *,
    ids: Sequence[str],
    source: str = "",
    title: str = "",
    results: str = "",
    texts: Sequence[str | None] | None = None,
    rows: TableRows | None = None,
    thumbnails: Pictures | None = None,
    pictures: Pictures | None = None,
    warnings: Sequence[str] = (),
) -> ReportData:
    """Gather what a report shows of a fitted model.

    Parameters
    ----------
    model : SIISClassifier
        Fitted.
    findings : siis.findings.Findings
        Of this model.
    ids : sequence of n str
        Names of the examples, all different.
    source : str
        Name of the file with the examples.
    title : str
        Heading of the report; if empty, it is made from the source.
    results : str
        Folder of the results, for the command that applies a review; if empty, the page shows no command.
    texts : sequence of n str or None, optional
        Texts of the examples; the page shows the beginning of each.
    rows : siis.tables.examples.Rows of length n, optional
        Cells of the table with the examples. Those of suspects, queries and their neighbours are shown, with the
        columns in which they differ.
    thumbnails : callable, optional
        Index of an example -> its picture as a data URI ("data:image/..."), or None. Called for the worst 2,000
        suspects, the queries, their neighbours, and up to 3,000 points of the map.
    pictures : callable, optional
        The same for large pictures, which the page shows when a thumbnail is clicked. Called for queries and
        suspects, then for their neighbours, until the page holds 12 MB of them. Without it thumbnails are enlarged.
    warnings : sequence of str
        Warnings of the fit.

    Returns
    -------
    ReportData
    """
    codes = findings.codes
    for name, column in (("ids", ids), ("texts", texts), ("rows", rows)):
        if column is not None and len(column) != codes.size:
            raise ValueError(f"{name} must have one entry for each of the {codes.size} examples; found {len(column)}")
    _check_ids(ids)
    if rows is not None and not rows.names:
        rows = None
    classes = [str(name) for name in model.classes_]
    winners = np.argmax(model.label_distributions_, axis=1)
    trust, gain = _trust(model, warnings), findings.label_gain
    issues, queries = findings.issues, findings.queries
    counts = Counts(
        examples=codes.size,
        labelled=int(np.count_nonzero(coded_rows(codes))),
        features=None if model.affinity == "precomputed" else int(model.n_features_in_),
        classes=len(classes),
        suspects=len(issues),
        checked=len(findings.confirmed),
        answered=int(np.unique(winners).size),
    )
    first, rest = (
        [(one.index, *one.neighbors) for one in some] for some in (queries[:FIRST_QUERIES], queries[FIRST_QUERIES:])
    )
    groups = [*first, *((issue.index, *issue.neighbors) for issue in issues), *rest]
    cells, n_tabled = shown_cells(rows, groups) if rows is not None else ({}, 0)
    material = Material(
        ids=ids,
        texts=texts,
        rows=rows,
        cells=cells,
        columns=[] if rows is None else contrasts(rows, cells),
        thumbnails=thumbnails,
        predicted=[classes[k] for k in winners],
    )
    history = model.history_
    measured = [list(map(finite, one)) for one in (history.objective, history.dual_objective, history.relative_gap)]
    shown = [suspect(issue, material, rank, findings.is_held_out) for rank, issue in enumerate(issues)]
    return ReportData(
        title=title or (f"Labels of {source}" if source else "Label report"),
        source=source,
        results=results,
        classes=classes,
        counts=counts,
        summary=summary(counts, trust, _models(model), gain),
        trust=trust,
        reliability=reliability(model),
        noise=_noise(model),
        selection=_selection(model),
        convergence=Convergence(history.iteration.tolist(), *measured),
        map=map_of(model, material, codes, [issue.index for issue in issues]),
        suspects=shown,
        queries=[query(one, model, codes, material, rank) for rank, one in enumerate(queries)],
        columns=[] if rows is None else list(rows.names),
        pictured=max((k for k, one in enumerate(shown, 1) if one.thumbnail is not None), default=None),
        tabled=None if rows is None else min(max(n_tabled - len(first), 0), len(issues)),
        findings=sections(findings, ids),
        label_gain=gain,
        large={} if pictures is None else material.large_pictures(pictures, groups),
    )


def _check_ids(ids: Sequence[str]) -> None:
    seen: dict[str, int] = {}
    for i, name in enumerate(ids):
        if not isinstance(name, str):
            raise ValueError(f"ids must be strings; entry {i} is {name!r}. Convert them with str")
        if name in seen:
            raise ValueError(f"ids must all differ; entries {seen[name]} and {i} are both {name[:ID_SHOWN]!r}")
        seen[name] = i


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


def _models(model: SIISClassifier) -> list[tuple[str, float]]:
    """The kinds of models that are averaged, with their weights, the largest first; none with method="paper"."""
    if not hasattr(model, "families_"):
        return []
    rows = [(str(row["family"]), float(row["weight"])) for row in model.families_.rows()]
    return sorted((row for row in rows if row[1] > 0), key=lambda row: -row[1])


def _noise(model: SIISClassifier) -> Noise | None:
    matrix = getattr(model, "noise_matrix_", None)
    if matrix is None or not np.isfinite(matrix).all():
        return None
    return Noise(
        [[round(float(share), 4) for share in row] for row in matrix], [finite(r) for r in model.class_noise_rates_]
    )


def _selection(model: SIISClassifier) -> Selection | None:
    table = getattr(model, "members_", None)
    if table is None:
        return None
    rows = [[_cell(value) for value in row.values()] for row in table.rows()]
    return Selection(list(table), rows, model.average_summary_)


def _cell(value: Any) -> Cell:
    plain = value.item() if isinstance(value, np.generic) else value
    if isinstance(plain, float):
        return finite(plain)
    return plain if isinstance(plain, bool | int | None) else str(plain)
