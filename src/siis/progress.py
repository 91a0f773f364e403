"""Progress of long work, on standard error, only when asked for."""

import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import TypeAlias

Report: TypeAlias = Callable[[float], None]

EVERY = 2.0  # seconds between two reports of a stage


def unheard(share: float) -> None:
    """Report to nobody."""


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

        def report(share: float) -> None:
            nonlocal said
            now = time.perf_counter()
            if now - said >= EVERY and 0 < share < 1:
                said = now
                left = (now - started) * (1 / share - 1)
                self.say(1, f"{name}: {share:.0%}, about {left:.0f} s left")

        yield report
        self.say(1, f"{name}: {time.perf_counter() - started:.2f} s")

    def say(self, level: int, text: str) -> None:
        """Write one line if ``verbose`` is at least ``level``."""
        if self.verbose >= level:
            sys.stderr.write(f"[siis] {text}\n")
            sys.stderr.flush()
