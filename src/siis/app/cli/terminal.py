"""What a user sees: progress, notes, errors of one sentence; and an end within a second on Ctrl-C."""

from __future__ import annotations

import contextvars
import os
import sys
import threading
import time
from collections.abc import Callable, Iterator
from concurrent.futures import Future
from contextlib import contextmanager
from pathlib import Path
from typing import Any, TypeVar

import typer

from siis.app.cli.interrupts import set_interrupt_message, sigint_raises, stop
from siis.app.messages import PROBLEMS, error_sentence
from siis.progress import progress_listener, round_seconds

Result = TypeVar("Result")
BAD_DATA = 1
WORTH_SAYING = 1.5  # seconds
POLL = 0.1  # seconds between two looks at whether the work is done


def print_line(text: str = "") -> None:
    """Print a line on standard error, with characters that the terminal can show."""
    encoding = getattr(sys.stderr, "encoding", None) or "utf-8"
    typer.echo(printable(text).encode(encoding, "replace").decode(encoding, "replace"), err=True)


def announce_reading(path: Path, quiet: bool) -> None:
    """Print on a terminal which file is read, before the libraries are loaded."""
    if not quiet and sys.stderr is not None and sys.stderr.isatty() and path.exists():
        print_line(f"reading {path}")


def printable(text: str, kept: str = "\n") -> str:
    """Escape control characters, except those in ``kept``."""
    return "".join(c if c in kept or c.isprintable() else repr(c)[1:-1] for c in text)


@contextmanager
def report_errors(message: str = "") -> Iterator[None]:
    """Turn errors of data and files into one sentence and an exit code; ``message`` is printed on Ctrl-C."""
    set_interrupt_message(printable(message))
    try:
        yield
    except KeyboardInterrupt:
        stop()
    except BrokenPipeError:  # the reader of a pipe has gone
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        raise typer.Exit(BAD_DATA) from None
    except PROBLEMS as problem:
        print_line(f"siis: {error_sentence(problem)}")
        raise typer.Exit(BAD_DATA) from None
    finally:
        set_interrupt_message("")


def in_background(work: Callable[[], Result]) -> Result:
    """Run in another thread, so that Ctrl-C works at once even while compiled code runs."""
    done: Future[Result] = Future()

    def run() -> None:
        try:
            done.set_result(context.run(work))
        except BaseException as problem:
            done.set_exception(problem)

    context = contextvars.copy_context()
    thread = threading.Thread(target=run, daemon=True)
    with sigint_raises():
        thread.start()
        while thread.is_alive():
            thread.join(POLL)
    return done.result()


@contextmanager
def shown_progress(quiet: bool) -> Iterator[None]:
    """Show the stages: a moving line on a terminal, a line for each stage elsewhere."""
    if quiet:
        yield
    elif sys.stderr is not None and sys.stderr.isatty():
        with sigint_raises(), _moving():
            yield
    else:
        started: dict[str, float] = {}

        def show(name: str, share: float, _: float | None) -> None:
            if share <= 0:
                started[name] = time.monotonic()
            elif share >= 1 and name in started:
                print_line(f"  {name}: {time.monotonic() - started.pop(name):.1f} s")

        with progress_listener(show):
            yield


@contextmanager
def _moving() -> Iterator[None]:
    from rich.console import Console  # noqa: PLC0415
    from rich.progress import BarColumn, Progress, SpinnerColumn, TextColumn, TimeElapsedColumn  # noqa: PLC0415

    columns = (
        SpinnerColumn(),
        TextColumn("{task.description}"),
        BarColumn(),
        TimeElapsedColumn(),
        TextColumn("{task.fields[left]}"),
    )
    tasks: dict[str, Any] = {}
    with Progress(*columns, console=Console(stderr=True), transient=False) as progress:

        def show(name: str, share: float, left: float | None) -> None:
            if share <= 0 or name not in tasks:
                tasks[name] = progress.add_task(name, total=1.0, left="")
            words = f"about {round_seconds(left)} left" if left is not None and left >= WORTH_SAYING else ""
            progress.update(tasks[name], completed=share, left=words)

        with progress_listener(show):
            yield
