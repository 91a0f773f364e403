"""Names, counts and guesses in messages to the user."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from difflib import get_close_matches

LONGEST = 60  # characters of a name or cell that a message repeats
LISTED = 20  # names that a message lists
LAST = 5  # of which the last ones
MOST_COMPARED = 10_000  # names among which a similar one is sought
GUESSES = 3  # names that may have been meant
ALIKE = 0.7  # similarity from which on a name may have been meant: id and kind have 0.67
SHORT = 2  # letters that many names hold


def quoted(text: str) -> str:
    """Format a name or cell on one line: plain words bare, others in quotes."""
    if len(text) > LONGEST:
        text = text[: LONGEST - 3] + "..."
    return text if re.fullmatch(r"\w[\w.-]*", text) else ascii_safe(text)


def shortened(text: str, length: int) -> str:
    """Cut a text to a length, with an ellipsis."""
    return text if len(text) <= length else text[: length - 1] + "…"


def ascii_safe(text: str) -> str:
    """Quote a text with its control characters escaped."""
    return repr(text) if repr(text).isprintable() else ascii(text)


def did_you_mean(name: str, names: Sequence[str]) -> str:
    """A question with the names that share a word with this one, contain it or resemble it; empty if none does."""
    names, folded, words = names[:MOST_COMPARED], name.casefold(), _words(name)
    shared = [known for known in names if words & _words(known)]
    held = [known for known in names if len(name) > SHORT and folded in known.casefold()]
    spelt = {known.casefold(): known for known in names}
    near = [spelt[known] for known in get_close_matches(folded, list(spelt), GUESSES, ALIKE)]
    close = (near if folded in spelt else shared or held or near)[:GUESSES]
    return f"Did you mean {' or '.join(quoted(known) for known in close)}?" if close else ""


def listed(names: Sequence[str]) -> str:
    """Quote names, and list the first and last if there are many."""
    return itemised([quoted(name) for name in names])


def itemised(items: Sequence[str]) -> str:
    """List texts as they are, the first and last if there are many."""
    if len(items) <= LISTED:
        return ", ".join(items)
    first, last = items[: LISTED - LAST], items[-LAST:]  # labels often are at the end
    return ", ".join([*first, f"{len(items) - LISTED:,} more", *last])


def unknown(name: str, names: Sequence[str]) -> str:
    """Sentences to follow a message: names close to one that does not exist, and all names."""
    guess = did_you_mean(name, names)
    known = f"There are: {listed(names)}." if names else ""
    return "".join(f" {sentence}" for sentence in (guess, known) if sentence)


def _words(name: str) -> set[str]:
    """The words of shop_id, shopId or "shop id"."""
    split = re.sub(r"(?<=[a-z])(?=[A-Z])", " ", name)
    return {word.casefold() for word in re.split(r"[\W_]+", split) if len(word) > 1}


def plural(count: int, one: str, many: str | None = None) -> str:
    """Format a count: "1 row", "1,797 rows"."""
    return f"{count:,} {one if count == 1 else many or one + 's'}"


def is_number(text: str) -> bool:
    """Whether Python reads a text as a number, white space around it allowed."""
    try:
        float(text)
    except ValueError:
        return False
    return True


def one_line(text: str) -> str:
    """First line of a library's message, without control characters or full stop."""
    first = next(iter(text.splitlines()), "")
    return ascii_safe(first[:200])[1:-1].rstrip(".")


@contextmanager
def readable(path: object, kind: str, remedy: str) -> Iterator[None]:
    """Turn any error of a library about a damaged file into one sentence."""
    try:
        yield
    except FileNotFoundError:
        raise ValueError(f"{path}: there is no such file. Check the path.") from None
    except PermissionError:
        raise ValueError(f"{path}: reading it is not permitted. Change its permissions.") from None
    except Exception as problem:  # decoders of damaged files raise nearly anything
        cause = one_line(str(problem)) or type(problem).__name__
        raise ValueError(f"{path}: must be {kind} but cannot be read as one ({cause}). {remedy}") from None
