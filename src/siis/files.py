"""Files that are there whole or not at all, and folders whose files are all former or all new.

The files of a folder are first written to a hidden folder in it. One renaming then decides: the hidden folder
becomes ``.siis-commit``. After that they take their names, and where a process was killed on the way, whoever
comes next goes on. docs/decisions/0014-folders.md has the reasons.
"""

from __future__ import annotations

import contextlib
import errno
import json
import os
import platform
import re
import secrets
import shutil
import tempfile
import time
from collections.abc import Iterator, Mapping
from pathlib import Path

STAGING = ".siis-unfinished-"  # being written: nothing in it counts
COMMIT = ".siis-commit"  # written whole: its files are about to take their names
TAKING = f"{COMMIT}-"  # the same, in the hands of a process; any other may help
UNDOING = ".siis-undo-"  # a name could not be taken: the former files come back
NEW, FORMER, NAMES = "new", "former", "names.json"  # inside of these
TAKEN = (errno.EEXIST, errno.ENOTEMPTY)  # what renaming to the name of a folder that is there brings
FORGOTTEN = 24 * 3600.0  # seconds after which an unfinished folder from another machine counts as left behind


def cache_folder() -> Path:
    """The user's cache folder for siis, created when first written to."""
    base = os.environ.get("XDG_CACHE_HOME")
    return (Path(base) if base else Path.home() / ".cache") / "siis"


def write_file(path: Path, content: bytes) -> None:
    """Replace a file at once: at any moment it is old or new. Links are followed; pipes are written directly."""
    path = Path(os.path.realpath(path))
    if path.exists() and not path.is_file() and not path.is_dir():
        path.write_bytes(content)
    else:
        write_files(path.parent, {path.name: content})


def write_files(folder: Path, contents: Mapping[str, bytes]) -> None:
    """Write files into a folder, all or none, in this order; other files there stay.

    A full or read-only folder fails before any file is replaced. After kill -9, ``settle`` makes all old or all new.
    """
    with _named(folder):
        folder.mkdir(parents=True, exist_ok=True)
        settle(folder)
        for name in contents:
            if (folder / name).is_dir():
                raise ValueError(f"{folder / name} must be a file, but it is a folder. Move it away.")
        staging = Path(tempfile.mkdtemp(prefix=f"{STAGING}{os.getpid()}-{_machine()}-", dir=folder))
        try:
            (staging / NEW).mkdir()
            for name, content in contents.items():
                _write(staging / NEW / name, content)
            if len(contents) == 1:  # one renaming is all there is
                os.replace(staging / NEW / name, folder / name)
                flush_folder(folder)
            else:
                _write(staging / NAMES, json.dumps(list(contents)).encode())
                flush_folder(staging / NEW)
                flush_folder(staging)
                _commit(staging, folder)
        finally:
            with contextlib.suppress(OSError):
                shutil.rmtree(staging)


def settle(folder: Path) -> None:
    """Finish what a killed process has begun, so that all files are old or all new; several processes may call it.

    Every command that reads or writes a folder calls it first.
    """
    try:
        _finish(folder)
    except OSError as problem:
        if problem.errno in (errno.EACCES, errno.EPERM, errno.EROFS):
            raise ValueError(
                f"the files in {folder} were about to be replaced when siis was stopped, and that must be finished "
                f"first; it cannot be: {problem.strerror}. Run the command with leave to write there."
            ) from problem
        raise
    for left in folder.glob(f"{STAGING}*"):
        if _is_left_behind(left):
            shutil.rmtree(left, ignore_errors=True)


def check_writable(folder: Path) -> None:
    """Make a folder and check that files can be written into it."""
    if folder.exists() and not folder.is_dir():
        raise ValueError(f"{folder} must be a folder; it is a file. Choose another one.")
    with _named(folder):
        folder.mkdir(parents=True, exist_ok=True)
        settle(folder)
        with tempfile.TemporaryFile(dir=folder):
            pass


def flush_folder(folder: Path) -> None:
    """Flush new names in a folder to the disk, where the system can."""
    if os.name == "posix":
        descriptor = os.open(folder, os.O_RDONLY)
        try:
            os.fsync(descriptor)
        finally:
            os.close(descriptor)


