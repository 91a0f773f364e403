"""Labels that may not be meant as classes: words for "no label", and one class written in several ways."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

NO_ANSWER = (  # in any case
    *(
        "",
        "na",
        "n/a",
        "nan",
        "null",
        "none",
        "?",
        "??",
        "???",
        "-",
        "--",
        "---",
        "\u2013",
        "\u2014",
        ".",
        "..",
        "...",
    ),
    *("*", "**", "***", "#", "_", "/", "\\", "unknown", "unk", "missing", "not available", "not applicable"),
    *("undefined", "unspecified", "not specified", "n.a.", "n.a", "n/k", "n/d", "nd", "nil", "blank", "(blank)"),
    *("empty", "(none)", "tbd", "todo", "<na>", "#na", "#n/a", "#value!", "#div/0!", "#ref!", "#null!", "#num!"),
    *("#name?", "unlabeled", "unlabelled", "not labeled", "not labelled", "no label", "unassigned"),
)
SHOWN = 5  # labels that a message names


class LabelWarning(UserWarning):
    """Something among the given labels may not be what it seems."""


def folded(label: str) -> str:
    """Write a label without regard to case and spaces.

    Parameters
    ----------
    label : str

    Returns
    -------
    str
    """
    return " ".join(label.split()).casefold()


def no_answers(labels: Iterable[str]) -> list[str]:
    """Find the labels that look like the absence of one.

    Parameters
    ----------
    labels : iterable of str

    Returns
    -------
    list of str
        Sorted.
    """
    return sorted(label for label in set(labels) if folded(label) in NO_ANSWER)


def spellings(counts: Mapping[str, int]) -> dict[str, str]:
    """Find labels that differ only in case and spaces.

    Parameters
    ----------
    counts : mapping of str to int
        How often each label stands.

    Returns
    -------
    dict of str to str
        For each spelling that has others: the commonest of them, the first in the alphabet where several are.
    """
    groups: dict[str, list[str]] = {}
    for label in sorted(counts, key=lambda label: (-counts[label], label)):
        groups.setdefault(folded(label), []).append(label)
    return {label: group[0] for group in groups.values() if len(group) > 1 for label in group}


def shown(labels: Iterable[str]) -> str:
    """Name some labels.

    Parameters
    ----------
    labels : iterable of str

    Returns
    -------
    str
    """
    names = [repr(label) if repr(label).isprintable() else ascii(label) for label in labels]
    return ", ".join(names[:SHOWN] + ([f"{len(names) - SHOWN:,} more"] if len(names) > SHOWN else []))
