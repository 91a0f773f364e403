"""Files that are either there whole or not at all."""

from __future__ import annotations

import contextlib
import os
import shutil
import tempfile
from collections.abc import Iterator, Mapping
from pathlib import Path

STAGING = ".siis-unfinished-"


def write_file(path: Path, content: bytes) -> None:
    """Write a file so that at any moment its former or its new content is there.

    Links are followed; what is no file (a pipe, a device) is written to as it is.

    Parameters
    ----------
    path : Path
    content : bytes
    """
    path = Path(os.path.realpath(path))
    if path.exists() and not path.is_file() and not path.is_dir():
        path.write_bytes(content)
    else:
        write_files(path.parent, {path.name: content})


def write_files(folder: Path, contents: Mapping[str, bytes]) -> None:
    """Write files into a folder: all are written and flushed beside it first, and then take their names in order.

    A full or read-only folder is found out before any of them is touched. Where a name cannot be taken after all,
    those taken are given back. A process that dies leaves whole files, the former or the new ones.

    Parameters
    ----------
    folder : Path
        Made if it does not exist.
    contents : mapping of str to bytes
    """
    with _named(folder):
        folder.mkdir(parents=True, exist_ok=True)
        _clean_up(folder)
        for name in contents:
            if (folder / name).is_dir():
                raise ValueError(f"{folder / name} must be a file, but it is a folder. Move it away.")
        staging = Path(tempfile.mkdtemp(prefix=f"{STAGING}{os.getpid()}-", dir=folder))
        try:
            for name, content in contents.items():
                with (staging / name).open("wb") as file:
                    file.write(content)
                    file.flush()
                    os.fsync(file.fileno())
            _take_names(staging, folder, list(contents))
        finally:
            with contextlib.suppress(OSError):
                shutil.rmtree(staging)


def check_writable(folder: Path) -> None:
    """Make a folder and see that files can be written into it.

    Parameters
    ----------
    folder : Path
    """
    if folder.exists() and not folder.is_dir():
        raise ValueError(f"{folder} must be a folder; it is a file. Choose another one.")
    with _named(folder):
        folder.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryFile(dir=folder):
            pass


def _take_names(staging: Path, folder: Path, names: list[str]) -> None:
    former = staging / "former"
    former.mkdir()
    taken: list[str] = []
    try:
        for name in names:
            with contextlib.suppress(OSError):  # no such file, or a file system without links
                os.link(folder / name, former / name)
            (staging / name).replace(folder / name)
            taken.append(name)
    except BaseException:
        for name in taken:
            if (former / name).exists():
                (former / name).replace(folder / name)
            else:
                (folder / name).unlink()
        raise


def _clean_up(folder: Path) -> None:
    """Remove what processes that were killed have left."""
    for stale in folder.glob(f"{STAGING}*"):
        owner = stale.name.removeprefix(STAGING).split("-")[0]
        if owner.isdecimal() and not _is_alive(int(owner)):
            shutil.rmtree(stale, ignore_errors=True)


def _is_alive(process: int) -> bool:
    try:
        os.kill(process, 0)
    except ProcessLookupError:
        return False
    except (OSError, OverflowError):
        return True
    return True


@contextlib.contextmanager
def _named(folder: Path) -> Iterator[None]:
    """Let errors name the folder that the user knows."""
    try:
        yield
    except OSError as problem:
        raise OSError(problem.errno, problem.strerror, str(folder)) from problem
