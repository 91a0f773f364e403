"""What each column of a table became, and why columns were left out."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from siis.texts import itemised, plural, quoted

TITLES = {  # of the kinds of columns that are used, in the order of the notes
    "number": "numbers",
    "truth": "yes or no",
    "time": "dates and times",
    "category": "categories",
    "text": "texts",
}
LEFT_OUT = "left out"


@dataclass(frozen=True)
class ColumnUse:
    """What a column became.

    Attributes
    ----------
    name : str
    kind : {"number", "truth", "time", "category", "text", "label", "id", "annotator", "left out"}
    n_features : int
    remark : str
        How it was read, or why it was left out.
    """

    name: str
    kind: str
    n_features: int = 0
    remark: str = ""


def summary_of(uses: Sequence[ColumnUse]) -> str:
    """Count the columns of each kind that are used."""
    kinds = [use.kind for use in uses]
    counts = {
        "column of numbers": kinds.count("number"),
        "column of yes or no": kinds.count("truth"),
        "column of dates": kinds.count("time"),
        "column of categories": kinds.count("category"),
    }
    return ", ".join(plural(count, one, one.replace("column", "columns")) for one, count in counts.items() if count)


def notes_of(uses: Sequence[ColumnUse]) -> list[str]:
    """What the columns became, a line for each kind and for each reason to leave columns out."""
    lines = {title: [_named(use) for use in uses if use.kind == kind] for kind, title in TITLES.items()}
    for use in uses:
        if use.kind == LEFT_OUT:
            lines.setdefault(f"left out, {use.remark}", []).append(quoted(use.name))
    return [f"{title}: {itemised(items)}" for title, items in lines.items() if items]


def _named(use: ColumnUse) -> str:
    return f"{quoted(use.name)} ({use.remark})" if use.remark else quoted(use.name)
