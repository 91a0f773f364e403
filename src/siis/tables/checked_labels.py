"""Labels that a reviewer has checked."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

from siis.decisions import JOURNAL, UNDONE
from siis.results import PREDICTION_COLUMNS
from siis.tables.examples import Data, Roles
from siis.tables.ids_and_labels import answers_of, check_answered, ids_of, infer_roles, labels_of, verified_of
from siis.tables.sheet import Sheet, read_sheet
from siis.tables.tools.tool_file import ToolMetadata
from siis.texts import quoted


def read_corrections(
    path: Path, encoding: str = "utf-8", id: str | None = None, label: str | None = None
) -> dict[str, str]:
    """Read checked labels by id, from a table with the columns id and label; other columns are ignored.

    Of decisions.jsonl, the last decision on each id counts. A table without columns id or label may call
    them as the data do: ``id`` and ``label``.
    """
    return _from_table(read_sheet(Path(path), Roles(encoding=encoding)), id, label)


def read_checked(path: Path, roles: Roles, data: Data) -> dict[str, str]:
    """Checked labels by id; of a tool's export those marked as verified or given since the data were read."""
    is_json = Path(path).suffix.startswith(".json")  # as the data may be; others are of siis
    sheet = read_sheet(Path(path), Roles(encoding=roles.encoding if is_json else "utf-8"))
    metadata = sheet.metadata
    check_answered(sheet, Roles())
    questions = {*metadata.questions, *metadata.refused}
    if not questions:
        return _from_table(sheet, roles.id, roles.label)
    wanted = Roles(
        label=roles.label if roles.label in questions | sheet.columns.keys() else None,
        id=roles.id if roles.id in sheet.columns else None,
        unlabelled=roles.unlabelled,
        merge_classes=roles.merge_classes,
    )
    _check_later(sheet.path, metadata, wanted, data)
    here, question, _ = infer_roles(sheet, wanted)
    answers, _ = labels_of(sheet, replace(here, text=None))
    verified = verified_of(sheet, here, question, answers)
    ids = ids_of(sheet, here.id)
    before = dict(zip(data.ids, map(_counted, data.answers), strict=True)) if metadata.is_project else {}
    checked = {}
    for row, (name, given) in enumerate(zip(ids, map(_counted, answers), strict=True)):
        new = [verified[row]] if row in verified else list(given - before.get(name, Counter()))
        if len(new) > 1:
            problem = f"an id must have one checked label; {quoted(name)} has {quoted(new[0])} and {quoted(new[1])}."
            raise ValueError(f"{path}: {problem} Mark the right one as the truth, or remove the other.")
        if new:
            checked[name] = str(new[0])
    if not checked:
        raise ValueError(
            f"{path}: must hold labels that were checked; found none that is marked as the truth or differs from the "
            "data. Review some labels and export again."
        )
    _check_contents(sheet, ids, checked, data)
    return checked


def _counted(answers: Any) -> Counter[str]:
    """How often each label was given to an example: one answer, or several."""
    return Counter(answer for answer in np.atleast_1d(np.array(answers, dtype=object)).tolist() if answer is not None)


def _check_later(path: Path, metadata: ToolMetadata, wanted: Roles, data: Data) -> None:
    """Refuse the project of another tool: its ids are of other examples, unless the user named the id column."""
    is_shared = wanted.id is not None and not (metadata.has_own_ids and wanted.id == metadata.id)
    if metadata.is_project and not is_shared and metadata.tool != data.tool:
        others = f"of {data.tool}" if data.tool else "a file of no labelling tool"
        raise ValueError(
            f"{path}: must be a later export of the data; it is one of {metadata.tool}, and the data are {others}, "
            "with other ids. Give a later export, a table with the columns id and label, or fit with --id and a "
            "column that both have."
        )


def _check_contents(sheet: Sheet, ids: Sequence[str], checked: Collection[str], data: Data) -> None:
    """Refuse labels whose ids name other examples in the data, as after an import into a new project."""
    if not (data.contents and sheet.metadata.contents):
        return
    known = dict(zip(data.ids, data.contents, strict=True))
    others = []
    for name, content in zip(ids, sheet.metadata.contents, strict=True):
        before = known.get(name, {})  # compared by the fields that both have, since some may have been added
        fields = content.keys() & before.keys() or content.keys() | before.keys()
        is_other = name not in known or any(content.get(field) != before.get(field) for field in fields)
        if name in checked and is_other:
            others.append(name)
    if others:
        raise ValueError(
            f"{sheet.path}: an id must name the same example as in the data; {len(others):,} of {len(checked):,} "
            f"checked labels are of other examples, the first has the id {quoted(others[0])}. These examples are new "
            "or edited, or an import has given them new numbers. Fit this export itself with siis fit, or name the "
            "examples by a field of the data with siis fit --id."
        )


def _from_table(sheet: Sheet, id: str | None, label: str | None) -> dict[str, str]:
    path = sheet.path
    id, label = (
        own if own in sheet.columns and usual not in sheet.columns else usual
        for usual, own in (("id", id), ("label", label))
    )
    if sheet.columns.keys() >= set(PREDICTION_COLUMNS):
        raise ValueError(
            f"{path}: must hold labels that were checked; these are predictions of siis fit. Keep the rows that you "
            f"have checked, with the columns {id} and {label} only."
        )
    ids = sheet.texts(id, "the column of ids").to_pylist()
    labels = list(answers_of(sheet, label, "the column of checked labels"))
    if path.name == JOURNAL and "decision" in sheet.columns:
        decisions = sheet.texts("decision", "the column of decisions").to_pylist()
        last = dict(zip(ids, zip(decisions, labels, strict=True), strict=True))
        counted = {name: label for name, (decision, label) in last.items() if decision != UNDONE}
        ids, labels = list(counted), list(counted.values())
    first: dict[str, tuple[str, int]] = {}
    for row, (name, label) in enumerate(zip(ids, labels, strict=True), start=1):
        if not name or label is None:
            problem = f"a correction needs an id and a label; found no {'label' if name else 'id'}. Add it."
            raise ValueError(f"{path}, row {row:,}: {problem}")
        other, earlier = first.setdefault(name, (label, row))
        if other != label:
            raise ValueError(
                f"{path}: an id must have one label; {quoted(name)} has {quoted(other)} in row {earlier:,} and "
                f"{quoted(label)} in row {row:,}. Remove one of them."
            )
    return {name: label for name, (label, _) in first.items()}
