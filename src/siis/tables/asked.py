"""What a labelling tool says by itself, where the user has not said it."""

from __future__ import annotations

from dataclasses import replace

from siis.labels.unlabelled import named
from siis.tables.data import Answers, Roles
from siis.tables.messages import listed
from siis.tables.sheet import Sheet
from siis.texts import quoted


def as_told(sheet: Sheet, roles: Roles) -> tuple[Roles, str | None, list[str]]:
    """Fill in the roles of a file that tells its own: the question, its annotators, ids and texts.

    Parameters
    ----------
    sheet : Sheet
    roles : Roles
        As the user has said them: these go before.

    Returns
    -------
    roles : Roles
    question : str or None
        Of the tool; None where the labels are a plain column, or the user names the annotators.
    notes : list of str
    """
    told = sheet.told
    if told is None:
        return roles, None, []
    question = None if roles.annotators else told.question(sheet.path, roles.label)
    notes = []
    if question is not None:
        columns = told.questions[question]
        if len(columns) == 1:
            roles = replace(roles, label=columns[0])
        else:
            roles = replace(roles, label=None, annotators=columns)
            notes.append(f"annotators of {quoted(question)}: {listed(columns)}")
    if roles.id is None and told.id is not None:
        roles = replace(roles, id=told.id)
        notes.append(f"ids: {quoted(told.id)} (--id names another)")
    if told.texts and not roles.texts and roles.features is None:
        roles = replace(roles, text=told.texts)
        notes.append(f"texts: {listed(told.texts)} (--text names others)")
    return roles, question, notes


def check_answered(sheet: Sheet, roles: Roles) -> None:
    """Refuse a tool's file without an answer, where no plain column holds the labels.

    Parameters
    ----------
    sheet : Sheet
    roles : Roles
    """
    unanswered = None if sheet.told is None else sheet.told.unanswered
    if unanswered is not None and not roles.annotators and roles.label not in sheet.columns:
        raise ValueError(
            f"{sheet.path}: at least one example must be labelled; {unanswered}. Label some, and export again."
        )


def certain_of(
    sheet: Sheet, roles: Roles, question: str | None, labels: Answers | None, annotations: Answers | None
) -> dict[int, str]:
    """Find the labels that the file itself calls certain.

    Parameters
    ----------
    sheet : Sheet
    roles : Roles
        As ``as_told`` gives them.
    question : str or None
    labels : ndarray of str or None, shape (n,), or None
    annotations : ndarray of str or None, shape (n, a), or None

    Returns
    -------
    dict of int to str
        The label of each such example.
    """
    if sheet.told is None or question is None:
        return {}
    place = {name: k for k, name in enumerate(roles.annotators)}
    found = {}
    for row, column in sheet.told.certain.get(question, ()):
        label = (
            labels[row] if labels is not None else None if annotations is None else annotations[row, place[column]]
        )
        if named(label):
            found[row] = str(label)
    return found
