"""What else the graph tells: near-duplicates, outliers, overlap, annotators, enough labels; in tables and words."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from siis.estimators.classifier import SIISClassifier
from siis.labels.unlabelled import coded_rows, named
from siis.quality import LabelGain
from siis.report.data import Finding
from siis.report.words import percent
from siis.result_table import Table
from siis.texts import plural

FURTHER = 100  # labels whose gain is estimated, where as many examples have none
MOST_ROWS, MOST_NAMED = 20, 5  # of a table on the page; examples of a group


@dataclass(frozen=True, eq=False)
class Findings:
    """Tables of a fitted classifier; None where one does not apply."""

    duplicates: Table | None
    outliers: Table | None
    overlap: Table | None
    annotators: Table | None
    enough: LabelGain | None


def find(model: SIISClassifier, answers: Any = None, annotators: Sequence[str] = ()) -> Findings:
    """Compute the findings; ``answers`` of annotators: (n, a), None where missing.

    Without selection nothing applies. Near-duplicates and outliers need features.
    """
    is_judged = hasattr(model, "label_quality_")
    compares = is_judged and model._compares_features
    is_held_out = is_judged and np.isfinite(model.noise_matrix_).all()
    n_further = min(FURTHER, int(np.count_nonzero(~coded_rows(model._given_codes)))) if is_judged else 0
    ranked = None
    if is_held_out and answers is not None:
        known = {str(name) for name in model.classes_}  # an answer that nobody else shares may have no weight
        example, who = np.nonzero(named(answers) & np.isin(answers.astype(str), list(known)))
        ranked = model.rank_annotators(example, np.asarray(annotators, dtype=object)[who], answers[example, who])
    return Findings(
        model.near_duplicates() if compares else None,
        model.outliers() if compares else None,
        model.class_overlap() if is_held_out else None,
        ranked,
        model.label_gain(n_further) if n_further else None,
    )


def shown(findings: Findings, ids: Sequence[str]) -> list[Finding]:
    """Sentences and short tables for the page, of the findings that apply."""
    found = []
    if findings.duplicates is not None:
        found.append(_duplicates(findings.duplicates, ids))
    if findings.outliers is not None:
        found.append(_outliers(findings.outliers, ids))
    if findings.overlap is not None:
        found.append(_overlap(findings.overlap))
    if findings.annotators is not None:
        found.append(_annotators(findings.annotators))
    return found


def _duplicates(table: Table, ids: Sequence[str]) -> Finding:
    groups: dict[int, list[dict[str, Any]]] = {}
    for row in table.rows():
        groups.setdefault(int(row["group"]), []).append(row)
    n_differ = sum(bool(rows[0]["labels_differ"]) for rows in groups.values())
    many = plural(len(groups), "group", "groups")
    said = f"{many} of equal or nearly equal examples; in {n_differ:,} the labels differ."
    if not groups:
        said = "No two examples are equal or nearly so."
    lines = []
    for rows in list(groups.values())[:MOST_ROWS]:
        more = [f"and {len(rows) - MOST_NAMED:,} more"] if len(rows) > MOST_NAMED else []
        names = [ids[row["index"]] for row in rows[:MOST_NAMED]]
        labels = dict.fromkeys(str(row["given"]) for row in rows if row["given"] is not None)
        far = max(float(row["distance"]) for row in rows)
        lines.append([", ".join([*names, *more]), ", ".join(labels), "equal" if far == 0 else f"{far:.2g}"])
    return Finding(
        "Near-duplicates", said, ["examples", "labels", "distance, relative to that of other neighbours"], lines
    )


def _outliers(table: Table, ids: Sequence[str]) -> Finding:
    many = plural(table.n_rows, "example is", "examples are")
    said = f"{many} far from all others: wrong data, or an unknown class?"
    if not table.n_rows:
        said = "No example is far from all others."
    lines = [
        [ids[row["index"]], "" if row["given"] is None else str(row["given"]), f"{row['score']:.1f}"]
        for row in table.rows()[:MOST_ROWS]
    ]
    return Finding("Outliers", said, ["example", "label", "distance, relative to that of its neighbours"], lines)


def _overlap(table: Table) -> Finding:
    said = (
        "The share of examples of both classes that are predicted as the other class while their labels are held out."
    )
    if not table.n_rows:
        said = "No two classes are confused."
    lines = [
        [
            f"{row['first']} and {row['second']}",
            f"{percent(row['overlap'])} ({percent(row['low'])} to {percent(row['high'])})",
            percent(row["mislabelled"]),
        ]
        for row in table.rows()[:MOST_ROWS]
    ]
    return Finding(
        "Classes that overlap", said, ["classes", "overlap (95 % interval)", "labels of the other class"], lines
    )


def _annotators(table: Table) -> Finding:
    said = "Estimated from the graph and the other annotators, worst first."
    lines = [
        [
            str(row["annotator"]),
            f"{row['labels']:,}",
            f"{percent(row['right'])} ({percent(row['low'])} to {percent(row['high'])})",
            "" if row["said"] is None else f"{row['said']} for {row['instead_of']} (about {row['times']:.0f})",
        ]
        for row in table.rows()[:MOST_ROWS]
    ]
    return Finding("Annotators", said, ["annotator", "labels", "right (95 % interval)", "most common mistake"], lines)
