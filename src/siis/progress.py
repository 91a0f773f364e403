"""Progress of long work, on standard error, only when asked for."""

import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager


class Progress:
    """Reports stages and iterations when ``verbose`` is positive, otherwise nothing.

    Parameters
    ----------
    verbose : int
        0: silent; 1: one line for each stage; 2: also the solver's measurements.
    """

    def __init__(self, verbose: int) -> None:
        self.verbose = verbose

    @contextmanager
    def stage(self, name: str) -> Iterator[None]:
        """Report a stage when it ends, with its time."""
        started = time.perf_counter()
        yield
        self.say(1, f"{name}: {time.perf_counter() - started:.2f} s")

    def say(self, level: int, text: str) -> None:
        """Write one line if ``verbose`` is at least ``level``."""
        if self.verbose >= level:
            sys.stderr.write(f"[siis] {text}\n")
            sys.stderr.flush()
