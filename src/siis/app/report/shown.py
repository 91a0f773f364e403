"""What the page shows of examples, suspects and queries: texts, pictures, and the cells of their table."""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from decimal import Decimal
from typing import Any, Protocol

import numpy as np

from siis._types import Ints
from siis.app.report.data import Neighbor, Query, Suspect
from siis.app.report.wording import issue_reason, query_reason
from siis.estimators.classifier import SIISClassifier
from siis.findings import Issue, Suggestion
from siis.tables.contrast import Contrast, contrast
from siis.texts import shortened

SNIPPET, NEAR_SNIPPET, HOVER_SNIPPET = 300, 120, 100  # characters
CELL = 200  # characters of a cell
MOST_CHARACTERS = 4_000_000  # of all cells in a report
MOST_HOVER_COLUMNS = 100  # of a table whose cells are read for the map
MOST_HOVER_BYTES = 8_000_000  # characters of all pictures of the map
MOST_LARGE = 12_000_000  # characters of all large pictures
MOST_PICTURED = 2_000  # suspects with thumbnails: more would make a page of hundreds of megabytes
N_CLASSES = 3  # of a query
DIGITS = 6  # significant digits of a number with decimals
DECIMALS = re.compile(r"[+-]?\d*[.,]\d+(?:[eE][+-]?\d+)?")

Pictures = Callable[[int], str | None]  # row number -> data URI


class TableRows(Protocol):
    """Cells of n examples in k columns of strings, such as ``siis.tables.row_cells.Rows``."""

    names: tuple[str, ...]
    columns: tuple[Any, ...]
    decimal: str  # "." or ","

    def __len__(self) -> int:
        """Give the number of examples."""

    def __getitem__(self, index: Any, /) -> Any:
        """Give the cells of one, a tuple of str."""


@dataclass(frozen=True, eq=False)
class Material:
    """What can be shown of the n examples."""

    ids: Sequence[str]
    texts: Sequence[str | None] | None
    rows: TableRows | None
    cells: Mapping[int, list[str]]  # by row number, of the examples whose cells are shown
    columns: Sequence[Contrast]
    thumbnails: Pictures | None
    predicted: list[str]

    def example(self, index: int, pictured: bool, length: int = SNIPPET) -> dict[str, Any]:
        """The fields of ``Shown``."""
        return {
            "id": self.ids[index],
            "snippet": None if self.texts is None else snippet(self.texts[index], length),
            "thumbnail": self.thumbnail(index) if pictured else None,
            "cells": self.cells.get(index),
        }

    def neighborhood(self, index: int, near: Sequence[int], pictured: bool) -> dict[str, Any]:
        """The fields ``unusual`` and ``neighbors`` of ``Suspect`` and ``Query``."""
        is_shown = index in self.cells
        apart = [differences(self.columns, index, i) if is_shown and i in self.cells else {} for i in near]
        return {
            "unusual": unusual(apart),
            "neighbors": [
                Neighbor(**self.example(i, pictured, NEAR_SNIPPET), label=self.predicted[i], differs=list(found))
                for i, found in zip(near, apart, strict=True)
            ],
        }

    def hover_text(self, index: int) -> str | None:
        """The beginning of an example's text or cells, for the map."""
        if self.texts is not None:
            return snippet(self.texts[index], HOVER_SNIPPET)
        if self.rows is None or not 0 < len(self.rows.names) <= MOST_HOVER_COLUMNS:
            return None
        pairs = zip(self.rows.names, self.rows[index], strict=True)
        return snippet(", ".join(f"{name} {shown_cell(cell)}" for name, cell in pairs if cell), HOVER_SNIPPET)

    def thumbnail(self, index: int) -> str | None:
        """An example's thumbnail as a data URI."""
        return None if self.thumbnails is None else self._checked("thumbnails", self.thumbnails, index)

    def hover_pictures(self, order: Iterable[int]) -> dict[int, str]:
        """Thumbnails of points of the map, until it is full."""
        return {} if self.thumbnails is None else self._within("thumbnails", self.thumbnails, order, MOST_HOVER_BYTES)

    def large_pictures(self, pictures: Pictures, groups: Sequence[Sequence[int]]) -> dict[str, str]:
        """Large pictures by id until the page is full: first examples of all groups come before their neighbours."""
        order = dict.fromkeys([*(group[0] for group in groups), *(i for group in groups for i in group[1:])])
        return {self.ids[i]: one for i, one in self._within("pictures", pictures, order, MOST_LARGE).items()}

    def _within(self, name: str, source: Pictures, order: Iterable[int], most: int) -> dict[int, str]:
        found: dict[int, str] = {}
        used = 0
        for index in order:
            picture = self._checked(name, source, index)
            used += len(picture or "")
            if used > most:
                break
            if picture is not None:
                found[index] = picture
        return found

    def _checked(self, name: str, source: Pictures, index: int) -> str | None:
        """A picture, which must be a data URI of an image."""
        picture = source(index)
        if picture is not None and not picture.startswith("data:image/"):
            raise ValueError(
                f"{name} must give data URIs of images; that of {self.ids[index]!r} begins with {picture[:20]!r}"
            )
        return picture


