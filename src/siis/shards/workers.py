"""Shards on the workers of Dask: one task for each worker, in which its shards run side by side.

Parts travel from worker to worker over Dask's own connections; the scheduler sees one task for each worker, however
many iterations there are.
"""

from __future__ import annotations

import asyncio
import os
import time
import uuid
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

from siis.engine.group import Group, Key, Lost, Mailbox, run_shards
from siis.files import write_files

OPERATION = "siis_put"
POLL_SECONDS = 0.5  # seconds between two looks at whether all workers are there
WAIT_FOR_WORKERS = 60.0  # seconds in which lost workers may come back, or others in their place
GONE = ("CancelledError", "CommClosedError", "FutureCancelledError", "FuturesCancelledError", "KilledWorker")
SEEN = "here"  # an empty file
LOOKS_FOR_FILE = 10  # for a file that another machine has just written
ATTEMPTS = 5  # of a stage, while workers are lost on the way


class NoWorkers(RuntimeError):
    """The cluster is gone, or none of its workers is left."""


def _mailbox(worker: Any) -> Mailbox:
    """The mailbox of a worker, registered for messages of other workers."""
    if not hasattr(worker, "siis_box"):
        worker.siis_box = box = Mailbox()

        async def put(key: Any, part: Any) -> str:
            box.put(tuple(key), part)
            return "OK"

        worker.handlers[OPERATION] = put
    return worker.siis_box  # type: ignore[no-any-return]


def _prepare(dask_worker: Any) -> int:
    _mailbox(dask_worker)
    return int(dask_worker.state.nthreads)


def _end(run: str, why: str, dask_worker: Any) -> None:
    _mailbox(dask_worker).end(run, why)


def _shards_here(run: str, places: list[str], work: Callable[..., Any], args: tuple[Any, ...]) -> dict[int, Any]:
    """Run the shards of this worker."""
    from distributed import get_worker  # noqa: PLC0415  (an extra)
    from distributed.protocol import to_serialize  # noqa: PLC0415

    worker: Any = get_worker()
    box, loop = _mailbox(worker), worker.loop.asyncio_loop

    async def send(address: str, key: Key, part: Any) -> None:
        await getattr(worker.rpc(address), OPERATION)(key=list(key), part=to_serialize(part))

    def post(rank: int, key: Key, part: Any) -> None:
        if places[rank] == worker.address:
            box.put(key, part)
            return
        try:
            asyncio.run_coroutine_threadsafe(send(places[rank], key, part), loop).result()
        except OSError as problem:
            raise Lost(f"worker {places[rank]} does not answer: {problem}") from problem

    ranks = [rank for rank, place in enumerate(places) if place == worker.address]
    groups = [Group(run, rank, len(places), box, post) for rank in ranks]
    found = run_shards(groups, lambda group: work(group, *args))
    traffic = [(group.sent, group.messages, group.waited) for group in groups]
    return dict(zip(ranks, zip(found, traffic, strict=True), strict=True))


def worker_addresses(client: Any) -> list[str]:
    """Addresses of the workers, sorted."""
    with _scheduler_errors():
        return sorted(client.run(_prepare, on_error="ignore"))


def check_shared_folder(client: Any, folder: Path, remedy: str) -> None:
    """Refuse a folder that not all workers see. The message ends with the remedy, a sentence."""
    write_files(folder, {SEEN: b""})
    for look in range(LOOKS_FOR_FILE):
        with _scheduler_errors():
            seen = client.run(os.path.exists, str(folder / SEEN))
        if all(seen.values()):
            return
        if look < LOOKS_FOR_FILE - 1:
            time.sleep(POLL_SECONDS)
    blind = min(address for address, sees in seen.items() if not sees)
    raise ValueError(f"all workers must see the folder {folder}; {blind} does not. {remedy}")


def memories(client: Any) -> list[float]:
    """Bytes that each worker may hold; infinite where there is no limit."""
    with _scheduler_errors():
        return list(client.run(_memory, on_error="ignore").values())


