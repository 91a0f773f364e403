"""How files, columns and problems are named to the user."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

from siis.texts import ascii_safe, did_you_mean, quoted

LISTED = 20  # names that a message lists
LAST = 5  # of which the last ones


def one_line(text: str) -> str:
    """Take the first line of what a library says, without control characters or a full stop.

    Parameters
    ----------
    text : str

    Returns
    -------
    str
    """
    first = next(iter(text.splitlines()), "")
    return ascii_safe(first[:200])[1:-1].rstrip(".")


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


@contextmanager
def readable(path: Path, kind: str, remedy: str) -> Iterator[None]:
    """Turn whatever a library says about a damaged file into one sentence.

    Parameters
    ----------
    path : Path
    kind : str
        What the file should be.
    remedy : str
    """
    try:
        yield
    except FileNotFoundError:
        raise ValueError(f"{path}: there is no such file. Check the path.") from None
    except PermissionError:
        raise ValueError(f"{path}: reading it is not permitted. Change its permissions.") from None
    except Exception as problem:  # decoders of damaged files raise nearly anything
        cause = one_line(str(problem)) or type(problem).__name__
        raise ValueError(f"{path}: must be {kind} but cannot be read as one ({cause}). {remedy}") from None
