"""The files of a fit, as bytes: the same input gives the same ones."""

from __future__ import annotations

import csv
import hashlib
import io
import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from types import MappingProxyType
from typing import Any

import numpy as np

from siis import __version__, results
from siis.app.merged_labels import MergedLabels, digest_of, merge_checked, quote_formula
from siis.app.options import FitOptions
from siis.app.report import ReportData, render
from siis.app.report.data import gain_figures, to_json
from siis.app.report.shown import why
from siis.decisions import Decision
from siis.estimators.classifier import SIISClassifier
from siis.findings import Findings
from siis.saved import saved_bytes
from siis.tables import Data
from siis.tables.tools.tool_file import Answer

SNIPPET = 200  # characters of a text that a model keeps, to explain answers by
CELL = 100  # characters of a cell of a table
MOST_BYTES = 20_000_000  # of all cells: more would make models that are slow to read


@dataclass(frozen=True, eq=False)
class Outcome:
    """A fit with its data, its findings and its report."""

    options: FitOptions
    data: Data
    given: MergedLabels
    model: SIISClassifier
    warnings: tuple[str, ...]  # worded for the command line
    findings: Findings
    report: ReportData


def output_files(outcome: Outcome, made: Mapping[str, Decision] = MappingProxyType({})) -> dict[str, bytes]:
    """Contents of the files of a fit; the summary comes last and holds the digests of the others."""
    data, answers, companions = outcome.data, _answers(outcome), _companions(outcome)
    contents = {
        **{name: csv_bytes(columns, rows) for name, columns, rows in _lists(outcome, answers, made)},
        results.MODEL: saved_bytes(outcome.model, companions),
        results.REPORT: render(outcome.report).encode(),
        results.REPORT_DATA: to_json(outcome.report).encode(),
        **({} if data.written_back is None else data.written_back(answers)),
    }
    summary = {
        **_figures(outcome),
        "table": digest_of(data),
        "options": outcome.options.to_plain(),
        "files": {name: hashlib.sha256(content).hexdigest() for name, content in contents.items()},
    }
    summary["understood"] += filter(None, [companions["row_note"]])
    text = json.dumps(summary, indent=2, ensure_ascii=False, allow_nan=False) + "\n"
    return {**contents, results.SUMMARY: text.encode(errors="replace")}


def csv_bytes(header: Sequence[str], rows: Iterable[Sequence[Any]]) -> bytes:
    """Write UTF-8 CSV in which no cell is a formula; numbers with decimals have four."""
    out = io.StringIO()
    writer = csv.writer(out, lineterminator="\n")
    writer.writerow(header)
    writer.writerows([quote_formula(_cell(value)) for value in row] for row in rows)
    return out.getvalue().encode(errors="replace")


def answer_cells(outcome: Outcome) -> list[tuple[str, ...]]:
    """A tuple of cells for each example, one cell for each of ``ANSWER_COLUMNS``."""
    return [
        (_cell(one.label), _cell(one.probability), _cell(one.quality), _cell(one.is_issue), _cell(bool(checked)))
        for one, checked in zip(_answers(outcome), outcome.given.verified, strict=True)
    ]


def checked_labels(extra: Mapping[str, Any]) -> dict[str, str]:
    """Labels that were verified in the fit, by id."""
    triples = zip(extra["ids"], extra["given"], extra["verified"], strict=True)
    return {name: label for name, label, is_verified in triples if is_verified}


def _cell(value: Any) -> str:
    if isinstance(value, bool | np.bool_):
        return "yes" if value else "no"
    if isinstance(value, float | np.floating):
        return f"{value:.4f}"
    return "" if value is None else str(value)


def _figures(outcome: Outcome) -> dict[str, Any]:
    """The figures of a fit as plain values; None where one does not apply."""
    report, trust, counts = outcome.report, outcome.report.trust, outcome.report.counts
    gain = report.label_gain
    return {
        "siis": __version__,
        "source": report.source,
        "understood": list(outcome.data.notes),
        "examples": counts.examples,
        "labelled": counts.labelled,
        "features": counts.features,
        "classes": report.classes,
        "suspects": counts.suspects,
        "checked": counts.checked,
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
        "label_gain": None if gain is None else gain_figures(gain),
        "summary": report.summary,
        "warnings": trust.warnings,
    }


def _answers(outcome: Outcome) -> list[Answer]:
    """The predictions of all examples, with the qualities of their labels."""
    P = outcome.model.label_distributions_
    issues = {one.index for one in outcome.findings.issues}
    quality = {int(row["index"]): float(row["quality"]) for row in outcome.findings.ranking.rows()}
    known = {i: value for i, value in quality.items() if not np.isnan(value)}
    names = [str(name) for name in outcome.model.classes_]
    winners = np.argmax(P, axis=1).tolist()
    return [Answer(names[k], float(P[i, k]), known.get(i), i in issues) for i, k in enumerate(winners)]


