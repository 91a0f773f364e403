"""Labels that may not be meant as classes: words for "no label", and several spellings of one class."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Mapping

MARKS = "? ?? ??? - -- --- \u2013 \u2014 . .. ... * ** *** # _ / \\ \\n <na> #na #n/a #value! #div/0! #num! #name?"
WORDS = """
na n/a nan null none unknown unk missing undefined unspecified n.a. n.a n/k n/d nd nil blank (blank) empty (none)
tbd todo unlabeled unlabelled unassigned #ref! #null!
"""
PHRASES = ("not available", "not applicable", "not specified", "not labeled", "not labelled", "no label")
NO_ANSWER = ("", *MARKS.split(), *WORDS.split(), *PHRASES)  # in any case
INVISIBLE = dict.fromkeys(map(ord, "\u00ad\u200b\u200c\u200d\u2060\ufeff"))  # they have no width


class LabelWarning(UserWarning):
    """Something among the given labels may not be what it seems."""


def folded(label: str) -> str:
    """Fold case, spaces, invisible characters, combining accents, and the form of numbers (1, +1, 1.0)."""
    visible = unicodedata.normalize("NFKC", label).translate(INVISIBLE)
    name = unicodedata.normalize("NFKC", " ".join(visible.split()).casefold())
    return re.sub(r"^[+]?(-?[0-9]+)(?:[.]0*)?$", r"\1", name)


def spellings(counts: Mapping[str, int]) -> dict[str, str]:
    """Labels that differ only in spelling (case, spaces, 1 and 1.0), with the commonest spelling of each."""
    groups: dict[str, list[str]] = {}
    for label in sorted(counts, key=lambda label: (-counts[label], label)):
        groups.setdefault(folded(label), []).append(label)
    return {label: group[0] for group in groups.values() if len(group) > 1 for label in group}
