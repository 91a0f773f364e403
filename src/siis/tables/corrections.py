"""A reviewer's answers: labels that were checked."""

from __future__ import annotations

from pathlib import Path

from siis.tables.given import answers_of, texts_of
from siis.tables.sheet import read_sheet
from siis.texts import quoted


def read_corrections(
    path: Path, encoding: str = "utf-8", id: str | None = None, label: str | None = None
) -> dict[str, str]:
    """Read checked labels from a table with the columns id and label; other columns are ignored.

    Parameters
    ----------
    path : Path
    encoding : str
        Of CSV and TSV.
    id, label : str, optional
        What these columns are called in the data: such names do, too, where there is no id or label.

    Returns
    -------
    dict of str to str
        The label of each id.
    """
    sheet = read_sheet(Path(path), encoding)
    id, label = (
        own if own in sheet.columns and usual not in sheet.columns else usual
        for usual, own in (("id", id), ("label", label))
    )
    ids = texts_of(sheet, id, "the column of ids").to_pylist()
    labels, _ = answers_of(sheet, label, "the column of checked labels")
    checked: dict[str, str] = {}
    first: dict[str, int] = {}
    for row, (name, label) in enumerate(zip(ids, labels, strict=True), start=1):
        if not name or label is None:
            lacking = "label" if name else "id"
            raise ValueError(
                f"{path}, row {row:,}: a correction needs an id and a label; found no {lacking}. Add it."
            )
        if checked.setdefault(name, label) != label:
            raise ValueError(
                f"{path}: an id must have one label; {quoted(name)} has {quoted(checked[name])} in row "
                f"{first[name]:,} and {quoted(label)} in row {row:,}. Remove one of them."
            )
        first.setdefault(name, row)
    return checked
