"""A cache of features by content: one small database for each encoder, in the user's cache folder.

Each transaction is atomic, also if the process is killed; any number of processes may read and write.
"""

from __future__ import annotations

import sqlite3
import time
import zlib
from collections.abc import Iterator
from contextlib import contextmanager

import numpy as np

from siis._types import Floats
from siis.files import cache_folder

LOCK_TIMEOUT = 30.0  # seconds to wait for another process that writes
WRITE_INTERVAL = 5.0  # seconds between two transactions: what a kill may lose
CHECKSUM = 4  # bytes of the checksum after a row


class FeatureCache:
    """The cached features of one encoder; after an error of the database, nothing is cached."""

    def __init__(self, digest: str) -> None:
        self.path = cache_folder() / "encoded" / f"{digest}.sqlite"
        self.problem = ""
        self._new: dict[bytes, bytes] = {}
        self._written = time.monotonic()
        self._store: sqlite3.Connection | None = None
        with self._disabled_by_errors():
            self.path.parent.mkdir(parents=True, exist_ok=True)
            self._store = sqlite3.connect(self.path, timeout=LOCK_TIMEOUT)
            self._store.execute("CREATE TABLE IF NOT EXISTS features (key BLOB PRIMARY KEY, row BLOB) WITHOUT ROWID")

    @contextmanager
    def _disabled_by_errors(self) -> Iterator[None]:
        try:
            yield
        except (OSError, sqlite3.Error) as problem:
            why = f"{self.path} cannot be used ({problem})"
            self.problem = f"features are not cached, and the next run computes them again: {why}"
            self._close()

    def find(self, key: bytes) -> Floats | None:
        """Look features up by the digest of their content; returns (d,) or None."""
        row = self._new.get(key)
        if row is None and self._store is not None:
            with self._disabled_by_errors():
                found = self._store.execute("SELECT row FROM features WHERE key = ?", (key,)).fetchone()
                row = found[0] if found else None
        if not isinstance(row, bytes) or len(row) <= CHECKSUM or row[-CHECKSUM:] != _checksum(row[:-CHECKSUM]):
            return None
        return np.frombuffer(row[:-CHECKSUM], dtype="<f4")

    def add(self, key: bytes, row: Floats) -> None:
        """Store features, shape (d,); they are written every few seconds and at the end."""
        data = row.astype("<f4").tobytes()
        self._new[key] = data + _checksum(data)
        if time.monotonic() - self._written >= WRITE_INTERVAL:
            self._write()

    def _write(self) -> None:
        if self._store is not None:
            with self._disabled_by_errors(), self._store:  # one transaction
                self._store.executemany("INSERT OR REPLACE INTO features VALUES (?, ?)", self._new.items())
        self._new.clear()
        self._written = time.monotonic()

    def close(self) -> None:
        """Write what is new, and close the database."""
        self._write()
        self._close()

    def _close(self) -> None:
        if self._store is not None:
            self._store.close()
        self._store = None


def _checksum(data: bytes) -> bytes:
    return zlib.crc32(data).to_bytes(CHECKSUM, "little")
