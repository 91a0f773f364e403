"""Shards of one computation that run side by side, each in a thread of some process: sums and exchanges."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Mapping
from typing import Any, TypeAlias

from siis.engine.threads import alone, one_blas_thread, pause_point

Key: TypeAlias = tuple[Any, ...]
WAIT = 0.2  # seconds between two looks at whether the work goes on
ROOT = 0  # the shard that reduces


class Lost(RuntimeError):
    """Another shard has ended too early: its work must be repeated."""


class Mailbox:
    """The parts that other shards have sent and this process has not taken yet; one for each process."""

    def __init__(self) -> None:
        self.parts: dict[Key, Any] = {}
        self.ended: dict[str, str] = {}
        self.changed = threading.Condition()

    def put(self, key: Key, part: Any) -> None:
        """Put a part; the first entry of its key is the run that it belongs to."""
        with self.changed:
            if key[0] not in self.ended:
                self.parts[key] = part
                self.changed.notify_all()

    def take(self, key: Key) -> Any:
        """Wait for a part; Lost where its run has ended."""
        with self.changed:
            while key not in self.parts:
                if key[0] in self.ended:
                    raise Lost(self.ended[key[0]])
                self.changed.wait(WAIT)
                pause_point()
            return self.parts.pop(key)

    def end(self, run: str, why: str) -> None:
        """End a run: whoever waits for its parts gets the reason."""
        with self.changed:
            self.ended[run] = why
            self.parts = {key: part for key, part in self.parts.items() if key[0] != run}
            self.changed.notify_all()


Post: TypeAlias = Callable[[int, Key, Any], None]


class Group:
    """One shard's communicator, whose methods all shards call in the same order; ``run`` is a unique name.

    ``box`` is the mailbox of this process; ``post(rank, key, part)`` puts a part into that of another shard.
    """

    def __init__(self, run: str, rank: int, size: int, box: Mailbox, post: Post) -> None:
        self.run, self.rank, self.size, self.box, self._post = run, rank, size, box, post
        self.step, self.sent, self.messages, self.waited = 0, 0, 0, 0.0

    def allgather(self, part: Any) -> list[Any]:
        """The parts of all shards, in their order."""
        return list(self.allreduce(part, list))

    def allreduce(self, part: Any, op: Callable[[list[Any]], Any]) -> Any:
        """Reduce the parts of all shards, in their order, at the first shard, and send the result to all."""
        self.step += 1
        if self.size == 1:
            return op([part])
        if self.rank != ROOT:
            self._send(ROOT, part)
            return self._take(ROOT)
        parts = [part, *(self._take(rank) for rank in range(1, self.size))]
        whole = op(parts)
        for rank in range(1, self.size):
            self._send(rank, whole)
        return whole

    def neighbor_exchange(self, parts: Mapping[int, Any], senders: list[int]) -> dict[int, Any]:
        """Send parts to other shards, and wait for those of the senders."""
        self.step += 1
        for rank, part in parts.items():
            self._send(rank, part)
        return {rank: self._take(rank) for rank in senders}

    def alltoall(self, parts: list[Any]) -> list[Any]:
        """Send a part to every shard, and return the received parts by rank; the own one stays."""
        others = [rank for rank in range(self.size) if rank != self.rank]
        found = self.neighbor_exchange({rank: parts[rank] for rank in others}, others)
        return [parts[self.rank] if rank == self.rank else found[rank] for rank in range(self.size)]

    def _send(self, rank: int, part: Any) -> None:
        self.sent += getattr(part, "nbytes", 64)
        self.messages += 1
        self._post(rank, (self.run, rank, self.step, self.rank), part)

    def _take(self, rank: int) -> Any:
        begun = time.perf_counter()
        part = self.box.take((self.run, self.rank, self.step, rank))
        self.waited += time.perf_counter() - begun
        return part


def run_shards(groups: list[Group], work: Callable[[Group], Any]) -> list[Any]:
    """Do the work of several shards at once, each in a thread of its own; where one fails, the others end."""
    found: list[Any] = [None] * len(groups)
    problems: list[BaseException] = []

    def one(place: int) -> None:
        group = groups[place]
        try:
            with alone():
                found[place] = work(group)
        except BaseException as problem:
            problems.append(problem)
            group.box.end(group.run, f"shard {group.rank + 1} of {group.size} has ended: {problem}")

    with one_blas_thread():
        threads = [
            threading.Thread(target=one, args=(k,), name=f"shard-{groups[k].rank}") for k in range(len(groups))
        ]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
    if problems:
        raise next((problem for problem in problems if not isinstance(problem, Lost)), problems[0])
    return found


def run_here(size: int, work: Callable[[Group], Any], run: str = "here") -> list[Any]:
    """Do the work of all shards in this process. Results in the order of the shards."""
    box = Mailbox()

    def post(rank: int, key: Key, part: Any) -> None:
        box.put(key, part)

    return run_shards([Group(run, rank, size, box, post) for rank in range(size)], work)
