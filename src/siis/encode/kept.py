"""A cache of features by content: one small database for each encoder, in the user's cache folder.

Each transaction is atomic, also if the process is killed; any number of processes may read and write.
"""

from __future__ import annotations

import sqlite3
import time
import zlib
from pathlib import Path
from types import TracebackType
from typing import Self

import numpy as np

from siis._types import Floats
from siis.files import cache_folder

PATIENCE = 30.0  # seconds to wait for another process that writes
EVERY = 5.0  # seconds between two writings: what a kill may lose
CHECK = 4  # bytes after a row that tell whether it is as it was


class Kept:
    """The cached features of one encoder."""

    def __init__(self, digest: str) -> None:
        self.path: Path = cache_folder() / "encoded" / f"{digest}.sqlite"
        self.problem = ""
        self._new: dict[bytes, bytes] = {}
        self._written = time.monotonic()
        self._store: sqlite3.Connection | None = None
        try:
            self.path.parent.mkdir(parents=True, exist_ok=True)
            self._store = sqlite3.connect(self.path, timeout=PATIENCE, isolation_level=None)
            self._store.execute("CREATE TABLE IF NOT EXISTS features (key BLOB PRIMARY KEY, row BLOB) WITHOUT ROWID")
        except (OSError, sqlite3.Error) as problem:
            self._give_up(problem)

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, problem: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._write()
        if self._store is not None:
            self._store.close()

    def find(self, key: bytes) -> Floats | None:
        """Look features up by the digest of their content; returns (d,) or None."""
        found = self._new.get(key)
        if found is None and self._store is not None:
            try:
                rows = self._store.execute("SELECT row FROM features WHERE key = ?", (key,)).fetchall()
            except sqlite3.Error as problem:
                self._give_up(problem)
                return None
            found = rows[0][0] if rows else None
        is_sound = isinstance(found, bytes) and len(found) > CHECK and found[-CHECK:] == _check(found[:-CHECK])
        return np.frombuffer(found[:-CHECK], dtype="<f4") if found is not None and is_sound else None

    def add(self, key: bytes, row: Floats) -> None:
        """Store features, shape (d,); they are written every few seconds and at the end."""
        data = row.astype("<f4").tobytes()
        self._new[key] = data + _check(data)
        if time.monotonic() - self._written >= EVERY:
            self._write()

    def _write(self) -> None:
        if self._store is not None and self._new:
            try:
                self._store.execute("BEGIN IMMEDIATE")
                self._store.executemany("INSERT OR REPLACE INTO features VALUES (?, ?)", self._new.items())
                self._store.execute("COMMIT")
            except sqlite3.Error as problem:
                self._give_up(problem)
        self._new.clear()
        self._written = time.monotonic()

    def _give_up(self, problem: Exception) -> None:
        self.problem = f"features are not kept for the next time: {self.path} cannot be used ({problem})"
        if self._store is not None:
            self._store.close()
        self._store = None


def _check(data: bytes) -> bytes:
    return zlib.crc32(data).to_bytes(CHECK, "little")
