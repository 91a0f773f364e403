"""Ids and labels of the examples: from columns, as the user or a labelling tool names them, or from a folder."""

from __future__ import annotations

import shlex
from collections import Counter
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import numpy as np

from siis.labels.coding import label_notes
from siis.labels.unlabelled import MISSING, are_signs, folded, is_minus_one, named, spellings
from siis.tables.examples import LabelNames, Roles
from siis.tables.sheet import Sheet, read_sheet
from siis.tables.workbook import other_sheets
from siis.texts import listed, plural, quoted, unknown

LABELS_FILE = "labels.csv"  # in a folder of images


def ids_of(sheet: Sheet, name: str | None, role: str = "the id column (--id)") -> tuple[str, ...]:
    """Ids of the examples, all different: a column, or row numbers from 1."""
    if name is None:
        return tuple(str(i) for i in range(1, sheet.n + 1))
    ids = [text or "" for text in sheet.texts(name, role).to_pylist()]
    where = f"{sheet.path}, column {quoted(name)}"
    seen: dict[str, int] = {}
    for row, one in enumerate(ids, start=1):
        if not one:
            raise ValueError(f"{where}: every example must have an id; row {row:,} has none. Fill it in.")
        first = seen.setdefault(one, row)
        if first != row:
            problem = f"ids must differ; {quoted(one)} stands in rows {first:,} and {row:,}."
            raise ValueError(f"{where}: {problem} Rename one, or name another id column.")
    return tuple(ids)


def answers_of(sheet: Sheet, name: str, role: str) -> LabelNames:
    """Labels of a column, shape (n,); empty cells are None."""
    answers = np.array(sheet.texts(name, role).to_pylist(), dtype=object)
    answers[answers == ""] = None
    return answers


def labels_of(sheet: Sheet, roles: Roles) -> tuple[LabelNames, list[str]]:
    """Given labels, shape (n,), or answers of annotators, shape (n, a); and notes."""
    label, annotators = roles.label, roles.annotators
    marks = () if sheet.metadata.votes & {label, *annotators} else MISSING  # whatever was chosen in a tool is a label
    if label is not None and annotators:
        raise ValueError("labels must come from one column or from several annotators. Leave one of them out.")
    if len(set(annotators)) < len(annotators):
        raise ValueError("each annotator must be named once; a column was named twice. Leave one out.")
    if annotators:
        answers = np.column_stack([answers_of(sheet, name, "an annotator (--annotators)") for name in annotators])
        return answers, resolve_labels(answers, f"columns {listed(annotators)}", roles, marks)
    if label is None:
        raise ValueError(
            f"{sheet.path}: the column of labels must be named, or be called label. Use --label with one of its "
            f"columns: {listed(list(sheet.columns))}.{other_sheets(sheet.others)}"
        )
    answers = answers_of(sheet, label, "the label column (--label)")
    return answers, resolve_labels(answers, f"column {quoted(label)}", roles, marks)


def resolve_labels(answers: LabelNames, where: str, roles: Roles, marks: Sequence[str] = MISSING) -> list[str]:
    """Unlabel and merge in place what the user named, with notes; needs all answers, since parts hide classes."""
    notes = _unlabel(answers, where, roles.unlabelled, marks)
    counts = Counter(answers[named(answers)].tolist())
    same = spellings(counts) if roles.merge_classes else {}
    if same:
        for spelling, name in same.items():
            answers[answers == spelling] = name
        names = sorted(set(same.values()))
        notes.append(f"spellings of one class in {where} merged (--merge-classes): {listed(names)}")
        counts = Counter(answers[named(answers)].tolist())

    def unlabel(words: list[str]) -> str:
        return f"--unlabelled {' '.join(shlex.quote(word) for word in (*filter(None, roles.unlabelled), *words))}"

    notes += label_notes(counts, where, unlabel, "--merge-classes")
    if len(counts) == 1:
        notes.append(
            f"only one class among the labels of {where}, {listed(list(counts))}: every example will get it; label "
            "examples of other classes"
        )
    single = sorted(name for name, count in counts.items() if count == 1)
    if single and answers.ndim == 1:
        classes, whose = ("class", "its") if len(single) == 1 else ("classes", "their")
        notes.append(f"{classes} with a single label: {listed(single)}; {whose} own label can never be checked")
    return notes


def _unlabel(answers: LabelNames, where: str, words: Sequence[str], marks: Sequence[str]) -> list[str]:
    """Unlabel exactly the words that the user named, or else marks and -1 (unless it is a class)."""
    wanted = {folded(word) for word in words}
    classes = set(answers[named(answers)].tolist())
    found = {name for name in classes if (folded(name) in wanted if words else name.lower() in marks)}
    if not words and not are_signs(classes - found):
        found |= set(filter(is_minus_one, classes))
    taken = np.isin(answers, list(found))
    answers[taken] = None
    notes = []
    if found:
        cells = plural(int(np.count_nonzero(taken)), "cell")
        are = "a class" if len(found) == 1 else "classes"
        how = " (--unlabelled)" if words else f"; --unlabelled '' makes them {are}"
        names = listed(sorted(found)) if words else ", ".join(sorted(found))
        notes.append(f"{cells} of {where} ({names}) taken for unlabelled{how}")
    unused = [word for word in words if folded(word) not in {"", *map(folded, found)}]
    if unused:
        notes.append(f"no cell of {where} says {listed(unused)} (--unlabelled)")
    return notes