def _lists(
    outcome: Outcome, answers: Sequence[Answer], made: Mapping[str, Decision]
) -> Iterable[tuple[str, Sequence[str], Iterable[Sequence[Any]]]]:
    """Name, columns and rows of each CSV file; a quality that is not known is empty."""
    columns: Sequence[str]
    ids, found, ranking = outcome.data.ids, outcome.findings, outcome.findings.ranking.rows()
    predicted = [str(name) for name in outcome.model.transduction_]
    rows: Iterable[Sequence[Any]] = (
        (name, one.label, one.probability, given, None if given is None else given == one.label)
        for name, one, given in zip(ids, answers, outcome.given.labels, strict=True)
    )
    yield results.PREDICTIONS, results.PREDICTION_COLUMNS, rows
    if outcome.options.issue_columns == results.CLEANLAB:  # all given labels in the order of the data
        columns = ("id", "is_label_issue", "label_quality", "given_label", "predicted_label")
        rows = (
            (ids[i], str(answers[i].is_issue), answers[i].quality, row["given"], row["suggested"])
            for i, row in sorted((int(row["index"]), row) for row in ranking)
        )
    else:
        columns = ("id", "given", "suggested", "quality", "why")
        rows = (
            (ids[one.index], one.given, one.suggested, one.quality, why(one, predicted, found.is_held_out))
            for one in found.issues
        )
    yield results.ISSUES, columns, rows
    rows = (
        (ids[row["index"]], row["given"], row["suggested"], answers[row["index"]].quality, rank)
        for rank, row in enumerate(ranking, 1)
    )
    yield results.QUALITY, ("id", "given", "suggested", "quality", "rank"), rows
    rows = (
        (ids[one.index], one.action, answers[one.index].label, answers[one.index].probability, f"{one.gain:.4g}")
        for one in found.queries
    )
    yield results.NEXT, ("id", "action", "likeliest", "probability", "gain"), rows
    yield results.CHECKED, ("id", "given", "label", "decision", "by", "at"), _checked(outcome, made)
    for name, table, header in (
        (results.DUPLICATES, found.duplicates, "group id given distance labels_differ"),
        (results.OUTLIERS, found.outliers, "id given score"),
        (results.OVERLAP, found.overlap, "first second overlap low high mislabelled"),
        (results.ANNOTATORS, found.annotators, "annotator labels agreement right low high said instead_of times"),
    ):
        columns = header.split()
        lines = [] if table is None else table.rows()  # without rows where it does not apply
        yield name, columns, ([ids[row["index"]] if k == "id" else row[k] for k in columns] for row in lines)


def _checked(outcome: Outcome, made: Mapping[str, Decision]) -> Iterable[Sequence[Any]]:
    """Every checked label and the one of the file, with who has decided and when."""
    rows = np.flatnonzero(outcome.given.verified).tolist()
    data, labels = outcome.data, outcome.given.labels
    before = data.labels if data.labels is not None else merge_checked(data, {}).labels if rows else ()
    for i in rows:
        one = made.get(data.ids[i])
        known = (one.decision, one.by, one.at) if one is not None and one.label == labels[i] else ("", "", "")
        yield (data.ids[i], before[i], labels[i], *known)


def _companions(outcome: Outcome) -> dict[str, Any]:
    """What is kept with the model: to read new files, and to explain answers by the cells of the table."""
    data, note = outcome.data, None
    settings, arrays = data.recipe.to_plain() if data.recipe is not None else (None, {})
    lines = None if data.rows is None else data.rows.lines(CELL, MOST_BYTES)
    if data.rows is not None and lines is None:
        note = (
            f"the cells of the table, more than {MOST_BYTES / 1e6:.0f} MB, are not kept in the model: siis explain "
            "shows neighbours without them"
        )
    has_rows = data.rows is not None and lines is not None
    return {
        "source": outcome.report.source,
        "ids": list(data.ids),
        "given": outcome.given.labels,
        "verified": outcome.given.verified,
        "snippets": None if data.texts is None else [text[:SNIPPET] for text in data.texts],
        "recipe": settings,
        "recipe_arrays": arrays,
        "row_names": list(data.rows.names) if has_rows else None,  # type: ignore[union-attr]
        "row_cells": lines,
        "row_decimal": data.rows.decimal if has_rows else None,  # type: ignore[union-attr]
        "row_note": note,
        "id_column": outcome.options.roles.id,
    }
