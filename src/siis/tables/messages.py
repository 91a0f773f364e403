"""How files, columns and problems are named to the user."""

from __future__ import annotations

from collections.abc import Sequence

from siis.texts import did_you_mean, one_line, quoted, readable

__all__ = ["itemised", "listed", "one_line", "readable", "unknown"]
LISTED = 20  # names that a message lists
LAST = 5  # of which the last ones


def listed(names: Sequence[str]) -> str:
    """List names, the first and the last of them where there are many.

    Parameters
    ----------
    names : sequence of str

    Returns
    -------
    str
    """
    return itemised([quoted(name) for name in names])


def itemised(items: Sequence[str]) -> str:
    """List what is ready to be printed, the first and the last where there are many.

    Parameters
    ----------
    items : sequence of str

    Returns
    -------
    str
    """
    if len(items) <= LISTED:
        return ", ".join(items)
    first, last = items[: LISTED - LAST], items[-LAST:]  # labels often stand at the end
    return ", ".join([*first, f"{len(items) - LISTED:,} more", *last])


def unknown(name: str, names: Sequence[str]) -> str:
    """Say which names are close to one that was not found, and which there are.

    Parameters
    ----------
    name : str
    names : sequence of str

    Returns
    -------
    str
        Sentences to follow a message.
    """
    guess = did_you_mean(name, names)
    found = f"There are: {listed(names)}." if names else ""
    return "".join(f" {sentence}" for sentence in (guess, found) if sentence)
