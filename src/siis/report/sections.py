"""Near-duplicates, outliers, overlap of classes and annotators on the page: a sentence and a short table each."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from siis.findings import Findings
from siis.report.report_data import Finding
from siis.report.wording import percent
from siis.result_table import Table
from siis.texts import plural

MOST_ROWS, MOST_NAMED = 20, 5  # of a table on the page; examples of a group


def sections(findings: Findings, ids: Sequence[str]) -> list[Finding]:
    """Those that apply."""
    return [
        *([] if findings.duplicates is None else [_duplicates(findings.duplicates, ids)]),
        *([] if findings.outliers is None else [_outliers(findings.outliers, ids)]),
        *([] if findings.overlap is None else [_overlap(findings.overlap)]),
        *([] if findings.annotators is None else [_annotators(findings.annotators)]),
    ]


def _duplicates(table: Table, ids: Sequence[str]) -> Finding:
    groups: dict[int, list[dict[str, Any]]] = {}
    for row in table.rows():
        groups.setdefault(int(row["group"]), []).append(row)
    n_differ = sum(bool(rows[0]["labels_differ"]) for rows in groups.values())
    many = plural(len(groups), "group", "groups")
    sentence = f"{many} of equal or nearly equal examples; in {n_differ:,} the labels differ."
    if not groups:
        sentence = "No two examples are equal or nearly so."
    lines = []
    for rows in list(groups.values())[:MOST_ROWS]:
        more = [f"and {len(rows) - MOST_NAMED:,} more"] if len(rows) > MOST_NAMED else []
        names = [ids[row["index"]] for row in rows[:MOST_NAMED]]
        labels = dict.fromkeys(str(row["given"]) for row in rows if row["given"] is not None)
        far = max(float(row["distance"]) for row in rows)
        lines.append([", ".join([*names, *more]), ", ".join(labels), "equal" if far == 0 else f"{far:.2g}"])
    return Finding(
        "Near-duplicates", sentence, ["examples", "labels", "distance, relative to that of other neighbours"], lines
    )


def _outliers(table: Table, ids: Sequence[str]) -> Finding:
    many = plural(table.n_rows, "example is", "examples are")
    sentence = f"{many} far from all others: wrong data, or an unknown class?"
    if not table.n_rows:
        sentence = "No example is far from all others."
    lines = [
        [ids[row["index"]], "" if row["given"] is None else str(row["given"]), f"{row['score']:.1f}"]
        for row in table.rows()[:MOST_ROWS]
    ]
    return Finding("Outliers", sentence, ["example", "label", "distance, relative to that of its neighbours"], lines)


def _overlap(table: Table) -> Finding:
    sentence = (
        "The share of examples of both classes that are predicted as the other class while their labels are held out."
    )
    if not table.n_rows:
        sentence = "No two classes are confused."
    lines = [
        [
            f"{row['first']} and {row['second']}",
            f"{percent(row['overlap'])} ({percent(row['low'])} to {percent(row['high'])})",
            percent(row["mislabelled"]),
        ]
        for row in table.rows()[:MOST_ROWS]
    ]
    return Finding(
        "Classes that overlap", sentence, ["classes", "overlap (95 % interval)", "labels of the other class"], lines
    )


def _annotators(table: Table) -> Finding:
    sentence = "Estimated from the graph and the other annotators, worst first."
    lines = [
        [
            str(row["annotator"]),
            f"{row['labels']:,}",
            f"{percent(row['right'])} ({percent(row['low'])} to {percent(row['high'])})",
            "" if row["said"] is None else f"{row['said']} for {row['instead_of']} (about {row['times']:.0f})",
        ]
        for row in table.rows()[:MOST_ROWS]
    ]
    return Finding(
        "Annotators", sentence, ["annotator", "labels", "right (95 % interval)", "most common mistake"], lines
    )
