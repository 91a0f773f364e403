"""The files of a fit, as bytes: the same input gives the same ones."""

from __future__ import annotations

import csv
import hashlib
import io
import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict
from types import MappingProxyType
from typing import Any

import numpy as np

from siis import __version__
from siis.decisions import Decision
from siis.report import render
from siis.report.data_file import to_json
from siis.report.shown import why
from siis.result_table import Table
from siis.results import (
    ANNOTATORS,
    CHECKED,
    CLEANLAB,
    DUPLICATES,
    ISSUES,
    MODEL,
    NEXT,
    OUTLIERS,
    OVERLAP,
    OWN,
    PREDICTION_COLUMNS,
    PREDICTIONS,
    QUALITY,
    REPORT,
    REPORT_DATA,
    SUMMARY,
)
from siis.saved import saved_bytes
from siis.tables import Data
from siis.tables.tools.tool_file import Answer
from siis.workflow.merged_labels import digest_of, merge_checked, quote_formula
from siis.workflow.outcome import Outcome

SNIPPET = 200  # characters of a text that a model keeps, to explain answers by
CELL = 100  # characters of a cell of a table
MOST_BYTES = 20_000_000  # of all cells: more would make models that are slow to read


def output_files(
    outcome: Outcome,
    options: Mapping[str, Any] | None = None,
    id_column: str | None = None,
    issue_columns: str = OWN,
    made: Mapping[str, Decision] = MappingProxyType({}),
) -> dict[str, bytes]:
    """Contents of the files of a fit; the summary comes last and holds the digests of the others."""
    rows = _rows(outcome.data)
    contents = {
        PREDICTIONS: _predictions(outcome),
        ISSUES: ISSUE_FILES[issue_columns](outcome),
        QUALITY: _qualities(outcome),
        NEXT: _next(outcome),
        CHECKED: _checked(outcome, made),
        **_findings(outcome),
        MODEL: saved_bytes(outcome.model, {**_companions(outcome), **rows, "id_column": id_column}),
        REPORT: render(outcome.report).encode(),
        REPORT_DATA: to_json(outcome.report).encode(),
        **_written_back(outcome),
    }
    digests = {name: hashlib.sha256(content).hexdigest() for name, content in contents.items()}
    summary = summary_of(outcome)
    if rows["row_note"] is not None:
        summary["understood"].append(rows["row_note"])
    plain = {**summary, "table": digest_of(outcome.data), "options": dict(options or {}), "files": digests}
    contents[SUMMARY] = (json.dumps(plain, indent=2, ensure_ascii=False, allow_nan=False) + "\n").encode(
        errors="replace"
    )
    return contents


def summary_of(outcome: Outcome) -> dict[str, Any]:
    """The figures of a fit as plain values; None where one does not apply."""
    report, trust = outcome.report, outcome.report.trust
    return {
        "siis": __version__,
        "source": report.source,
        "understood": list(outcome.data.notes),
        "examples": report.counts.examples,
        "labelled": report.counts.labelled,
        "features": report.counts.features,
        "classes": report.classes,
        "suspects": report.counts.suspects,
        "checked": report.counts.checked,
        "noise_rate": trust.noise_rate,
        "noise_interval": None if trust.noise_rate is None else [trust.noise_low, trust.noise_high],
        "graph_score": trust.graph_score,
        "relative_gap": trust.gap,
        "status": trust.status,
        "iterations": trust.iterations,
        "unreached": trust.unreached,
        "neighbor_search": trust.neighbor_search,
        "neighbor_recall": trust.neighbor_recall,
        "method": "paper" if report.selection is None else report.selection.reason,
        "label_gain": None if report.label_gain is None else asdict(report.label_gain),
        "summary": list(report.summary),
        "warnings": list(trust.warnings),
    }


def csv_bytes(header: Sequence[str], rows: Iterable[Sequence[str]]) -> bytes:
    """Write UTF-8 CSV in which no cell is a formula."""
    out = io.StringIO()
    writer = csv.writer(out, lineterminator="\n")
    writer.writerow(header)
    writer.writerows([quote_formula(cell) for cell in row] for row in rows)
    return out.getvalue().encode(errors="replace")


