"""Labels of a folder of images, from a table or from the names of its sub-folders."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np

from siis._types import Ints
from siis.tables.examples import LabelNames, Roles
from siis.tables.ids_and_labels import ids_of, labels_of
from siis.tables.pixels import find_images
from siis.tables.sheet import Sheet, read_sheet
from siis.texts import listed, plural, quoted, unknown

LABELS_FILE = "labels.csv"


def read_folder(
    folder: Path, roles: Roles
) -> tuple[tuple[str, ...], tuple[Path, ...], LabelNames | None, LabelNames | None, list[str]]:
    """Ids (relative paths), paths, labels (of a file, ``labels.csv``, or sub-folders), annotations and notes."""
    ids, paths = find_images(folder)
    table = roles.labels_file
    if table is None and (folder / LABELS_FILE).is_file():
        table = folder / LABELS_FILE
    if table is not None:
        sheet = read_sheet(Path(table), roles.encoding, roles.sheet, roles.header_row)
        labels, annotations, notes = _from_file(sheet, ids, roles)
        return ids, paths, labels, annotations, [*sheet.notes, *notes]
    if roles.label is not None or roles.id is not None or roles.annotators or roles.encoding != "utf-8":
        raise ValueError(
            f"{folder}: columns and an encoding were named, but there is no table of labels. Name it with "
            f"--labels-file, or put it into the folder as {LABELS_FILE}."
        )
    return ids, paths, _from_names(folder, ids), None, ["the names of the sub-folders are the labels"]


def _from_names(folder: Path, ids: tuple[str, ...]) -> LabelNames:
    labels = np.array([name.split("/")[0] if "/" in name else None for name in ids], dtype=object)
    if not any(labels):
        raise ValueError(
            f"{folder}: images need labels; found neither a table of labels nor sub-folders named after classes. "
            "Name a table with the columns file and label with --labels-file."
        )
    return labels


def _from_file(
    sheet: Sheet, ids: tuple[str, ...], roles: Roles
) -> tuple[LabelNames | None, LabelNames | None, list[str]]:
    """Labels in the order of the images; images that the file does not name are unlabelled."""
    name = roles.id or ("id" if "id" in sheet.columns and "file" not in sheet.columns else "file")
    label = roles.label or (None if roles.annotators else "label")
    files = ids_of(sheet, name, "the column that names the images (file)")
    labels, annotations, notes = labels_of(sheet, replace(roles, label=label))
    place = {name: i for i, name in enumerate(ids)}
    rows = np.array([place.get(file.replace("\\", "/").removeprefix("./"), -1) for file in files])
    if (rows < 0).any():
        lost = [files[i] for i in np.flatnonzero(rows < 0)]
        raise ValueError(
            f"{sheet.path}: every row must name an image of the folder, by its path within it; row "
            f"{int(np.argmax(rows < 0)) + 1:,} names {quoted(lost[0])}, which is not there.{unknown(lost[0], ids)}"
        )
    named = set(rows.tolist())
    if len(named) < len(files):
        twice = ids[int(np.flatnonzero(np.bincount(rows) > 1)[0])]
        raise ValueError(f"{sheet.path}: every image must be named once; {quoted(twice)} is named twice. Remove one.")
    n_unnamed = len(ids) - len(named)
    if n_unnamed:
        notes.append(f"{plural(n_unnamed, 'image')} not in {quoted(sheet.path.name)}: taken for unlabelled")
    notes.append(f"labels from column {listed([label] if label else list(roles.annotators))} of {sheet.path.name}")
    return _placed(labels, rows, len(ids)), _placed(annotations, rows, len(ids)), notes


def _placed(answers: LabelNames | None, rows: Ints, n: int) -> LabelNames | None:
    if answers is None:
        return None
    placed = np.full((n, *answers.shape[1:]), None, dtype=object)
    placed[rows] = answers
    return placed
