"""Roles that the file of a labelling tool implies, where the user has not named them."""

from __future__ import annotations

from dataclasses import replace

from siis.labels.unlabelled import named
from siis.tables.examples import LabelNames, Roles
from siis.tables.sheet import Sheet
from siis.texts import listed, quoted


def infer_roles(sheet: Sheet, roles: Roles) -> tuple[Roles, str | None, list[str]]:
    """Roles from a tool's metadata where the user named none, the question (None for plain labels), and notes."""
    metadata = sheet.metadata
    question = None if roles.annotators else metadata.question(sheet.path, roles.label)
    notes = []
    if question is not None:
        columns = metadata.questions[question]
        if len(columns) == 1:
            roles = replace(roles, label=columns[0])
        else:
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
        raise ValueError(
            f"{sheet.path}: at least one example must be labelled; {unanswered}. Label some, and export again."
        )


def verified_of(
    sheet: Sheet, roles: Roles, question: str | None, labels: LabelNames | None, annotations: LabelNames | None
) -> dict[int, str]:
    """Labels that the file marks as verified, by row."""
    if question is None:
        return {}
    place = {name: k for k, name in enumerate(roles.annotators)}
    found = {}
    for row, column in sheet.metadata.verified.get(question, ()):
        label = (
            labels[row] if labels is not None else None if annotations is None else annotations[row, place[column]]
        )
        if named(label):
            found[row] = str(label)
    return found
