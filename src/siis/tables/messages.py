"""How messages name files, columns and problems."""

from __future__ import annotations

from collections.abc import Sequence

from siis.texts import did_you_mean, one_line, quoted, readable

__all__ = ["itemised", "listed", "one_line", "readable", "unknown"]
LISTED = 20  # names that a message lists
LAST = 5  # of which the last ones


def listed(names: Sequence[str]) -> str:
    """Quote names, and list the first and last if there are many."""
    return itemised([quoted(name) for name in names])


def itemised(items: Sequence[str]) -> str:
    """List texts as they are, the first and last if there are many."""
    if len(items) <= LISTED:
        return ", ".join(items)
    first, last = items[: LISTED - LAST], items[-LAST:]  # labels often stand at the end
    return ", ".join([*first, f"{len(items) - LISTED:,} more", *last])


def unknown(name: str, names: Sequence[str]) -> str:
    """Sentences to follow a message: names close to one that does not exist, and all names."""
    guess = did_you_mean(name, names)
    found = f"There are: {listed(names)}." if names else ""
    return "".join(f" {sentence}" for sentence in (guess, found) if sentence)
