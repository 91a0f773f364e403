"""Communicators of shards that run side by side, each in a thread of some process; methods have MPI's names."""

from __future__ import annotations

import threading
from collections.abc import Callable, Mapping
from typing import Any, TypeAlias

from siis.engine.threads import alone, one_blas_thread, pause_point

Key: TypeAlias = tuple[Any, ...]
Post: TypeAlias = Callable[[int, Key, Any], None]
WAIT = 0.2  # seconds between two looks at whether the work goes on
ROOT = 0  # the shard that reduces
MESSAGE_BYTES = 64  # of a part that is no array


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


class Communicator:
    """One shard's access to the others, whose methods all shards call in the same order; ``run`` is a unique name.

    ``box`` is the mailbox of this process; ``post(rank, key, part)`` puts a part into that of another shard.
    """

    def __init__(self, run: str, rank: int, size: int, box: Mailbox, post: Post) -> None:
        self.run, self.rank, self.size, self.box, self._post = run, rank, size, box, post
        self.step, self.sent, self.messages = 0, 0, 0

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
            return self._receive(ROOT)
        whole = op([part, *(self._receive(rank) for rank in range(1, self.size))])
        for rank in range(1, self.size):
            self._send(rank, whole)
        return whole

    def neighbor_exchange(self, parts: Mapping[int, Any], senders: list[int]) -> dict[int, Any]:
        """Send parts to other shards, and wait for those of the senders."""
        self.step += 1
        for rank, part in parts.items():
            self._send(rank, part)
        return {rank: self._receive(rank) for rank in senders}

    def alltoall(self, parts: list[Any]) -> list[Any]:
        """Send a part to every shard, and return the received parts by rank; the own one stays."""
        others = [rank for rank in range(self.size) if rank != self.rank]
        received = self.neighbor_exchange({rank: parts[rank] for rank in others}, others)
        return [received.get(rank, parts[self.rank]) for rank in range(self.size)]

    def _send(self, rank: int, part: Any) -> None:
        self.sent += getattr(part, "nbytes", MESSAGE_BYTES)
        self.messages += 1
        self._post(rank, (self.run, rank, self.step, self.rank), part)

    def _receive(self, rank: int) -> Any:
        return self.box.take((self.run, self.rank, self.step, rank))


def run_shards(comms: list[Communicator], work: Callable[[Communicator], Any]) -> list[Any]:
    """Do the work of several shards at once, each in a thread of its own; where one fails, the others end."""
    found: list[Any] = [None] * len(comms)
    problems: list[BaseException] = []

    def one(place: int, comm: Communicator) -> None:
        try:
            with alone():
                found[place] = work(comm)
        except BaseException as problem:
            problems.append(problem)
            comm.box.end(comm.run, f"shard {comm.rank + 1} of {comm.size} has ended: {problem}")

    with one_blas_thread():
        threads = [threading.Thread(target=one, args=pair, name=f"shard-{pair[1].rank}") for pair in enumerate(comms)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
    if problems:
        raise next((problem for problem in problems if not isinstance(problem, Lost)), problems[0])
    return found
