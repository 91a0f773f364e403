"""Progress of long work, on standard error, only when asked for."""

import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from typing import TypeAlias

Report: TypeAlias = Callable[[float], None]
Listener: TypeAlias = Callable[[str, float], None]
_listener: ContextVar[Listener | None] = ContextVar("listener", default=None)

EVERY = 2.0  # seconds between two reports of a stage


def no_progress(share: float) -> None:
    """Report to nobody."""


@contextmanager
def listening(listener: Listener) -> Iterator[None]:
    """Tell a listener the name of each stage and the share of it that is done, from 0 to 1, whatever ``verbose`` is.

    Parameters
    ----------
    listener : callable
        Takes name and share.
    """
    token = _listener.set(listener)
    try:
        yield
    finally:
        _listener.reset(token)


class Progress:
    """Reports stages and iterations when ``verbose`` is positive, otherwise nothing.

    Parameters
    ----------
    verbose : int
        0: silent; 1: one line for each stage, and how much of a long one is done and about how long it will yet take;
        2: also the solver's measurements.
    """

    def __init__(self, verbose: int) -> None:
        self.verbose = verbose

    @contextmanager
    def stage(self, name: str) -> Iterator[Report]:
        """Report a stage when it ends, with its time; yields a function that takes the share that is done."""
        started = said = time.perf_counter()
        tell = _listener.get()

        def report(share: float) -> None:
            nonlocal said
            now = time.perf_counter()
            if tell is not None:
                tell(name, share)
            if now - said >= EVERY and 0 < share < 1:
                said = now
                left = (now - started) * (1 / share - 1)
                self.say(1, f"{name}: {share:.0%}, about {left:.0f} s left")

        if tell is not None:
            tell(name, 0.0)
        yield report
        if tell is not None:
            tell(name, 1.0)
        self.say(1, f"{name}: {time.perf_counter() - started:.2f} s")

    def say(self, level: int, text: str) -> None:
        """Write one line if ``verbose`` is at least ``level``."""
        if self.verbose >= level:
            sys.stderr.write(f"[siis] {text}\n")
            sys.stderr.flush()
