"""What can be shown of the examples: texts, pictures, and the cells of their table."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from decimal import Decimal
from typing import Any

from siis.report.data import Neighbor
from siis.report.differences import TableRows, differences, unusual
from siis.tables.contrast import Contrast

SNIPPET, NEAR_SNIPPET, HOVER_SNIPPET = 300, 120, 100  # characters
CELL = 200  # characters of a cell
MOST_CHARACTERS = 4_000_000  # of all cells in a report
MOST_HOVER_COLUMNS = 100  # of a table whose cells are read for the map
MOST_LARGE = 12_000_000  # characters of all large pictures
DIGITS = 6  # significant digits of a number with decimals
DECIMALS = re.compile(r"[+-]?\d*[.,]\d+(?:[eE][+-]?\d+)?")


@dataclass(frozen=True, eq=False)
class Material:
    """What there is to show.

    Attributes
    ----------
    ids : sequence of n str
    texts : sequence of n str or None, optional
    rows : TableRows of length n, optional
    cells : mapping of int to list of str
        Of the examples whose cells are shown.
    columns : list of Contrast
        What each column says of them.
    thumbnails : callable, optional
        Index -> data URI or None.
    predicted : list of n str
    """

    ids: Sequence[str]
    texts: Sequence[str | None] | None
    rows: TableRows | None
    cells: Mapping[int, list[str]]
    columns: Sequence[Contrast]
    thumbnails: Callable[[int], str | None] | None
    predicted: list[str]

    def example(self, index: int, pictured: bool, length: int = SNIPPET) -> dict[str, Any]:
        """Show an example.

        Parameters
        ----------
        index : int
        pictured : bool
        length : int
            Characters of its text.

        Returns
        -------
        dict
            The fields of ``Shown``.
        """
        return {
            "id": self.ids[index],
            "snippet": None if self.texts is None else snippet(self.texts[index], length),
            "thumbnail": self.thumbnail(index) if pictured else None,
            "cells": self.cells.get(index),
        }

    def neighborhood(self, index: int, near: Sequence[int], pictured: bool) -> dict[str, Any]:
        """Show the neighbours of an example, and what tells it from them.

        Parameters
        ----------
        index : int
        near : sequence of int
        pictured : bool

        Returns
        -------
        dict
            The fields ``unusual`` and ``neighbors`` of ``Suspect`` and ``Query``.
        """
        is_shown = index in self.cells
        apart = [differences(self.columns, index, i) if is_shown and i in self.cells else {} for i in near]
        return {
            "unusual": unusual(apart),
            "neighbors": [
                Neighbor(**self.example(i, pictured, NEAR_SNIPPET), label=self.predicted[i], differs=list(found))
                for i, found in zip(near, apart, strict=True)
            ],
        }

    def hovered(self, index: int) -> str | None:
        """The beginning of an example's text or cells, for the map.

        Parameters
        ----------
        index : int

        Returns
        -------
        str or None
        """
        if self.texts is not None:
            return snippet(self.texts[index], HOVER_SNIPPET)
        if self.rows is None or not 0 < len(self.rows.names) <= MOST_HOVER_COLUMNS:
            return None
        pairs = zip(self.rows.names, self.rows[index], strict=True)
        return snippet(", ".join(f"{name} {shown_cell(cell)}" for name, cell in pairs if cell), HOVER_SNIPPET)

    def thumbnail(self, index: int) -> str | None:
        """An example's thumbnail.

        Parameters
        ----------
        index : int

        Returns
        -------
        str or None
        """
        return self.checked("thumbnails", self.thumbnails, index)

    def checked(self, name: str, source: Callable[[int], str | None] | None, index: int) -> str | None:
        """A picture of an example, checked to be one.

        Parameters
        ----------
        name : str
            Of the source.
        source : callable, optional
            Index -> data URI or None.
        index : int

        Returns
        -------
        str or None
        """
        picture = None if source is None else source(index)
        if picture is not None and not picture.startswith("data:image/"):
            raise ValueError(
                f"{name} must give data URIs of images; that of {self.ids[index]!r} begins with {picture[:20]!r}"
            )
        return picture


def shown_cells(rows: TableRows, groups: Sequence[Sequence[int]]) -> tuple[dict[int, list[str]], int]:
    """Read the cells of groups of examples, as many groups as a page can hold.

    Parameters
    ----------
    rows : TableRows
    groups : sequence of sequences of int

    Returns
    -------
    cells : dict of int to list of str
    n_groups : int
        How many groups have their cells.
    """
    found: dict[int, list[str]] = {}
    used = 0
    for k, group in enumerate(groups):
        new = {i: [shown_cell(cell) for cell in rows[i]] for i in group if i not in found}
        used += sum(len(cell) + 3 for cells in new.values() for cell in cells)
        if used > MOST_CHARACTERS:
            return found, k
        found.update(new)
    return found, len(groups)


def large_pictures(
    material: Material, pictures: Callable[[int], str | None], groups: Sequence[Sequence[int]]
) -> dict[str, str]:
    """Gather large pictures until the page is full: of listed examples first, then of their neighbours.

    Parameters
    ----------
    material : Material
    pictures : callable
        Index -> data URI or None.
    groups : sequence of sequences of int
        A listed example and its neighbours.

    Returns
    -------
    dict of str to str
        By id.
    """
    order = dict.fromkeys([*(group[0] for group in groups), *(i for group in groups for i in group[1:])])
    found: dict[str, str] = {}
    used = 0
    for index in order:
        picture = material.checked("pictures", pictures, index)
        used += len(picture or "")
        if used > MOST_LARGE:
            break
        if picture is not None:
            found[material.ids[index]] = picture
    return found


def shown_cell(text: str) -> str:
    """Write a cell as a page shows it: a long one is cut, a number is rounded to six significant digits.

    The digits before the decimal point all stay.

    Parameters
    ----------
    text : str

    Returns
    -------
    str
    """
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
    """The beginning of a text, on one line.

    Parameters
    ----------
    text : str or None
    length : int

    Returns
    -------
    str or None
    """
    if text is None:
        return None
    line = " ".join(text[: 4 * length].split())  # a cell may hold megabytes
    return line if len(line) <= length and len(text) <= 4 * length else line[: length - 1] + "…"


def shortened(text: str, length: int) -> str:
    """Cut a text, and say so by an ellipsis.

    Parameters
    ----------
    text : str
    length : int

    Returns
    -------
    str
    """
    return text if len(text) <= length else text[: length - 1] + "…"
