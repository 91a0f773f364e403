"""Labels that may not be meant as classes: words for "no label", and several spellings of one class."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterable, Mapping

NO_ANSWER = (  # in any case
    *(
        "",
        "na",
        "n/a",
        "nan",
        "null",
        "none",
        r"\n",
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
INVISIBLE = dict.fromkeys(map(ord, "\u00ad\u200b\u200c\u200d\u2060\ufeff"))  # they have no width
SHOWN = 5  # labels that a message names


class LabelWarning(UserWarning):
    """Something among the given labels may not be what it seems."""


def folded(label: str) -> str:
    """Fold case, spaces, invisible characters and the form of numbers.

    The accents of "café" may be characters of their own, and 1, +1 and 1.0 are one number.
    """
    visible = unicodedata.normalize("NFKC", label).translate(INVISIBLE)
    name = unicodedata.normalize("NFKC", " ".join(visible.split()).casefold())
    return re.sub(r"^[+]?(-?[0-9]+)(?:[.]0*)?$", r"\1", name)


def no_answers(labels: Iterable[str]) -> list[str]:
    """Labels that look like the absence of one, sorted."""
    return sorted(label for label in set(labels) if folded(label) in NO_ANSWER)


def spellings(counts: Mapping[str, int]) -> dict[str, str]:
    """Labels that differ only in spelling (case, spaces, 1 and 1.0), with the commonest spelling of each."""
    groups: dict[str, list[str]] = {}
    for label in sorted(counts, key=lambda label: (-counts[label], label)):
        groups.setdefault(folded(label), []).append(label)
    return {label: group[0] for group in groups.values() if len(group) > 1 for label in group}


def grouped(same: Mapping[str, str]) -> list[list[str]]:
    """Spellings of each class together, sorted, from the result of ``spellings``."""
    return [sorted(label for label in same if same[label] == name) for name in sorted(set(same.values()))]


def shown(labels: Iterable[str]) -> str:
    """Name the first few labels and count the others."""
    names = [repr(label) if repr(label).isprintable() else ascii(label) for label in labels]
    return ", ".join(names[:SHOWN] + ([f"{len(names) - SHOWN:,} more"] if len(names) > SHOWN else []))
