"""Progress of long work, on standard error, only when asked for."""

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
def listening(listener: Listener) -> Iterator[None]:
    """Tell a listener how the work goes on, whatever ``verbose`` is.

    Parameters
    ----------
    listener : callable
        Takes the name of a stage, the share of it that is done, and the seconds that are left of all stages, None
        where they are not known. The share is 0 once, when the stage begins, and 1 once, when it ends.
    """
    token = _listener.set(listener)
    try:
        yield
    finally:
        _listener.reset(token)


def round_seconds(seconds: float) -> str:
    """A time that is known roughly, in words.

    Parameters
    ----------
    seconds : float

    Returns
    -------
    str
    """
    if seconds < 1.5:
        return "a second"
    if seconds < 100:
        return f"{seconds:.0f} s"
    return f"{seconds / 60:.0f} min" if seconds < 100 * 60 else f"{seconds / 3600:.0f} h"


class Progress:
    """Reports stages and iterations when ``verbose`` is positive, otherwise nothing.

    Parameters
    ----------
    verbose : int
        0: silent; 1: one line for each stage, how much of a long one is done, and about how long it will yet take;
        2: also the solver's measurements.
    """

    def __init__(self, verbose: int) -> None:
        self.verbose = verbose

    @contextmanager
    def stage(self, name: str) -> Iterator[Report]:
        """Report a stage when it ends, with its time; yields a function that takes the share that is done."""
        started = said = time.perf_counter()
        tell = _listener.get()

        def pass_on(share: float) -> float | None:
            seconds = (time.perf_counter() - started) * (1 / share - 1) if 0 < share < 1 else None
            if tell is not None:
                tell(name, share, seconds)
            return seconds

        def report(share: float) -> None:
            nonlocal said
            if not 0 < share < 1:  # the stage itself says when it begins and ends
                return
            now = time.perf_counter()
            seconds = pass_on(share)
            if now - said >= EVERY:
                said = now
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
