"""Which columns of a table become features, and what is said about the others."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from siis._types import Floats
from siis.tables.cells import as_numbers, as_texts, first_bad_cell, is_text, is_time, missing
from siis.tables.columns import MOST_CATEGORIES, Columns, category_scale, columns_encoder, not_numeric
from siis.tables.encoders import median_of
from siis.tables.messages import few, listed, plural, quoted
from siis.tables.sheet import Sheet


@dataclass(frozen=True, eq=False)
class _Choice:
    """The columns so far: those that become features, with what was learned of them, and those left out."""

    learned: list[tuple[str, tuple[str, ...], float, float]] = field(default_factory=list)
    parsed: dict[str, Floats] = field(default_factory=dict)
    counters: list[str] = field(default_factory=list)
    constant: list[str] = field(default_factory=list)
    nothing: list[str] = field(default_factory=list)
    times: list[str] = field(default_factory=list)
    other: list[str] = field(default_factory=list)
    encoded: list[str] = field(default_factory=list)

    def notes(self) -> list[str]:
        lists = (
            (self.constant, "has the same value everywhere", "have the same value everywhere"),
            (self.nothing, "has no values", "have no values"),
            (self.times, "holds dates or times", "hold dates or times"),
        )
        left_out = [
            f"column {listed(names)} {one}: left out"
            if len(names) == 1
            else f"columns {listed(names)} {many}: left out"
            for names, one, many in lists
            if names
        ]
        return [
            *few(self.encoded, "columns have categories: one column for each"),
            *left_out,
            *few(self.other, "columns of text left out"),
            *few(self.counters, "columns count the rows"),
        ]


def choose_features(
    sheet: Sheet, features: tuple[str, ...] | None, reserved: set[str]
) -> tuple[Columns, Floats, str, list[str]]:
    """Choose the columns, learn how to encode them, and encode the table itself.

    Parameters
    ----------
    sheet : Sheet
    features : tuple of str, optional
        The columns to use. None: all that can be used and are not reserved.
    reserved : set of str
        Columns with another role.

    Returns
    -------
    encoder : Columns
    X : ndarray of shape (n, d)
    summary : str
        How many features of which kind.
    notes : list of str
    """
    choice = _Choice()
    for name in _candidates(sheet, features, reserved):
        _learn(sheet, name, sheet.columns[name], features is not None, choice)
    if not choice.learned:
        reasons = "; ".join(choice.notes())
        raise ValueError(
            f"{sheet.path}: at least one column must be a feature; found none{f' ({reasons})' if reasons else ''}. "
            "Add columns of numbers, or name a column of text with --text."
        )
    encoder = columns_encoder(choice.learned)
    X, notes = encoder.encode(sheet, choice.parsed)
    n_numeric = sum(not values for _, values, _, _ in choice.learned)
    n_categorical = len(choice.learned) - n_numeric
    parts = [f"{plural(n_numeric, 'numeric feature')}"] if n_numeric else []
    parts += [f"{plural(n_categorical, 'column')} of categories"] if n_categorical else []
    return encoder, X, ", ".join(parts), choice.notes() + notes


def _candidates(sheet: Sheet, features: tuple[str, ...] | None, reserved: set[str]) -> list[str]:
    if features is None:
        return [name for name in sheet.columns if name not in reserved]
    if len(set(features)) < len(features):
        raise ValueError("each feature must be named once; a column was named twice in --features. Leave one out.")
    for name in features:
        sheet.column(name, "a feature (--features)")
        if name in reserved:
            raise ValueError(
                f"{sheet.path}: column {quoted(name)} must be a feature or have another role; it was named for both. "
                "Take it out of --features."
            )
    return list(features)


def _learn(sheet: Sheet, name: str, column: Any, is_named: bool, choice: _Choice) -> None:
    numbers = as_numbers(column, sheet.decimal)
    if numbers is not None:
        _learn_numbers(name, numbers, choice)
    elif is_time(column):
        if is_named:
            raise not_numeric(sheet, name)
        choice.times.append(name)
    elif is_text(column):
        _learn_categories(sheet, name, column, is_named, choice)
    elif is_named:
        raise not_numeric(sheet, name)
    else:
        choice.other.append(f"column {quoted(name)} holds {quoted(str(column.type))}: left out")


def _learn_numbers(name: str, numbers: Floats, choice: _Choice) -> None:
    finite = numbers if np.isfinite(numbers).all() else numbers[np.isfinite(numbers)]
    if not finite.size:
        choice.nothing.append(name)
        return
    if finite.min() == finite.max():
        choice.constant.append(name)
        return
    choice.learned.append((name, (), median_of(finite), 1.0))
    choice.parsed[name] = numbers
    with np.errstate(over="ignore"):
        counts_rows = finite.size == numbers.size > 2 and bool((np.diff(numbers) == 1).all())
    if counts_rows:
        choice.counters.append(f"column {quoted(name)} counts the rows: if it is no feature, name it with --id")


def _learn_categories(sheet: Sheet, name: str, column: Any, is_named: bool, choice: _Choice) -> None:
    texts = as_texts(column)
    counted = pc.value_counts(texts.filter(pc.invert(missing(texts))))
    counts = np.asarray(counted.field("counts").to_numpy(zero_copy_only=False), dtype=np.float64)
    if counts.size == 1 and counts[0] == sheet.n:
        choice.constant.append(name)
        return
    if counts.size <= MOST_CATEGORIES and counts.size < sheet.n / 2:
        values = tuple(sorted(pa.array(counted.field("values")).to_pylist()))  # not the order of the rows
        choice.learned.append((name, values, 0.0, category_scale(counts, sheet.n)))
        many = plural(len(values), "category", "categories")
        choice.encoded.append(f"column {quoted(name)} has {many}: one column for each")
        return
    if is_named:
        raise not_numeric(sheet, name)
    row, cell, n_numbers = first_bad_cell(texts, sheet.decimal)
    if n_numbers > sheet.n / 2:
        choice.other.append(
            f"column {quoted(name)} is left out: {n_numbers:,} of its cells are numbers, but row {row:,} says "
            f"{quoted(cell)}; empty such cells to use it"
        )
        return
    choice.other.append(
        f"column {quoted(name)} has {plural(counts.size, 'different text')}: left out; to compare examples by it, "
        f"use --text {quoted(name)}"
    )
