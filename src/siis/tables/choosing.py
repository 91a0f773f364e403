"""Which columns of a table become features, and why others are left out."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from siis._types import Floats
from siis.results import ANSWER_COLUMNS
from siis.tables.cell_formats import CellFormat, ParsedCells, ambiguous, learn_format
from siis.tables.cell_values import as_texts, is_text, missing
from siis.tables.columns import HANDFUL, MOST_CATEGORIES, Choice, Measure, Part, unreadable
from siis.tables.images import holds_images
from siis.tables.sheet import Sheet
from siis.tables.written_values import ORDERS, SCALES, has_scales
from siis.texts import itemised, one_line, plural, quoted

MOST_FREQUENT = 30  # categories of a column that has more than MOST_CATEGORIES, or too many for its rows
REPEATED = 0.25  # share of rows whose category is no rare one, where a column is one of categories at all
LARGEST_SCALE = 2**0.5  # that of two equally frequent categories
SURE_COUNTER = 10  # rows that must be counted before a counter is left out
ID_NAME = re.compile(
    r"(.*[\W_])?(ids?|idx|index|uuid|guid|row)"
    r"|(.*[\W_])?(ids?|row|case|record|patient|subject|sample|order|invoice|account)[\W_]?(str|id|no|nr|num|number)"
    r"|column 1"
)
ENDS_IN_ID = re.compile(r"(?:.*[\W\d_])?([a-z]+id)")  # caseid, respid
NO_ID = (  # words that end in id
    *("acid", "aid", "amid", "arid", "asteroid", "avid", "avoid", "bid", "braid", "candid", "centroid", "covid"),
    *("ellipsoid", "fluid", "grid", "humid", "hybrid", "invalid", "kid", "lid", "lipid", "liquid", "maid", "mid"),
    *("opioid", "orchid", "paid", "prepaid", "pyramid", "raid", "rapid", "rigid", "said", "sigmoid", "solid"),
    *("squid", "steroid", "thyroid", "trapezoid", "unpaid", "valid", "vivid", "void"),
)

TITLES = {  # of the kinds of columns that are used, in the order of the notes
    "number": "numbers",
    "truth": "yes or no",
    "time": "dates and times",
    "category": "categories",
    "text": "texts",
}
COUNTED = {"number": "numbers", "truth": "yes or no", "time": "dates", "category": "categories"}
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
    counts = {word: kinds.count(kind) for kind, word in COUNTED.items()}
    return ", ".join(plural(n, f"column of {word}", f"columns of {word}") for word, n in counts.items() if n)


def notes_of(uses: Sequence[ColumnUse]) -> list[str]:
    """What the columns became, a line for each kind and for each reason to leave columns out."""
    lines: dict[str, list[str]] = {title: [] for title in TITLES.values()}
    for use in uses:
        if use.kind == LEFT_OUT:
            lines.setdefault(f"left out, {use.remark}", []).append(quoted(use.name))
        elif use.kind in TITLES:
            remark = f" ({use.remark})" if use.remark else ""
            lines[TITLES[use.kind]].append(quoted(use.name) + remark)
    return [f"{title}: {itemised(items)}" for title, items in lines.items() if items]


@dataclass(frozen=True, eq=False)
class Chosen:
    """The columns that become features, and what becomes of all columns."""

    parts: list[Part] = field(default_factory=list)
    parsed: dict[str, ParsedCells] = field(default_factory=dict)  # the columns of measures as they were read
    uses: list[ColumnUse] = field(default_factory=list)

    def use(self, part: Part, kind: str, remark: str) -> None:
        """Make a feature of a column."""
        self.parts.append(part)
        self.uses.append(ColumnUse(part.name, kind, len(part.feature_names), remark))

    def leave_out(self, name: str, why: str) -> None:
        """Note why a column is no feature."""
        self.uses.append(ColumnUse(name, LEFT_OUT, remark=why))


def choose_features(sheet: Sheet, features: tuple[str, ...] | None, reserved: set[str]) -> Chosen:
    """Choose columns and learn their encoding; without ``features`` all that are usable and not reserved."""
    option = sheet.option("features")
    if features is not None:
        if len(set(features)) < len(features):
            raise ValueError(f"each feature must be named once; a column was named twice in {option}. Leave one out.")
        sheet.check(features, f"a feature ({option})")
    for name in [name for name in features or () if name in reserved]:
        problem = f"column {quoted(name)} must be a feature or have another role; it was named for both."
        raise ValueError(f"{sheet.path}: {problem} Take it out of {option}.")
    chosen = Chosen()
    for name in features if features is not None else [name for name in sheet.columns if name not in reserved]:
        _learn(sheet, name, features is not None, chosen)
    return chosen


def _learn(sheet: Sheet, name: str, is_named: bool, chosen: Chosen) -> None:
    column = sheet.columns[name]
    if not is_named and name in ANSWER_COLUMNS:
        chosen.leave_out(name, "answers of an earlier siis fit")
        return
    # names of images that repeat are categories
    if not is_named and holds_images(column) and (not is_text(column) or 2 * len(pc.unique(column)) > sheet.n):
        option = f" ({sheet.option('image')} compares by them)" if sheet.is_file else ""
        chosen.leave_out(name, f"images{option}")
        return
    found = learn_format(column, sheet.decimal)
    if found is not None:
        cell_format, cells = found
        if reason := _reason_left_out(name, column, cells.numbers, is_named):
            chosen.leave_out(name, reason)
            return
        part = Measure.learn(name, cell_format, cells.numbers)
        chosen.parsed[name] = cells
        kind = cell_format.form if cell_format.form in ("number", "truth") else "time"
        chosen.use(part, kind, _remark(column, part))
    elif is_text(column):
        _learn_categories(sheet, name, column, is_named, chosen)
    elif is_named:
        raise unreadable(sheet, name, "numbers, dates or categories", CellFormat("number"))
    else:
        chosen.leave_out(name, f"of type {quoted(str(column.type))}")


def _reason_left_out(name: str, column: Any, numbers: Floats, is_named: bool) -> str:
    """Why a column of numbers is no feature; empty if it is one."""
    finite = numbers[np.isfinite(numbers)]
    if not finite.size:
        return "no values"
    if finite.min() == finite.max():
        return "the same value everywhere"
    if is_named or finite.size < SURE_COUNTER:
        return ""
    ahead = (numbers - np.arange(numbers.size))[np.isfinite(numbers)]
    if ahead[0] in (0.0, 1.0) and bool((ahead == ahead[0]).all()):
        return "counts the rows"
    known = column.filter(pa.chunked_array([pa.array(np.isfinite(numbers))]))  # floats cannot represent long ids
    folded = name.lower()
    ending = ENDS_IN_ID.fullmatch(folded)
    is_name = ID_NAME.fullmatch(folded) or (ending is not None and ending[1] not in NO_ID)
    is_id = is_name and (finite == np.round(finite)).all() and len(pc.unique(known)) == len(known)
    return "numbers that name the rows" if is_id else ""


def _remark(column: Any, part: Measure) -> str:
    """How a column of numbers or dates was read, if that is not obvious."""
    cell_format = part.cell_format
    remarks = [one_line(cell_format.unit)] if cell_format.unit else []
    if cell_format.form == "number" and is_text(column) and has_scales(column):
        remarks.append(", ".join(f"{scale} = {factor:,.0f}" for scale, factor in SCALES.items()))
    if cell_format.form == "number" and cell_format.style == ",":
        remarks.append("decimal commas")
    if cell_format.style in ORDERS:
        guess = "; days and months could be exchanged" if ambiguous(column, cell_format) else ""
        remarks.append(f"{ORDERS[cell_format.style]}{guess}")
    if part.cycles:
        remarks.append(f"with the time of the {', '.join(part.cycles)}")
    return "; ".join(remarks)


def _learn_categories(sheet: Sheet, name: str, column: Any, is_named: bool, chosen: Chosen) -> None:
    texts = as_texts(column)
    counted = pc.value_counts(texts.filter(pc.invert(missing(texts))))
    values = pa.array(counted.field("values")).to_pylist()
    counts = np.asarray(counted.field("counts").to_numpy(zero_copy_only=False), dtype=np.float64)
    if counts.size == 1 and counts[0] == sheet.n:
        chosen.leave_out(name, "the same value everywhere")
        return
    by_size = sorted(range(counts.size), key=lambda i: (-counts[i], values[i]))  # not the order of the rows
    is_short = counts.size <= MOST_CATEGORIES and counts.size < sheet.n / 2
    kept = by_size if is_short else [i for i in by_size if counts[i] >= HANDFUL][:MOST_FREQUENT]
    if not is_short and counts[counts >= HANDFUL].sum() < REPEATED * sheet.n:
        if is_named:
            raise unreadable(sheet, name, "numbers, dates or categories that repeat", CellFormat("number"))
        hint = f"texts that are nearly all different ({sheet.option('text')} compares them by their words)"
        chosen.leave_out(name, hint)
        return
    rest = counts.sum() - counts[kept].sum()
    sizes = np.append(counts[kept], rest) if rest else counts[kept]
    share = sizes / sheet.n
    scale = float(1 / np.sqrt(np.sum(share * (1 - share))))  # all variances add up to 1
    scale = min(scale, LARGEST_SCALE) if rest else scale  # few rows of a kept category are no outliers
    remark = f"the {len(kept)} commonest of {counts.size:,}, and other" if rest else f"{counts.size}"
    chosen.use(Choice(name, tuple(sorted(values[i] for i in kept)), scale, bool(rest)), "category", remark)