def answer_rows(ids: Sequence[str], classes: Iterable[Any], P: Any) -> Iterable[tuple[str, str, str]]:
    """Id, likeliest class and its probability of each example; P: (n, c)."""
    winners = np.argmax(P, axis=1)
    names = [str(name) for name in classes]
    return (
        (name, names[k], f"{p:.4f}") for name, k, p in zip(ids, winners, P[np.arange(len(P)), winners], strict=True)
    )


def _predictions(outcome: Outcome) -> bytes:
    model = outcome.model
    answers = answer_rows(outcome.data.ids, model.classes_, model.label_distributions_)
    rows = (
        (*answer, given or "", "" if given is None else "yes" if given == answer[1] else "no")
        for answer, given in zip(answers, outcome.given.labels, strict=True)
    )
    return csv_bytes(PREDICTION_COLUMNS, rows)


def _issues(outcome: Outcome) -> bytes:
    findings, ids = outcome.findings, outcome.data.ids
    predicted = [str(name) for name in outcome.model.transduction_]
    rows = (
        (ids[one.index], one.given, one.suggested, f"{one.quality:.4f}", why(one, predicted, findings.is_held_out))
        for one in findings.issues
    )
    return csv_bytes(("id", "given", "suggested", "quality", "why"), rows)


def _cleanlab_issues(outcome: Outcome) -> bytes:
    """All given labels in the order of the data, as cleanlab lists them."""
    ids, issues = outcome.data.ids, {one.index for one in outcome.findings.issues}
    rows = (
        (ids[i], str(i in issues), _digits(row["quality"]), str(row["given"]), str(row["suggested"]))
        for i, row in sorted((int(row["index"]), row) for row in outcome.findings.ranking.rows())
    )
    return csv_bytes(("id", "is_label_issue", "label_quality", "given_label", "predicted_label"), rows)


ISSUE_FILES = {OWN: _issues, CLEANLAB: _cleanlab_issues}


def _digits(number: float) -> str:
    return "" if np.isnan(number) else f"{number:.4f}"


def _written_back(outcome: Outcome) -> dict[str, bytes]:
    """The file of a labelling tool with the answers in it; nothing where it was another file."""
    written_back = outcome.data.written_back
    return {} if written_back is None else written_back(_answers(outcome))


def _answers(outcome: Outcome) -> list[Answer]:
    """The predictions as a labelling tool takes them."""
    P = outcome.model.label_distributions_
    issues = {one.index for one in outcome.findings.issues}
    quality = {int(row["index"]): float(row["quality"]) for row in outcome.findings.ranking.rows()}
    names = [str(name) for name in outcome.model.classes_]
    winners = np.argmax(P, axis=1).tolist()
    return [
        Answer(names[k], float(P[i, k]), None if np.isnan(quality.get(i, np.nan)) else quality[i], i in issues)
        for i, k in enumerate(winners)
    ]


def answer_cells(outcome: Outcome) -> list[tuple[str, ...]]:
    """A tuple of cells for each example, one cell for each of ``ANSWER_COLUMNS``."""
    return [
        (
            one.label,
            f"{one.probability:.4f}",
            "" if one.quality is None else f"{one.quality:.4f}",
            _written(one.is_issue),
            _written(bool(checked)),
        )
        for one, checked in zip(_answers(outcome), outcome.given.verified, strict=True)
    ]


def _qualities(outcome: Outcome) -> bytes:
    """All given labels, worst first; a quality that is not known is empty."""
    ids = outcome.data.ids
    rows = (
        (ids[row["index"]], str(row["given"]), str(row["suggested"]), _digits(row["quality"]), str(rank))
        for rank, row in enumerate(outcome.findings.ranking.rows(), 1)
    )
    return csv_bytes(("id", "given", "suggested", "quality", "rank"), rows)


