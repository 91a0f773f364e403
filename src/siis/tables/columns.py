"""Numbers and categories of a table -> features."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, ClassVar, Self

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from siis._types import Floats
from siis.tables.cells import as_numbers, as_texts, first_bad_cell, missing
from siis.tables.encoders import Plain, distinct_texts, finite_numbers, frozen, only_keys, refused
from siis.tables.messages import few, plural, quoted
from siis.tables.sheet import Sheet

MOST_COLUMNS = 1_000_000
MOST_CATEGORIES = 50


@dataclass(frozen=True, eq=False)
class Columns:
    """Turns columns of a table into features.

    A column of numbers is one feature, as it is. A column of categories is one feature for each, scaled so that their
    variances add up to 1: the column then weighs about as much as one of numbers with unit variance.

    Attributes
    ----------
    names : tuple of str, length k
    categories : tuple of tuple of str, length k
        Empty for numbers.
    medians : ndarray of shape (k,)
        Stand in for missing numbers; 0 for categories.
    scales : ndarray of shape (k,)
        The entry of a category in its feature; 1 for numbers.
    """

    kind: ClassVar[str] = "columns"
    names: tuple[str, ...]
    categories: tuple[tuple[str, ...], ...]
    medians: Floats
    scales: Floats

    @property
    def n_features(self) -> int:
        """Number of features, d."""
        return sum(len(values) or 1 for values in self.categories)

    def encode(self, sheet: Sheet, parsed: Mapping[str, Floats] | None = None) -> tuple[Floats, list[str]]:
        """Build the features of a table's rows.

        Parameters
        ----------
        sheet : Sheet
        parsed : mapping of str to ndarray of shape (n,), optional
            Numbers of columns that have been converted before.

        Returns
        -------
        X : ndarray of shape (n, d)
        notes : list of str
            What was missing, infinite or unseen.
        """
        X = np.zeros((sheet.n, self.n_features))
        report = _Report()
        parsed = parsed or {}
        at = 0
        for name, values, median, scale in zip(self.names, self.categories, self.medians, self.scales, strict=True):
            column = sheet.column(name, "a feature")
            if values:
                codes = _codes(sheet, name, column, values, report)
                rows = np.flatnonzero(codes >= 0)
                X[rows, at + codes[rows]] = scale
            else:
                numbers = parsed.get(name)
                numbers = _numbers(sheet, name, column) if numbers is None else numbers
                X[:, at] = _filled(name, numbers, float(median), report)
            at += len(values) or 1
        return X, report.notes()

    def describe(self, row: Floats) -> str:
        """Put the features of one example into words: "age 37, colour red".

        Parameters
        ----------
        row : ndarray of shape (d,)

        Returns
        -------
        str
        """
        said, at = [], 0
        for name, values in zip(self.names, self.categories, strict=True):
            part = row[at : at + (len(values) or 1)]
            if not values:
                said.append(f"{name} {part[0]:.6g}")
            elif part.any():
                said.append(f"{name} {values[int(np.argmax(part))]}")
            at += part.size
        return ", ".join(said)

    def to_plain(self) -> Plain:
        """Give the encoder as plain data.

        Returns
        -------
        settings : dict, JSON-able
        arrays : dict of str to ndarray
        """
        settings = {"names": list(self.names), "categories": [list(values) for values in self.categories]}
        return settings, {"medians": self.medians, "scales": self.scales}

    @classmethod
    def from_plain(cls, settings: Any, arrays: Any) -> Self:
        """Rebuild an encoder, refusing anything that is not one.

        Parameters
        ----------
        settings : dict
        arrays : dict of str to ndarray

        Returns
        -------
        Columns
        """
        settings = only_keys(settings, ("names", "categories"), "settings")
        arrays = only_keys(arrays, ("medians", "scales"), "arrays")
        names = distinct_texts(settings["names"], "names of columns", MOST_COLUMNS)
        categories = settings["categories"]
        if type(categories) is not list or len(categories) != len(names):
            raise refused("a list of categories for each column")
        checked = tuple(
            () if values == [] else distinct_texts(values, "categories", MOST_CATEGORIES) for values in categories
        )
        medians = finite_numbers(arrays["medians"], len(names), "medians")
        return cls(names, checked, medians, finite_numbers(arrays["scales"], len(names), "scales"))


@dataclass(frozen=True, eq=False)
class _Report:
    """Collects what happened to cells, column by column."""

    filled: list[str] = field(default_factory=list)
    infinite: list[str] = field(default_factory=list)
    absent: list[str] = field(default_factory=list)
    unseen: list[str] = field(default_factory=list)

    def notes(self) -> list[str]:
        return [
            *few(self.infinite, "columns hold infinite values: taken for missing"),
            *few(self.filled, "columns have missing values: filled with their medians"),
            *few(self.absent, "columns have missing categories: no category there"),
            *few(self.unseen, "columns have unseen categories: no category there"),
        ]


def _numbers(sheet: Sheet, name: str, column: Any) -> Floats:
    numbers = as_numbers(column, sheet.decimal)
    if numbers is None:
        raise not_numeric(sheet, name)
    return numbers


def not_numeric(sheet: Sheet, name: str) -> ValueError:
    """Say which cell keeps a column from being numeric.

    Parameters
    ----------
    sheet : Sheet
    name : str

    Returns
    -------
    ValueError
    """
    column = sheet.columns[name]
    texts = as_texts(column)
    if texts is None or not (pa.types.is_string(column.type) or pa.types.is_large_string(column.type)):
        found = f"it holds {column.type}"
    else:
        row, cell, _ = first_bad_cell(texts, sheet.decimal)
        found = f"row {row:,} says {quoted(cell)}"
    return ValueError(
        f"{sheet.path}: feature {quoted(name)} must hold numbers; {found}. Correct the cell, or leave the column out."
    )


def _filled(name: str, numbers: Floats, median: float, report: _Report) -> Floats:
    gaps = ~np.isfinite(numbers)
    n_gaps = int(np.count_nonzero(gaps))
    if not n_gaps:
        return numbers
    n_infinite = int(np.count_nonzero(np.isinf(numbers)))
    if n_infinite:
        values = plural(n_infinite, "infinite value")
        report.infinite.append(f"{values} in column {quoted(name)}: taken for missing")
    report.filled.append(
        f"{plural(n_gaps, 'missing value')} in column {quoted(name)}: filled with the median, {median:.6g}"
    )
    return np.where(gaps, median, numbers)


def _codes(sheet: Sheet, name: str, column: Any, values: tuple[str, ...], report: _Report) -> Any:
    """The category of each row; -1 where it is missing or unseen."""
    texts = as_texts(column)
    if texts is None:
        raise ValueError(
            f"{sheet.path}: feature {quoted(name)} must hold categories; it holds {column.type}. Convert the column."
        )
    said = pc.if_else(missing(texts), pa.scalar(None, texts.type), texts)
    codes = pc.fill_null(pc.index_in(said, value_set=pa.array(values, type=texts.type)), -1)
    codes = np.asarray(codes.to_numpy(), dtype=np.int64)
    n_missing = int(said.null_count)
    if n_missing:
        cells = plural(n_missing, "missing value")
        report.absent.append(f"{cells} in column {quoted(name)}: no category there")
    n_unseen = int(np.count_nonzero(codes < 0)) - n_missing
    if n_unseen:
        strange = np.flatnonzero((codes < 0) & np.asarray(said.is_valid().to_numpy(), dtype=np.bool_))[0]
        cell = quoted(str(said[int(strange)].as_py()))
        report.unseen.append(
            f"{plural(n_unseen, 'value')} of column {quoted(name)} never seen when the model was fitted ({cell}, for "
            "one): no category there"
        )
    return codes


def category_scale(counts: Floats, n: int) -> float:
    """Entry of a one-hot column at which the variances of all of them add up to 1.

    Parameters
    ----------
    counts : ndarray of shape (c,)
        How many rows have each category.
    n : int
        Number of rows.

    Returns
    -------
    float
    """
    share = np.asarray(counts, dtype=np.float64) / n
    return float(1 / np.sqrt(np.sum(share * (1 - share))))


def columns_encoder(learned: list[tuple[str, tuple[str, ...], float, float]]) -> Columns:
    """Build the encoder from one entry for each column: name, categories, median, scale.

    Parameters
    ----------
    learned : list of tuple

    Returns
    -------
    Columns
    """
    names, categories, medians, scales = zip(*learned, strict=True)
    return Columns(names, categories, frozen(np.array(medians)), frozen(np.array(scales)))
