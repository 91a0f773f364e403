"""Ids and labels of the examples, from the columns of a table."""

from __future__ import annotations

import shlex
from collections import Counter
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from siis._types import Bools
from siis.labels.coding import label_notes
from siis.labels.unlabelled import MISSING, are_signs, folded, is_minus_one, named, spellings
from siis.tables.cell_values import as_texts
from siis.tables.examples import LabelNames, Roles
from siis.tables.sheet import Sheet
from siis.tables.workbook import other_sheets
from siis.texts import listed, plural, quoted


def texts_of(sheet: Sheet, name: str, role: str) -> Any:
    """A column as stripped texts; ``role`` names its purpose in messages, as in "the label column"."""
    column = sheet.column(name, role)
    texts = as_texts(column)
    if texts is None:
        raise ValueError(
            f"{sheet.path}: {role} must hold text or numbers; column {quoted(name)} holds {column.type}. "
            "Choose another column."
        )
    return texts


def ids_of(sheet: Sheet, name: str | None, role: str = "the id column (--id)") -> tuple[str, ...]:
    """Ids of the examples, all different: a column, or row numbers from 1."""
    if name is None:
        return tuple(str(i) for i in range(1, sheet.n + 1))
    ids = [text or "" for text in texts_of(sheet, name, role).to_pylist()]
    check_ids(ids, f"{sheet.path}, column {quoted(name)}")
    return tuple(ids)


def check_ids(ids: Sequence[str], where: str) -> None:
    """Refuse empty and repeated ids."""
    seen: dict[str, int] = {}
    for row, name in enumerate(ids, start=1):
        if not name:
            raise ValueError(f"{where}: every example must have an id; row {row:,} has none. Fill it in.")
        if name in seen:
            raise ValueError(
                f"{where}: ids must differ; {quoted(name)} stands in rows {seen[name]:,} and {row:,}. Rename one, or "
                "name another id column."
            )
        seen[name] = row


def answers_of(sheet: Sheet, name: str, role: str) -> LabelNames:
    """Labels of a column, shape (n,); empty cells are None."""
    answers = np.array(texts_of(sheet, name, role).to_pylist(), dtype=object)
    answers[answers == ""] = None
    return answers


def labels_of(sheet: Sheet, roles: Roles) -> tuple[LabelNames | None, LabelNames | None, list[str]]:
    """Given labels, shape (n,), or answers of annotators, shape (n, a), the other being None; and notes."""
    label, annotators = roles.label, roles.annotators
    votes = sheet.metadata.votes
    marks = () if {label, *annotators} & {*votes} else MISSING  # whatever was chosen in a tool is a label
    if annotators:
        if label is not None:
            raise ValueError("labels must come from one column or from several annotators. Leave one of them out.")
        if len(set(annotators)) < len(annotators):
            raise ValueError("each annotator must be named once; a column was named twice. Leave one out.")
        read = [answers_of(sheet, name, "an annotator (--annotators)") for name in annotators]
        annotations = np.column_stack(read)
        return None, annotations, resolve_labels(annotations, f"columns {listed(annotators)}", roles, marks)
    if label is None:
        raise ValueError(
            f"{sheet.path}: the column of labels must be named, or be called label. Use --label with one of its "
            f"columns: {listed(list(sheet.columns))}.{other_sheets(sheet.others)}"
        )
    answers = answers_of(sheet, label, "the label column (--label)")
    return answers, None, resolve_labels(answers, f"column {quoted(label)}", roles, marks)


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
    taken = _at(answers, lambda answer: folded(answer) in wanted if words else answer.lower() in marks)
    if not words and not are_signs(set(answers[named(answers) & ~taken])):
        taken |= _at(answers, is_minus_one)
    found = sorted(set(answers[taken]))
    answers[taken] = None
    notes = []
    if found:
        cells = plural(int(np.count_nonzero(taken)), "cell")
        are = "a class" if len(found) == 1 else "classes"
        how = " (--unlabelled)" if words else f"; --unlabelled '' makes them {are}"
        notes.append(f"{cells} of {where} ({listed(found) if words else ', '.join(found)}) taken for unlabelled{how}")
    unused = [word for word in words if folded(word) not in {"", *map(folded, found)}]
    if unused:
        notes.append(f"no cell of {where} says {listed(unused)} (--unlabelled)")
    return notes


def _at(answers: LabelNames, is_wanted: Callable[[str], bool]) -> Bools:
    """Whether each answer is wanted, of the same shape."""
    taken = named(answers)
    taken[taken] = [is_wanted(answer) for answer in answers[taken]]
    return taken


def label_summary(labels: LabelNames | None, annotations: LabelNames | None, where: str) -> str:
    """Count what is labelled, and refuse data without a label."""
    answers = labels if labels is not None else annotations
    assert answers is not None
    is_label = named(answers)
    classes = plural(len(set(answers[is_label])), "class", "classes")
    if not is_label.any():
        raise ValueError(
            f"{where}: at least one example must be labelled; found none. Label some examples of each class."
        )
    if annotations is None:
        return f"{np.count_nonzero(is_label):,} labelled, {classes}"
    people = plural(annotations.shape[1], "annotator")
    return f"{people}, {plural(int(np.count_nonzero(is_label)), 'answer')}, {classes}"
