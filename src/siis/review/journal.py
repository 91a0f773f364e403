"""Decisions of a review as lines of a file: each is on the disk before anybody is told that it is saved."""

from __future__ import annotations

import errno
import json
import os
import sys
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from siis.files import flush_folder

JOURNAL = "decisions.jsonl"
KEPT = "kept"
MADE = ("accepted", KEPT, "chosen")
UNDONE = "undone"  # the decision on this id before counts no more
TAKEN = "taken"  # the results hold all before this line for good: siis corrections has fitted it
FAR = 2**40  # a byte that no journal reaches, to lock where only bytes can be locked


@dataclass(frozen=True)
class Decision:
    """What was decided on an example.

    Attributes
    ----------
    id : str
    decision : str
        "accepted", "kept", "chosen" or "undone".
    label : str or None
        None where it is undone.
    """

    id: str
    decision: str
    label: str | None

    def __post_init__(self) -> None:
        wanted = type(None) if self.decision == UNDONE else str
        if not isinstance(self.id, str) or not isinstance(self.label, wanted):
            raise ValueError("a decision must have the text of an id, and a label unless it is undone")
        if self.decision not in (*MADE, UNDONE):
            raise ValueError(f"a decision must be one of {', '.join((*MADE, UNDONE))}; found {self.decision!r}")


class Journal:
    """The decisions on a folder of results; one process at a time has it.

    The lock is the system's, on the open file: it ends with the process, however that ends.

    Parameters
    ----------
    folder : Path
        The file is made if it does not exist.

    Attributes
    ----------
    path : Path
    made : dict of str to Decision
        The decisions that count, by id, in the order in which they were made.
    note : str
        What was wrong with the end of the file, and mended; or "".
    """

    def __init__(self, folder: Path) -> None:
        self.path = folder / JOURNAL
        self.made: dict[str, Decision] = {}
        self.note = ""
        self._named: set[str] = set()
        self._file = os.open(self.path, os.O_RDWR | os.O_CREAT | os.O_APPEND | getattr(os, "O_BINARY", 0), 0o666)
        try:
            if not _lock(self._file):
                raise ValueError(
                    f"{folder} must not be under review already; another siis review, or siis corrections, is at "
                    "work there. Go on with its link, or end it with Ctrl-C first."
                )
            flush_folder(folder)
            self._replay()
        except BaseException:
            self.close()
            raise

    def __enter__(self) -> Journal:
        return self

    def __exit__(self, *problem: object) -> None:
        self.close()

    def close(self) -> None:
        """Close the file, and let others have it."""
        with suppress(OSError):
            os.close(self._file)

    def add(self, decision: Decision) -> None:
        """Write a decision; when this returns it is on the disk.

        Parameters
        ----------
        decision : Decision
            One that changes nothing is not written again.
        """
        if decision == self.made.get(decision.id) or (decision.decision == UNDONE and decision.id not in self.made):
            return
        self._write({"id": decision.id, "decision": decision.decision, "label": decision.label})
        self._put(decision)

    def close_round(self) -> None:
        """Note that the results hold all decisions for good: another round begins."""
        if self._named:
            self._write({"decision": TAKEN})
            self._forget()

    def checked(self, earlier: Mapping[str, str]) -> dict[str, str]:
        """Labels that are certain, by id.

        Parameters
        ----------
        earlier : mapping of str to str
            Those of the results, which may hold some of these decisions, also such as were undone since.

        Returns
        -------
        dict of str to str
        """
        kept = {name: label for name, label in earlier.items() if name not in self._named}
        return {**kept, **{name: str(one.label) for name, one in self.made.items()}}

    def _put(self, decision: Decision) -> None:
        self._named.add(decision.id)
        self.made.pop(decision.id, None)
        if decision.decision != UNDONE:
            self.made[decision.id] = decision

    def _forget(self) -> None:
        self.made.clear()
        self._named.clear()

    def _write(self, plain: dict[str, Any]) -> None:
        """Append a line, whole or not at all."""
        try:
            is_there = os.path.samestat(os.fstat(self._file), self.path.stat())
        except FileNotFoundError:
            is_there = False
        if not is_there:
            raise ValueError(f"{self.path} was moved away or replaced. End the review and start it again")
        line = json.dumps({**plain, "at": datetime.now(UTC).isoformat(timespec="seconds")}).encode() + b"\n"
        size = os.fstat(self._file).st_size
        try:
            if os.write(self._file, line) != len(line):
                raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC), str(self.path))
            os.fsync(self._file)
        except OSError:
            os.ftruncate(self._file, size)
            raise

    def _replay(self) -> None:
        content = self.path.read_bytes()
        lines = content.split(b"\n")
        torn = lines.pop()
        for number, line in enumerate(lines, 1):
            try:
                self._read(line)
            except (ValueError, TypeError, RecursionError):
                raise ValueError(
                    f"{self.path}, line {number}, must be a decision as siis review writes it; it is not. Mend or "
                    "remove the line."
                ) from None
        if not torn:
            return
        try:
            self._read(torn)  # by hand, without a last end of line
            os.write(self._file, b"\n")
        except (ValueError, TypeError, RecursionError):
            os.ftruncate(self._file, len(content) - len(torn))
            self.note = (
                f"{self.path}, line {len(lines) + 1}, was cut off in the middle and is ignored; it was never "
                "confirmed as saved"
            )
        os.fsync(self._file)

    def _read(self, line: bytes) -> None:
        plain = {**json.loads(line)}
        plain.pop("at", None)
        if plain == {"decision": TAKEN}:
            self._forget()
        else:
            self._put(Decision(**plain))


def check_not_reviewed(folder: Path) -> None:
    """See that no review is at work on a folder of results.

    Parameters
    ----------
    folder : Path
        Need not exist.
    """
    path = folder / JOURNAL
    if not path.is_file():
        return
    file = os.open(path, os.O_RDWR)
    try:
        if not _lock(file):
            raise ValueError(
                f"{folder} must not be under review while its files are replaced; siis review is at work there. End "
                "it with Ctrl-C, or choose another --out."
            )
    finally:
        os.close(file)


def _lock(file: int) -> bool:
    """Whether the file is this process's alone from now on."""
    try:
        if sys.platform == "win32":
            import msvcrt  # noqa: PLC0415

            os.lseek(file, FAR, os.SEEK_SET)
            msvcrt.locking(file, msvcrt.LK_NBLCK, 1)
        else:
            import fcntl  # noqa: PLC0415

            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError as problem:
        if problem.errno in (errno.EAGAIN, errno.EACCES, errno.EDEADLK):
            return False
        raise
    return True