def suspect(issue: Issue, material: Material, rank: int, is_held_out: bool) -> Suspect:
    """What the page shows of the label issue at this place of the list."""
    pictured = rank < MOST_PICTURED
    return Suspect(
        **material.example(issue.index, pictured),
        given=issue.given,
        suggested=issue.suggested,
        quality=round(issue.quality, 6),
        why=why(issue, material.predicted, is_held_out),
        **material.neighborhood(issue.index, issue.neighbors, pictured),
    )


def why(issue: Issue, predicted: Sequence[str], is_held_out: bool) -> str:
    """Why a label is suspected, in a sentence; ``predicted`` are the classes of all examples."""
    classes = [predicted[i] for i in issue.neighbors]
    return issue_reason(issue.given, issue.suggested, issue.quality, classes, is_held_out)


def query(one: Suggestion, model: SIISClassifier, codes: Ints, material: Material, rank: int) -> Query:
    """What the page shows of the query at this place of the list; codes: (n,), -1 where unlabelled."""
    P, pictured = model.label_distributions_[one.index], rank < MOST_PICTURED
    best = np.argsort(-P, kind="stable")[:N_CLASSES]
    code = int(codes[one.index])
    given = None if code < 0 else str(model.classes_[code])
    return Query(
        **material.example(one.index, pictured),
        action=one.action,
        gain=one.gain,
        given=given,
        classes=[str(model.classes_[k]) for k in best],
        probabilities=[round(float(P[k]), 3) for k in best],
        why=query_reason(given, float(model.label_quality_[one.index]), bool(model.is_reached_[one.index])),
        **material.neighborhood(one.index, one.neighbors, pictured),
    )


def shown_cells(rows: TableRows, groups: Sequence[Sequence[int]]) -> tuple[dict[int, list[str]], int]:
    """Cells by example, for as many of the groups as fit into a page, and the number of these groups."""
    found: dict[int, list[str]] = {}
    used = 0
    for k, group in enumerate(groups):
        new = {i: [shown_cell(cell) for cell in rows[i]] for i in group if i not in found}
        used += sum(len(cell) + 3 for cells in new.values() for cell in cells)
        if used > MOST_CHARACTERS:
            return found, k
        found.update(new)
    return found, len(groups)


def shown_cell(text: str) -> str:
    """Shorten a long cell; round a number to six significant digits, but keep all digits before the decimal point."""
    if len(text) <= DIGITS or len(text) > CELL or not DECIMALS.fullmatch(text):
        return shortened(text, CELL)
    number = Decimal(text.replace(",", "."))
    if number and number.adjusted() <= -DIGITS:
        shorter = f"{number:.{DIGITS}g}"
    else:
        decimals = max(DIGITS - 1 - number.adjusted(), 0) if number else 0
        shorter = f"{number:.{decimals}f}"
        shorter = shorter.rstrip("0").rstrip(".") if "." in shorter else shorter
    if len(shorter) >= len(text):
        return text
    return shorter.replace(".", ",") if "," in text else shorter


def snippet(text: str | None, length: int) -> str | None:
    """The beginning of a text, on one line."""
    if text is None:
        return None
    line = " ".join(text[: 4 * length].split())  # a cell may hold megabytes
    return line if len(line) <= length and len(text) <= 4 * length else line[: length - 1] + "…"


def contrasts(rows: TableRows, examples: Collection[int]) -> list[Contrast]:
    """Parse the k columns for some examples, as features are parsed."""
    return [contrast(column, rows.decimal, examples) for column in rows.columns]


def differences(columns: Sequence[Contrast], i: int, j: int) -> dict[int, float]:
    """Columns in which two examples differ clearly, largest first, with the difference in standard deviations."""
    found = {k: column.apart(i, j) for k, column in enumerate(columns) if column.differs(i, j)}
    return dict(sorted(found.items(), key=lambda item: (-item[1], item[0])))


def unusual(found: Sequence[dict[int, float]]) -> list[int]:
    """Columns in which an example differs from most neighbours, the largest difference first."""
    total: dict[int, float] = {}
    for one in found:
        for k, d in one.items():
            total[k] = total.get(k, 0.0) + d
    often = [k for k in total if 2 * sum(k in one for one in found) > len(found)]
    return sorted(often, key=lambda k: (-total[k], k))