def _commit(staging: Path, folder: Path) -> None:
    """Decide that the new files are to be there, by one renaming, and let them take their names."""
    commit, mine = folder / COMMIT, staging.stat()
    try:
        while True:
            try:
                staging.rename(commit)
                break
            except OSError as problem:  # another process has just done the same
                if problem.errno not in TAKEN or commit.is_file() or commit.is_symlink():
                    raise
                _finish(folder)
        flush_folder(folder)
        _finish(folder)
    except BaseException:
        with contextlib.suppress(OSError):
            if os.path.samestat(commit.stat(), mine):  # not begun: withdrawn
                commit.rename(staging)
        raise


def _finish(folder: Path) -> None:
    """Bring all that was decided to its end, the oldest first."""
    while True:
        for begun in filter(_is_folder, sorted(folder.glob(f"{UNDOING}*"))):
            _undo(begun, folder)
        for begun in filter(_is_folder, sorted(folder.glob(f"{TAKING}*"))):
            _take_names(begun, folder)
        if not _is_folder(folder / COMMIT):
            return
        with contextlib.suppress(FileNotFoundError):  # in the hands of another process: helped in the next round
            (folder / COMMIT).rename(folder / f"{TAKING}{os.getpid()}-{secrets.token_hex(4)}")


def _take_names(begun: Path, folder: Path) -> None:
    names: list[str] = []
    try:
        names = _names(begun)
        (begun / FORMER).mkdir(exist_ok=True)
        for name in names:  # all of them first: the names are then taken within an instant
            if (begun / NEW / name).exists():
                _copy(folder / name, begun / FORMER / name)
        for name in names:
            with contextlib.suppress(FileNotFoundError):  # taken before
                os.replace(begun / NEW / name, folder / name)
        flush_folder(folder)
    except FileNotFoundError:  # another process has finished it, and removes it
        if any((begun / NEW / name).exists() for name in names):
            raise
    except BaseException:
        undoing = folder / begun.name.replace(TAKING, UNDOING)
        begun.rename(undoing)
        _undo(undoing, folder)
        raise
    _remove(begun)


def _undo(begun: Path, folder: Path) -> None:
    with contextlib.suppress(FileNotFoundError):
        for name in _names(begun):
            if os.path.lexists(begun / FORMER / name):
                again = begun / f"again-{secrets.token_hex(4)}"
                _copy(begun / FORMER / name, again)
                os.replace(again, folder / name)
            elif not (begun / NEW / name).exists():  # there was none before
                with contextlib.suppress(FileNotFoundError):
                    os.replace(folder / name, begun / NEW / name)
        flush_folder(folder)
    _remove(begun)


def _names(begun: Path) -> list[str]:
    """The files of a commit, in their order; FileNotFoundError where it is finished and about to be removed."""
    try:
        names = json.loads((begun / NAMES).read_bytes())
        if isinstance(names, list) and all(_is_name(name) for name in names):
            return names
    except (ValueError, RecursionError):
        pass
    raise ValueError(f"{begun} must be a folder that siis has made; it is not. Move it away.")


def _is_name(name: object) -> bool:
    return isinstance(name, str) and name not in ("", ".", "..") and not set(name) & {"/", "\\", "\0"}


def _copy(path: Path, copy: Path) -> None:
    """A second name for a file, or a copy where the file system knows none; nothing where there is no file."""
    if not os.path.lexists(path) or os.path.lexists(copy):
        return
    try:
        os.link(path, copy, follow_symlinks=False)
    except FileNotFoundError:  # the folder: another process has finished
        raise
    except FileExistsError:  # another process helps
        pass
    except (OSError, NotImplementedError):
        shutil.copy2(path, copy, follow_symlinks=False)


def _write(path: Path, content: bytes) -> None:
    with path.open("wb") as file:
        file.write(content)
        file.flush()
        os.fsync(file.fileno())


def _remove(begun: Path) -> None:
    try:
        (begun / NAMES).unlink(missing_ok=True)
        shutil.rmtree(begun)
    except OSError as problem:  # another process helps, or removes it, too: seen to in the next round
        if problem.errno not in (errno.ENOENT, errno.ENOTEMPTY):
            raise


def _is_folder(path: Path) -> bool:
    return path.is_dir() and not path.is_symlink()


def _is_left_behind(staging: Path) -> bool:
    """Whether the process that wrote here is gone; of other machines nothing is known but the time."""
    process, _, rest = staging.name.removeprefix(STAGING).partition("-")
    if not process.isdecimal():
        return False
    if rest.split("-")[0] == _machine():
        return not _is_alive(int(process))
    try:
        return time.time() - staging.stat().st_mtime > FORGOTTEN
    except OSError:
        return False


def _machine() -> str:
    return re.sub(r"[^A-Za-z0-9.]", "", platform.node())[:40]


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
