"""Progress of long work, on standard error, if requested."""

import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from typing import TypeAlias

Report: TypeAlias = Callable[[float], None]
Listener: TypeAlias = Callable[[str, float, float | None], None]
_listener: ContextVar[Listener | None] = ContextVar("listener", default=None)

EVERY = 2.0  # seconds between two reports of a stage


def no_progress(share: float) -> None:
    """Report to nobody."""


@contextmanager
def progress_listener(listener: Listener) -> Iterator[None]:
    """Pass stages to a listener: name, share done (0 once and 1 once), and the seconds left or None."""
    token = _listener.set(listener)
    try:
        yield
    finally:
        _listener.reset(token)


def round_seconds(seconds: float) -> str:
    """Format an approximate duration."""
    if seconds < 1.5:
        return "a second"
    if seconds < 100:
        return f"{seconds:.0f} s"
    return f"{seconds / 60:.0f} min" if seconds < 100 * 60 else f"{seconds / 3600:.0f} h"


class Progress:
    """Prints stages to standard error: nothing at 0, stages at 1, also the solver's measurements at 2."""

    def __init__(self, verbose: int) -> None:
        self.verbose = verbose

    @contextmanager
    def stage(self, name: str) -> Iterator[Report]:
        """Report a stage when it ends, with its time; yields a function that takes the share that is done."""
        started = reported = time.perf_counter()
        listener = _listener.get()

        def pass_on(share: float) -> float | None:
            seconds = (time.perf_counter() - started) * (1 / share - 1) if 0 < share < 1 else None
            if listener is not None:
                listener(name, share, seconds)
            return seconds

        def report(share: float) -> None:
            nonlocal reported
            if not 0 < share < 1:  # the stage itself reports its begin and end
                return
            now = time.perf_counter()
            seconds = pass_on(share)
            if now - reported >= EVERY:
                reported = now
                assert seconds is not None
                self.say(1, f"{name}: {share:.0%}, about {round_seconds(seconds)} left")

        pass_on(0.0)
        yield report
        pass_on(1.0)
        self.say(1, f"{name}: {time.perf_counter() - started:.2f} s")

    def say(self, level: int, text: str) -> None:
        """Write one line if ``verbose`` is at least ``level``."""
        if self.verbose >= level:
            sys.stderr.write(f"[siis] {text}\n")
            sys.stderr.flush()