def label_summary(answers: LabelNames, where: str) -> str:
    """Count what is labelled, and refuse data without a label."""
    is_label = named(answers)
    if not is_label.any():
        problem = "at least one example must be labelled; found none. Label some examples of each class."
        raise ValueError(f"{where}: {problem}")
    n, classes = int(np.count_nonzero(is_label)), plural(len(set(answers[is_label])), "class", "classes")
    if answers.ndim == 1:
        return f"{n:,} labelled, {classes}"
    return f"{plural(answers.shape[1], 'annotator')}, {plural(n, 'answer')}, {classes}"


def infer_roles(sheet: Sheet, roles: Roles) -> tuple[Roles, str | None, list[str]]:
    """Roles from a tool's metadata where the user named none, the question (None for plain labels), and notes."""
    metadata = sheet.metadata
    question = None if roles.annotators else metadata.question(sheet.path, roles.label)
    notes = []
    columns = metadata.questions[question] if question is not None else ()
    if len(columns) == 1:
        roles = replace(roles, label=columns[0])
    elif question is not None:
        roles = replace(roles, label=None, annotators=columns)
        notes.append(f"annotators of {quoted(question)}: {listed(columns)}")
    if roles.id is None and metadata.id is not None:
        roles = replace(roles, id=metadata.id)
        notes.append(f"ids: {quoted(metadata.id)} (--id names another)")
    if metadata.texts and not roles.texts and roles.features is None:
        roles = replace(roles, text=metadata.texts)
        notes.append(f"texts: {listed(metadata.texts)} (--text names others)")
    return roles, question, notes


def check_answered(sheet: Sheet, roles: Roles) -> None:
    """Refuse a tool's file without an answer, unless a plain column holds the labels."""
    unanswered = sheet.metadata.unanswered
    if unanswered is not None and not roles.annotators and roles.label not in sheet.columns:
        problem = f"at least one example must be labelled; {unanswered}. Label some, and export again."
        raise ValueError(f"{sheet.path}: {problem}")


def verified_of(sheet: Sheet, roles: Roles, question: str | None, answers: LabelNames) -> dict[int, str]:
    """Labels that the file marks as verified, by row."""
    found = {}
    for row, column in sheet.metadata.verified.get(question or "", ()):
        label = answers[row] if answers.ndim == 1 else answers[row, roles.annotators.index(column)]
        if label is not None:
            found[row] = str(label)
    return found


def labels_of_folder(folder: Path, ids: tuple[str, ...], roles: Roles) -> tuple[LabelNames, list[str]]:
    """Labels of the images of a folder: of a table (``labels.csv`` in it by default), or the names of sub-folders."""
    table = roles.labels_file
    if table is None and (folder / LABELS_FILE).is_file():
        table = folder / LABELS_FILE
    if table is not None:
        return _labels_by_file(read_sheet(Path(table), roles), ids, roles)
    if roles.label is not None or roles.id is not None or roles.annotators or roles.encoding != "utf-8":
        raise ValueError(
            f"{folder}: columns and an encoding were named, but there is no table of labels. Name it with "
            f"--labels-file, or put it into the folder as {LABELS_FILE}."
        )
    labels = np.array([name.split("/")[0] if "/" in name else None for name in ids], dtype=object)
    if not any(labels):
        problem = "images need labels; found neither a table of labels nor sub-folders named after classes."
        raise ValueError(f"{folder}: {problem} Name a table with the columns file and label with --labels-file.")
    return labels, ["the names of the sub-folders are the labels"]


def _labels_by_file(sheet: Sheet, ids: tuple[str, ...], roles: Roles) -> tuple[LabelNames, list[str]]:
    """Labels of a table in the order of the images; images that it does not name are unlabelled."""
    name = roles.id or ("id" if "id" in sheet.columns and "file" not in sheet.columns else "file")
    label = roles.label or (None if roles.annotators else "label")
    files = ids_of(sheet, name, "the column that names the images (file)")
    answers, notes = labels_of(sheet, replace(roles, label=label))
    place = {name: i for i, name in enumerate(ids)}
    rows: dict[int, int] = {}  # by image
    for row, file in enumerate(files):
        image = place.get(file.replace("\\", "/").removeprefix("./"))
        if image is None:
            raise ValueError(
                f"{sheet.path}: every row must name an image of the folder, by its path within it; row {row + 1:,} "
                f"names {quoted(file)}, which is not there.{unknown(file, ids)}"
            )
        if rows.setdefault(image, row) != row:
            problem = f"every image must be named once; {quoted(ids[image])} is named twice. Remove one."
            raise ValueError(f"{sheet.path}: {problem}")
    placed = np.full((len(ids), *answers.shape[1:]), None, dtype=object)
    placed[list(rows)] = answers
    if len(rows) < len(ids):
        unnamed = plural(len(ids) - len(rows), "image")
        notes.append(f"{unnamed} not in {quoted(sheet.path.name)}: taken for unlabelled")
    notes.append(f"labels from column {listed([label] if label else list(roles.annotators))} of {sheet.path.name}")
    return placed, [*sheet.notes, *notes]
