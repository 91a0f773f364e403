"""How the program ends: at once, with one sentence on Ctrl-C. Imports nothing heavy: it is there before all else."""

from __future__ import annotations

import os
import signal
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from typing import Any, NoReturn

INTERRUPTED = 130
_message = ""  # printed after Ctrl-C


def install_sigint_handler() -> None:
    """End the process on Ctrl-C with a sentence (an exception may be lost in imports), unless it ignores Ctrl-C."""
    if signal.getsignal(signal.SIGINT) is signal.default_int_handler:
        signal.signal(signal.SIGINT, stop)


@contextmanager
def sigint_raises() -> Iterator[None]:
    """Let Ctrl-C raise KeyboardInterrupt here, where there is something to be undone or a terminal to be restored."""
    if threading.current_thread() is not threading.main_thread() or signal.getsignal(signal.SIGINT) is not stop:
        yield
        return
    signal.signal(signal.SIGINT, signal.default_int_handler)
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, stop)


def set_interrupt_message(sentence: str) -> None:
    """Set the sentence about files that is printed on Ctrl-C from now on."""
    global _message  # noqa: PLW0603  (a signal handler is given no arguments of ours)
    _message = sentence


def stop(*_: Any) -> NoReturn:
    """Say that the work was interrupted, and end at once: compiled loops in other threads would go on for a while."""
    with suppress(OSError):  # not through sys.stderr, which may be in the middle of a line
        os.write(2, f"\n{f'Interrupted. {_message}'.strip()}\n".encode(errors="replace"))
    os._exit(INTERRUPTED)


def end(code: Any) -> NoReturn:
    """Exit as sys.exit does, without waiting for threads whose work is no longer needed."""
    threads = sys.modules.get("siis.engine.threads")
    is_computing = threads is not None and threads.is_busy()
    is_reading = bool(code) and "pyarrow" in sys.modules  # ahead, in a file that was given up: aborts sys.exit
    if isinstance(code, int) and (is_computing or is_reading):
        for stream in (sys.stdout, sys.stderr):
            with suppress(OSError, ValueError, AttributeError):  # closed, or there is none
                stream.flush()
        os._exit(code)
    sys.exit(code)
