"""Files that are either there whole or not at all."""

from __future__ import annotations

import contextlib
import os
import shutil
import tempfile
from collections.abc import Mapping
from pathlib import Path

STAGING = ".siis-unfinished-"


def write_file(path: Path, content: bytes) -> None:
    """Write a file so that at any moment its former or its new content is there.

    Parameters
    ----------
    path : Path
    content : bytes
    """
    write_files(path.parent, {path.name: content})


def write_files(folder: Path, contents: Mapping[str, bytes]) -> None:
    """Write files into a folder: all are written and flushed beside it first, and then take their names in order.

    A process that dies before leaves the former files as they were; a full or read-only folder is found out before
    any of them is touched.

    Parameters
    ----------
    folder : Path
        Made if it does not exist.
    contents : mapping of str to bytes
    """
    folder.mkdir(parents=True, exist_ok=True)
    for stale in folder.glob(f"{STAGING}*"):  # of a process that was killed
        shutil.rmtree(stale, ignore_errors=True)
    for name in contents:
        if (folder / name).is_dir():
            raise IsADirectoryError(f"{folder / name} must be a file, but it is a folder. Move it away.")
    staging = Path(tempfile.mkdtemp(prefix=STAGING, dir=folder))
    try:
        for name, content in contents.items():
            with (staging / name).open("wb") as file:
                file.write(content)
                file.flush()
                os.fsync(file.fileno())
        for name in contents:
            (staging / name).replace(folder / name)
    finally:
        with contextlib.suppress(OSError):
            shutil.rmtree(staging)
