"""Checked labels as lines of a file, each with its table: a line is on the disk before it counts as saved."""

from __future__ import annotations

import errno
import getpass
import json
import os
import sys
from collections.abc import Iterable, Mapping
from contextlib import suppress
from dataclasses import asdict, dataclass, replace
from datetime import UTC, datetime
from pathlib import Path

from siis.files import flush_folder

JOURNAL = "decisions.jsonl"
KEPT = "kept"
CORRECTED = "corrected"  # by a file of corrections
MADE = ("accepted", KEPT, "chosen", CORRECTED)
UNDONE = "undone"  # the decision on this id before counts no more
FAR = 2**40  # a byte that no journal reaches, to lock where only bytes can be locked


@dataclass(frozen=True)
class Decision:
    """A reviewer's decision on an example."""

    id: str
    decision: str  # "accepted", "kept" or "chosen" in a review, "corrected" by a file of corrections, or "undone"
    label: str | None  # None if undone
    by: str = ""  # reviewer; empty if unknown
    at: str = ""  # ISO 8601; empty before the decision is written

    def __post_init__(self) -> None:
        label_type = type(None) if self.decision == UNDONE else str
        if not isinstance(self.id, str) or not isinstance(self.label, label_type):
            raise ValueError("a decision must have the text of an id, and a label unless it is undone")
        if not isinstance(self.by, str) or not isinstance(self.at, str):
            raise ValueError("who decided, and when, must be texts")
        if self.decision not in (*MADE, UNDONE):
            raise ValueError(f"a decision must be one of {', '.join((*MADE, UNDONE))}; found {self.decision!r}")

    def is_same(self, other: Decision | None) -> bool:
        """Whether both decide the same, whoever made them."""
        return other is not None and (self.id, self.decision, self.label) == (other.id, other.decision, other.label)


class Journal:
    """The decisions in a folder of results; a lock of the system lets one process at a time hold them."""

    def __init__(self, folder: Path, table: str, by: str = "") -> None:
        self.path, self.table, self.by = folder / JOURNAL, table, by
        self.made: dict[str, Decision] = {}
        self.note = ""
        self._named: set[str] = set()
        self._others: set[tuple[str, str]] = set()  # table and id of decisions on other tables
        self._file = os.open(self.path, os.O_RDWR | os.O_CREAT | os.O_APPEND | getattr(os, "O_BINARY", 0), 0o666)
        try:
            if not _lock(self._file):
                raise ValueError(
                    f"{folder} must not be under review already; another siis command is at work there. Go on with "
                    "the link of siis review, or end that command with Ctrl-C first."
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

    def add(self, *decisions: Decision) -> None:
        """Write decisions to disk, except those that change nothing; missing times and names are filled in."""
        former, named, new = dict(self.made), set(self._named), []
        now = datetime.now(UTC).isoformat(timespec="seconds")
        for one in decisions:
            if self._is_new(one):
                new.append(one if one.at else replace(one, by=self.by, at=now))
                self._put(new[-1])
        try:
            if new:
                self._write([{**asdict(one), "table": self.table} for one in new])
        except BaseException:
            self.made, self._named = former, named
            raise

    def others(self) -> str:
        """Say what the file holds on other tables; "" where it holds nothing on them."""
        count = len(self._others)
        if not count:
            return ""
        start = "1 decision was" if count == 1 else f"{count:,} decisions were"
        rest = "it stays in {} and is" if count == 1 else "they stay in {} and are"
        return (
            f"{start} made on another table: {rest.format(self.path)} not applied. If the ids still name the same "
            f"examples, apply them with --corrections {self.path}"
        )

    def checked(self, earlier: Mapping[str, str]) -> dict[str, str]:
        """Verified labels by id; ``earlier`` are those of the results, decisions undone since included."""
        kept = {name: label for name, label in earlier.items() if name not in self._named}
        return {**kept, **{name: str(one.label) for name, one in self.made.items()}}

    def _is_new(self, decision: Decision) -> bool:
        former = self.made.get(decision.id)
        return decision.decision != UNDONE if former is None else not decision.is_same(former)

    def _put(self, decision: Decision) -> None:
        self._named.add(decision.id)
        self.made.pop(decision.id, None)
        if decision.decision != UNDONE:
            self.made[decision.id] = decision

    def _write(self, lines: Iterable[dict[str, str | None]]) -> None:
        """Append lines, all whole or none."""
        try:
            is_there = os.path.samestat(os.fstat(self._file), self.path.stat())
        except FileNotFoundError:
            is_there = False
        if not is_there:
            raise ValueError(f"{self.path} was moved away or replaced. End the review and start it again")
        content = "".join(f"{json.dumps(line)}\n" for line in lines).encode()
        size = os.fstat(self._file).st_size
        try:
            if os.write(self._file, content) != len(content):
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
        table = plain.pop("table", "")
        decision = Decision(**plain)
        if table == self.table:
            self._put(decision)
        elif decision.decision == UNDONE:
            self._others.discard((str(table), decision.id))
        else:
            self._others.add((str(table), decision.id))


def user_name() -> str:
    """Name of the user; "" if the system has none."""
    try:
        return getpass.getuser()
    except (OSError, KeyError, ImportError):
        return ""


def check_not_reviewed(folder: Path) -> None:
    """Refuse a folder of results that siis review has open."""
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
