"""Near-duplicates, outliers, overlap of classes and annotators on the page: a sentence and a short table each."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from siis.app.report.data import Finding
from siis.app.report.wording import percent
from siis.findings import Findings
from siis.result_table import Table
from siis.texts import plural

MOST_ROWS, MOST_NAMED = 20, 5  # of a table on the page; examples of a group


def sections(findings: Findings, ids: Sequence[str]) -> list[Finding]:
    """Those that apply."""
    found = []
    if findings.duplicates is not None:
        found.append(_duplicates(findings.duplicates, ids))
    if (table := findings.outliers) is not None:
        sentence = "No example is far from all others."
        if table.n_rows:
            many = plural(table.n_rows, "example is", "examples are")
            sentence = f"{many} far from all others: wrong data, or an unknown class?"
        lines = [
            [ids[row["index"]], "" if row["given"] is None else str(row["given"]), f"{row['score']:.1f}"]
            for row in _first(table)
        ]
        columns = ["example", "label", "distance, relative to that of its neighbours"]
        found.append(Finding("Outliers", sentence, columns, lines))
    if (table := findings.overlap) is not None:
        sentence = "No two classes are confused."
        if table.n_rows:
            sentence = (
                "The share of examples of both classes that are predicted as the other class while their labels are "
                "held out."
            )
        lines = [
            [f"{row['first']} and {row['second']}", _share(row, "overlap"), percent(row["mislabelled"])]
            for row in _first(table)
        ]
        columns = ["classes", "overlap (95 % interval)", "labels of the other class"]
        found.append(Finding("Classes that overlap", sentence, columns, lines))
    if (table := findings.annotators) is not None:
        sentence = "Estimated from the graph and the other annotators, worst first."
        lines = [
            [
                str(row["annotator"]),
                f"{row['labels']:,}",
                _share(row, "right"),
                "" if row["said"] is None else f"{row['said']} for {row['instead_of']} (about {row['times']:.0f})",
            ]
            for row in _first(table)
        ]
        columns = ["annotator", "labels", "right (95 % interval)", "most common mistake"]
        found.append(Finding("Annotators", sentence, columns, lines))
    return found


def _duplicates(table: Table, ids: Sequence[str]) -> Finding:
    groups: dict[int, list[dict[str, Any]]] = {}
    for row in table.rows():
        groups.setdefault(int(row["group"]), []).append(row)
    sentence = "No two examples are equal or nearly so."
    if groups:
        n_differ = sum(bool(rows[0]["labels_differ"]) for rows in groups.values())
        many = plural(len(groups), "group", "groups")
        sentence = f"{many} of equal or nearly equal examples; in {n_differ:,} the labels differ."
    lines = []
    for rows in list(groups.values())[:MOST_ROWS]:
        more = [f"and {len(rows) - MOST_NAMED:,} more"] if len(rows) > MOST_NAMED else []
        names = [ids[row["index"]] for row in rows[:MOST_NAMED]]
        labels = dict.fromkeys(str(row["given"]) for row in rows if row["given"] is not None)
        far = max(float(row["distance"]) for row in rows)
        lines.append([", ".join([*names, *more]), ", ".join(labels), "equal" if far == 0 else f"{far:.2g}"])
    columns = ["examples", "labels", "distance, relative to that of other neighbours"]
    return Finding("Near-duplicates", sentence, columns, lines)


def _first(table: Table) -> list[dict[str, Any]]:
    return table.rows()[:MOST_ROWS]


def _share(row: dict[str, Any], name: str) -> str:
    return f"{percent(row[name])} ({percent(row['low'])} to {percent(row['high'])})"