def _memory(dask_worker: Any) -> float:
    return float(dask_worker.memory_manager.memory_limit or "inf")


def some_workers(client: Any, n_wanted: int) -> list[str]:
    """Wait a while for so many workers, then return those that are there."""
    begun = time.monotonic()
    while len(found := worker_addresses(client)) < n_wanted and time.monotonic() - begun < WAIT_FOR_WORKERS:
        time.sleep(POLL_SECONDS)
    if not found:
        raise NoWorkers(f"no worker has come within {WAIT_FOR_WORKERS:.0f} s")
    return found


def on_shards(
    client: Any, n_shards: int, work: Callable[..., Any], *args: Any, log: Callable[[str], None] = lambda text: None
) -> tuple[list[Any], list[tuple[int, int, float]]]:
    """Run ``work(group, ...)`` of all shards at once, again on the workers left where one is lost.

    Returns results by shard, and for each shard the bytes and messages it has sent and the seconds it has waited.
    """
    wanted = min(n_shards, max(len(worker_addresses(client)), 1))
    for attempt in range(ATTEMPTS):
        workers = some_workers(client, wanted)[:n_shards]
        places = [workers[rank * len(workers) // n_shards] for rank in range(n_shards)]
        try:
            return _attempt(client, places, work, args)
        except Lost as problem:
            log(f"a worker was lost ({problem}); attempt {attempt + 2} of {ATTEMPTS}")
    raise NoWorkers(f"workers were lost {ATTEMPTS} times in one stage")


def _attempt(
    client: Any, places: list[str], work: Callable[..., Any], args: tuple[Any, ...]
) -> tuple[list[Any], list[tuple[int, int, float]]]:
    from distributed import wait  # noqa: PLC0415

    run = uuid.uuid4().hex
    futures = {
        place: client.submit(
            _shards_here, run, places, work, args, workers=[place], allow_other_workers=False, pure=False, retries=0
        )
        for place in dict.fromkeys(places)
    }
    found: dict[int, Any] = {}
    problem: BaseException | None = None
    waiting = dict(futures)
    while waiting and problem is None:
        try:
            with _scheduler_errors():
                wait(list(waiting.values()), timeout=POLL_SECONDS, return_when="FIRST_COMPLETED")
        except TimeoutError:
            gone = set(waiting) - set(_listed(client))
            problem = Lost(f"{', '.join(sorted(gone))} has gone") if gone else None
        for place, future in list(waiting.items()):
            if future.status == "finished":
                found |= future.result()
                del waiting[place]
            elif future.status in ("error", "lost", "cancelled"):
                problem = _problem(future)
                del waiting[place]
    if problem is not None:
        with _scheduler_errors():
            client.run(_end, run, str(problem), on_error="ignore")
            left = [future for place, future in waiting.items() if place in _listed(client)]
            with suppress(TimeoutError):  # they end at their next exchange
                wait(left, timeout=WAIT_FOR_WORKERS)
            client.cancel(list(futures.values()), force=True)
        raise problem
    return [found[rank][0] for rank in range(len(places))], [found[rank][1] for rank in range(len(places))]


def _problem(future: Any) -> BaseException:
    """The error that ended a task; Lost where the worker ended."""
    problem: BaseException | None = future.exception() if future.status == "error" else None
    if problem is None or type(problem).__name__ in GONE:
        return Lost("a worker has ended")
    return problem


def _listed(client: Any) -> list[str]:
    """Workers that the scheduler knows."""
    with _scheduler_errors():
        return list(client.nthreads())


@contextmanager
def _scheduler_errors() -> Iterator[None]:
    """Raise NoWorkers where the scheduler has gone."""
    try:
        yield
    except TimeoutError:
        raise
    except Exception as problem:
        if not isinstance(problem, OSError) and type(problem).__name__ not in GONE:
            raise
        raise NoWorkers("the scheduler does not answer") from problem