def _next(outcome: Outcome) -> bytes:
    """What to label or to check next."""
    ids, P, classes = outcome.data.ids, outcome.model.label_distributions_, outcome.model.classes_
    rows = (
        (ids[one.index], one.action, str(classes[np.argmax(p)]), f"{p.max():.4f}", f"{one.gain:.4g}")
        for one in outcome.findings.queries
        for p in [P[one.index]]
    )
    return csv_bytes(("id", "action", "likeliest", "probability", "gain"), rows)


def _checked(outcome: Outcome, made: Mapping[str, Decision]) -> bytes:
    """Every checked label and the one of the file, with who has decided and when."""
    rows = np.flatnonzero(outcome.given.verified).tolist()
    data, labels = outcome.data, outcome.given.labels
    before = data.labels if data.labels is not None else merge_checked(data, {}).labels if rows else ()

    def line(i: int) -> tuple[str, ...]:
        one = made.get(data.ids[i])
        known = (one.decision, one.by, one.at) if one is not None and one.label == labels[i] else ("", "", "")
        return (data.ids[i], before[i] or "", labels[i], *known)

    return csv_bytes(("id", "given", "label", "decision", "by", "at"), map(line, rows))


def _findings(outcome: Outcome) -> dict[str, bytes]:
    """Near-duplicates, outliers, overlap and annotators, a file each; without rows if one does not apply."""
    found, ids = outcome.findings, outcome.data.ids
    return {
        DUPLICATES: _table_bytes(found.duplicates, ("group", "id", "given", "distance", "labels_differ"), ids),
        OUTLIERS: _table_bytes(found.outliers, ("id", "given", "score"), ids),
        OVERLAP: _table_bytes(found.overlap, ("first", "second", "overlap", "low", "high", "mislabelled"), ids),
        ANNOTATORS: _table_bytes(
            found.annotators,
            ("annotator", "labels", "agreement", "right", "low", "high", "said", "instead_of", "times"),
            ids,
        ),
    }


def _table_bytes(table: Table | None, header: Sequence[str], ids: Sequence[str]) -> bytes:
    """A table with the names of its examples in the place of their indices."""
    rows = [] if table is None else table.rows()
    lines = [[ids[int(row["index"])] if name == "id" else _written(row[name]) for name in header] for row in rows]
    return csv_bytes(header, lines)


def _written(value: Any) -> str:
    if isinstance(value, bool | np.bool_):
        return "yes" if value else "no"
    if isinstance(value, float | np.floating):
        return f"{value:.4f}"
    return "" if value is None else str(value)


def checked_labels(extra: Mapping[str, Any]) -> dict[str, str]:
    """Labels that were verified in the fit, by id."""
    triples = zip(extra["ids"], extra["given"], extra["verified"], strict=True)
    return {name: label for name, label, is_verified in triples if is_verified}


def _companions(outcome: Outcome) -> dict[str, Any]:
    """What is kept with the model: to read new files, and to explain answers."""
    data = outcome.data
    settings, arrays = data.recipe.to_plain() if data.recipe is not None else (None, {})
    return {
        "source": outcome.report.source,
        "ids": list(data.ids),
        "given": outcome.given.labels,
        "verified": outcome.given.verified,
        "snippets": None if data.texts is None else [text[:SNIPPET] for text in data.texts],
        "recipe": settings,
        "recipe_arrays": arrays,
    }


def _rows(data: Data) -> dict[str, Any]:
    """Cells of the table as lists of texts; a note if they are too many to save."""
    if data.rows is None:
        return {"row_names": None, "row_cells": None, "row_decimal": None, "row_note": None}
    lines = data.rows.lines(CELL, MOST_BYTES)
    if lines is None:
        note = (
            f"the cells of the table, more than {MOST_BYTES / 1e6:.0f} MB, are not kept in the model: siis explain "
            "shows neighbours without them"
        )
        return {"row_names": None, "row_cells": None, "row_decimal": None, "row_note": note}
    names, decimal = list(data.rows.names), data.rows.decimal
    return {"row_names": names, "row_cells": lines, "row_decimal": decimal, "row_note": None}
