"""Independent pieces of work on all processor cores, for code that releases the interpreter lock."""

from __future__ import annotations

import os
import threading
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import FIRST_EXCEPTION, ThreadPoolExecutor, wait
from contextlib import contextmanager, nullcontext, suppress
from functools import cache
from typing import Any, Generic, TypeVar

from threadpoolctl import ThreadpoolController

Item = TypeVar("Item")
Result = TypeVar("Result")


class Interrupted(BaseException):
    """Ends a worker whose result is not needed any more."""


class _Local(threading.local):
    cancelled: threading.Event | None = None


_local = _Local()
_pool: ThreadPoolExecutor | None = None
_lock = threading.Lock()
_running: deque[None] = deque()  # one for each thread that works; appended and popped atomically
_users: set[object] = set()  # blocks that want linear algebra in one thread,
_holder: _Holder | None = None  # and the thread that limits it for them
FEW_THREADS = 3  # threads of work that holds the interpreter lock for much of its time: more are slower


def n_threads() -> int:
    """Threads for the calling thread: cores, limited by ``OMP_NUM_THREADS`` (joblib's workers) and threadpoolctl."""
    limits: list[int] = [library.num_threads for library in _openmp()]
    return min([_n_allowed(), *limits])


@cache
def _n_allowed() -> int:
    limit = os.environ.get("OMP_NUM_THREADS", "").split(",")[0].strip()
    n = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    return min(n, int(limit)) if limit.isdecimal() and int(limit) > 0 else n


@cache
def _openmp() -> list[Any]:
    return list(ThreadpoolController().select(user_api="openmp").lib_controllers)


def in_threads(work: Callable[[Item], Result], items: Sequence[Item], at_once: int | None = None) -> list[Result]:
    """Do ``work`` for every item, in as many threads as there are cores; results in the order of the items.

    Work that is itself done in a thread runs its pieces one after the other. Where the caller is interrupted or a
    piece fails, that is raised: pending pieces are dropped, and running ones end at their next ``pause_point``.
    ``at_once`` limits how many long pieces run at a time (``FEW``: many short calls, which wait for the interpreter
    lock) while the caller waits; without it pieces are short, and the caller does some itself, which costs less than
    to wake threads.
    """
    if len(items) < 2 or _local.cancelled is not None or n_threads() == 1:
        return [_after_pause(work, item) for item in items]
    shared = _Shared(work, items)
    helpers = min(len(items), shared.n_threads, at_once or len(items)) - (at_once is None)
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
    """Pieces of work that several threads take in turn; closing releases what helpers hold in a busy pool's queue."""

    def __init__(self, work: Callable[[Item], Result], items: Sequence[Item]) -> None:
        self.work: Callable[[Item], Result] | None = work
        self.todo = deque(enumerate(items))
        self.n_threads = n_threads()
        self.results: list[Any] = [None] * len(items)
        self.problems: list[BaseException] = []
        self.cancelled = threading.Event()

    def help(self) -> None:
        """Work on pieces until none is left."""
        _local.cancelled = self.cancelled
        try:
            for library in _openmp():
                if library.num_threads != self.n_threads:
                    library.set_num_threads(self.n_threads)  # the caller's limit holds in its helpers
            _running.append(None)
            try:
                results, work = self.results, self.work
                while work is not None and (piece := self._take()) is not None:
                    k, item = piece
                    results[k] = _after_pause(work, item)
            finally:
                _running.pop()
        except BaseException as problem:
            self.problems.append(problem)  # before others see it, and end with an Interrupted of their own
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


def is_busy() -> bool:
    """Whether a piece of work still runs in a thread; nobody may wait for it any more."""
    return bool(_running)


@contextmanager
def alone() -> Iterator[None]:
    """Do all pieces of work in the calling thread, one after the other: other shards use the other cores."""
    before, _local.cancelled = _local.cancelled, threading.Event()
    try:
        yield
    finally:
        _local.cancelled = before


@contextmanager
def one_blas_thread() -> Iterator[None]:
    """Keep linear algebra in the calling thread: its own threads spin after each call and take cores from other work.

    The limit holds for the process. Since threadpoolctl 3.8 only the thread that set a limit may change it, so a
    thread of its own holds it; a limit that other code has set in another thread is left as it is.
    """
    global _holder  # noqa: PLW0603
    user = object()
    try:
        with _lock:
            if not _users and not _is_one():
                _holder = _Holder()
                _holder.start()
                _holder.begun.wait()
            _users.add(user)
        with nullcontext() if _is_one() else _limited():  # within a limit that the calling thread has set itself
            yield
    finally:
        with _lock:
            _users.discard(user)
            if not _users and _holder is not None:
                _holder.over.set()
                if _holder.is_alive():
                    _holder.join()
                _holder = None


class _Holder(threading.Thread):
    """Limits linear algebra to one thread until ``over`` is set."""

    def __init__(self) -> None:
        super().__init__(name="one-blas-thread", daemon=True)
        self.begun, self.over = threading.Event(), threading.Event()

    def run(self) -> None:
        with _limited():
            self.begun.set()
            self.over.wait()


@contextmanager
def _limited() -> Iterator[None]:
    """Limit linear algebra to one thread, if threadpoolctl lets this thread do so."""
    with _libraries().limit(limits=1):
        if _is_one():
            yield
            return
    yield  # refused: nothing is to be restored, as the other limit may end first


def _is_one() -> bool:
    return all(library.num_threads == 1 for library in _libraries().lib_controllers)


@cache
def _libraries() -> Any:
    return ThreadpoolController().select(user_api="blas")


def pause_point() -> None:
    """End the present piece of work if nobody waits for it any more."""
    if _local.cancelled is not None and _local.cancelled.is_set():
        raise Interrupted


def _workers() -> ThreadPoolExecutor:
    global _pool  # noqa: PLW0603  (one pool for the process: threads are started once)
    with _lock:
        if _pool is None:
            _pool = ThreadPoolExecutor(_n_allowed(), thread_name_prefix="siis")
        return _pool


def _forget() -> None:
    """In a forked child the threads of the parent do not exist."""
    global _pool, _lock, _running, _users, _holder
    _pool, _lock, _running, _users, _holder = None, threading.Lock(), deque(), set(), None


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_forget)
