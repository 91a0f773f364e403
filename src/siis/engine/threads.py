"""Independent pieces of work on all processor cores, for code that releases the interpreter lock."""

from __future__ import annotations

import os
import threading
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import FIRST_EXCEPTION, ThreadPoolExecutor, wait
from contextlib import contextmanager, suppress
from functools import cache
from typing import Any, Generic, TypeVar

from threadpoolctl import OpenBLASController, ThreadpoolController

Item = TypeVar("Item")
Result = TypeVar("Result")


class Interrupted(BaseException):
    """Ends a worker whose result nobody waits for."""


class _Local(threading.local):
    cancelled: threading.Event | None = None


_local = _Local()
_pool: ThreadPoolExecutor | None = None
_lock = threading.Lock()
_running = 0  # pieces of work in threads
_alone = 0  # how many want the linear algebra library in one thread,
_limit: Any = None  # and what it was before
FEW = 3  # threads of work that holds the interpreter lock for much of its time: more are slower


@cache
def n_threads() -> int:
    """Number of processor cores that this process may use: no more than ``OMP_NUM_THREADS``, where that is set.

    joblib sets it in its worker processes, which share the cores.
    """
    limit = os.environ.get("OMP_NUM_THREADS", "").split(",")[0].strip()
    return min(_n_cores(), int(limit)) if limit.isdecimal() and int(limit) > 0 else _n_cores()


def _n_cores() -> int:
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1


def in_threads(work: Callable[[Item], Result], items: Sequence[Item], at_once: int | None = None) -> list[Result]:
    """Do ``work`` for every item, in as many threads as there are cores; results in the order of the items.

    Work that is itself done in a thread runs its own pieces one after the other. Where the caller is interrupted or a
    piece fails, that is raised: pieces that have not begun are dropped, and running ones end at their next
    ``pause_point``; each piece begins with one.

    Parameters
    ----------
    work : callable
        Item -> result.
    items : sequence
    at_once : int, optional
        For long pieces, of which so many are done at once at most: ``FEW`` for work of many short calls, which wait
        for each other's interpreter lock. The caller waits, and hears of an interrupt or a failure at once. If left
        out, pieces are short: the caller does some of them itself, which costs less than to wake threads for all.

    Returns
    -------
    list
    """
    if len(items) < 2 or _local.cancelled is not None or n_threads() == 1:
        return [_after_pause(work, item) for item in items]
    shared = _Shared(work, items)
    helpers = min(len(items), n_threads() if at_once is None else at_once) - (at_once is None)
    try:
        futures = [_workers().submit(shared.help) for _ in range(helpers)]
        if at_once is None:
            with suppress(Interrupted):  # with which a piece ends where another has failed
                shared.help()
            futures = [future for future in futures if not future.cancel()]  # some have not begun: nothing is left
        wait(futures, return_when=FIRST_EXCEPTION)
        if shared.problems:
            raise shared.problems[0]
        return shared.results
    finally:
        shared.close()


class _Shared(Generic[Item, Result]):
    """Pieces of work that several threads take, one after the other.

    A helper that was called off stays in the queue of a busy pool: what it holds is let go when the work is closed.
    """

    def __init__(self, work: Callable[[Item], Result], items: Sequence[Item]) -> None:
        self.work: Callable[[Item], Result] | None = work
        self.todo = deque(enumerate(items))
        self.results: list[Any] = [None] * len(items)
        self.problems: list[BaseException] = []
        self.cancelled = threading.Event()

    def help(self) -> None:
        """Do pieces until none is left."""
        _local.cancelled = self.cancelled
        try:
            with _counted():
                results, work = self.results, self.work
                while work is not None and (piece := self._take()) is not None:
                    k, item = piece
                    results[k] = _after_pause(work, item)
        except BaseException as problem:
            self.problems.append(problem)  # before others hear of it, and end with an Interrupted of their own
            self.cancelled.set()
            raise
        finally:
            _local.cancelled = None

    def _take(self) -> tuple[int, Item] | None:
        try:
            return self.todo.popleft()
        except IndexError:
            return None

    def close(self) -> None:
        """Drop what has not begun, and end what runs at its next pause."""
        self.cancelled.set()
        self.todo.clear()
        self.work, self.results = None, []


def _after_pause(work: Callable[[Item], Result], item: Item) -> Result:
    pause_point()
    return work(item)


@contextmanager
def _counted() -> Iterator[None]:
    global _running  # noqa: PLW0603
    with _lock:
        _running += 1
    try:
        yield
    finally:
        with _lock:
            _running -= 1


def is_busy() -> bool:
    """Whether a piece of work still runs in a thread; nobody may wait for it any more.

    Returns
    -------
    bool
    """
    return _running > 0


@contextmanager
def alone() -> Iterator[None]:
    """Do all pieces of work in the calling thread, one after the other: others have the other cores."""
    before, _local.cancelled = _local.cancelled, threading.Event()
    try:
        yield
    finally:
        _local.cancelled = before


@contextmanager
def one_blas_thread() -> Iterator[None]:
    """Keep linear algebra in the calling thread: pieces of work in threads are parallel already.

    Threads of the linear algebra library spin for a while after each call, and take the cores from other work. Where
    somebody else has limited them it is left to them.
    """
    global _alone, _limit  # noqa: PLW0603  (the limit is the process's: the first sets it, the last lifts it)
    with _lock:
        _alone += 1
        if _alone == 1:
            is_one = all(library["num_threads"] == 1 for library in _libraries().info())
            _limit = None if is_one else _limited()
    try:
        yield
    finally:
        with _lock:
            _alone -= 1
            if _alone == 0 and _limit is not None:
                _take_control()
                _limit.restore_original_limits()


@cache
def _libraries() -> Any:
    return ThreadpoolController().select(user_api="blas")


def _limited() -> Any:
    _take_control()
    return _libraries().limit(limits=1)


def _take_control() -> None:
    """Let this thread set limits: since threadpoolctl 3.8 the last one that did keeps all others from it.

    It stays with us: one who came during our limit, and leaves after it, would bring back what was found then.
    """
    if hasattr(OpenBLASController, "clear_controlling_thread"):
        OpenBLASController.clear_controlling_thread(force=True)


def pause_point() -> None:
    """End the present piece of work if nobody waits for it any more."""
    if _local.cancelled is not None and _local.cancelled.is_set():
        raise Interrupted


def _workers() -> ThreadPoolExecutor:
    global _pool  # noqa: PLW0603  (one pool for the process: threads are started once)
    with _lock:
        if _pool is None:
            _pool = ThreadPoolExecutor(n_threads(), thread_name_prefix="siis")
        return _pool


def _forget() -> None:
    """In a forked child the threads of the parent do not exist."""
    global _pool, _lock, _running, _alone
    _pool, _lock, _running, _alone = None, threading.Lock(), 0, 0


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_forget)
