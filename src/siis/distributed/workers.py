"""Workers of Dask: connections to them, independent tasks, and shards that exchange parts.

A stage of shards is one task for each worker, in which its shards run side by side. Parts travel from worker to
worker over Dask's own connections; the scheduler sees one task for each worker, however many iterations there are.
"""

from __future__ import annotations

import asyncio
import os
import time
import uuid
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from siis.distributed.communicator import Communicator, Key, Lost, Mailbox, run_shards
from siis.files import write_files

LOCAL = "local"
INSTALL = "Install them with `pip install 'siis[cluster]'`."
OPERATION = "siis_put"  # of a worker: put a part into its mailbox
POLL_SECONDS = 0.5  # seconds between two looks at whether all workers are there
WAIT_FOR_WORKERS = 60.0  # seconds in which lost workers may come back, or others in their place
GONE = ("CancelledError", "CommClosedError", "FutureCancelledError", "FuturesCancelledError", "KilledWorker")
SEEN = "here"  # an empty file
LOOKS_FOR_FILE = 10  # for a file that another machine has just written
ATTEMPTS = 5  # of a stage, while workers are lost on the way


class NoWorkers(RuntimeError):
    """The cluster is gone, or none of its workers is left."""


@dataclass(frozen=True)
class ClusterOptions:
    """Where a fit runs.

    Attributes
    ----------
    address : str
        Of a scheduler, or "local": workers on this computer.
    workers : int
        Of "local".
    memory : str
        Of each worker of "local", as in "2GB".
    """

    address: str = LOCAL
    workers: int = 2
    memory: str = "2GB"


@contextmanager
def connected(options: ClusterOptions) -> Iterator[Any]:
    """A client of the cluster.

    Parameters
    ----------
    options : ClusterOptions

    Yields
    ------
    distributed.Client
    """
    check_installed("a cluster")
    import dask  # noqa: PLC0415  (an extra)
    from distributed import Client, LocalCluster  # noqa: PLC0415

    if options.address != LOCAL:
        try:
            client = Client(options.address, timeout=5)
        except (OSError, TimeoutError, ValueError) as problem:
            raise ValueError(
                f"--cluster must be the address of a scheduler that answers, or local; {options.address} does not. "
                "Start one with `dask scheduler`."
            ) from problem
        with client:
            yield client
        return
    never = {f"distributed.worker.memory.{name}": False for name in ("target", "spill", "pause")}
    try:
        limit = dask.utils.parse_bytes(options.memory)
    except ValueError as problem:
        raise ValueError(f"--memory must be a size, as in 2GB; found {options.memory!r}") from problem
    local = {"n_workers": options.workers, "threads_per_worker": 1, "memory_limit": limit, "dashboard_address": ":0"}
    with dask.config.set(never), LocalCluster(**local) as cluster, Client(cluster) as client:
        yield client


def check_installed(what: str) -> None:
    """Refuse what needs Dask where it is not installed."""
    if find_spec("distributed") is None:
        raise ValueError(f"{what} needs dask and distributed, which are not installed. {INSTALL}")


@contextmanager
def _scheduler_errors() -> Iterator[None]:
    """Raise NoWorkers where the scheduler has gone."""
    try:
        yield
    except TimeoutError:
        raise
    except Exception as problem:
        if isinstance(problem, OSError) or type(problem).__name__ in GONE:
            raise NoWorkers("the scheduler does not answer") from problem
        raise


def _mailbox(worker: Any) -> Mailbox:
    """The mailbox of a worker, registered for messages of other workers."""
    if not hasattr(worker, "siis_box"):
        worker.siis_box = box = Mailbox()

        async def put(key: Any, part: Any) -> str:
            box.put(tuple(key), part)
            return "OK"

        worker.handlers[OPERATION] = put
    return worker.siis_box  # type: ignore[no-any-return]


def _register(dask_worker: Any) -> float:
    """Give a worker its mailbox, and return the bytes that it may hold; infinite where there is no limit."""
    _mailbox(dask_worker)
    return float(dask_worker.memory_manager.memory_limit or "inf")


def _end(run: str, why: str, dask_worker: Any) -> None:
    _mailbox(dask_worker).end(run, why)


def memory_limits(client: Any) -> dict[str, float]:
    """Bytes that each worker may hold, by its address, in order."""
    with _scheduler_errors():
        return dict(sorted(client.run(_register, on_error="ignore").items()))


def check_shared_folder(client: Any, folder: Path, remedy: str) -> None:
    """Refuse a folder that not all workers see. The message ends with the remedy, a sentence."""
    write_files(folder, {SEEN: b""})
    blind: list[str] = []
    for look in range(LOOKS_FOR_FILE):
        time.sleep(POLL_SECONDS if look else 0)
        with _scheduler_errors():
            seen = client.run(os.path.exists, str(folder / SEEN))
        if not (blind := [address for address, sees in seen.items() if not sees]):
            return
    raise ValueError(f"all workers must see the folder {folder}; {min(blind)} does not. {remedy}")


def wait_for_workers(client: Any, n_wanted: int) -> list[str]:
    """Wait a while for so many workers, then return those that are there."""
    begun = time.monotonic()
    while len(found := list(memory_limits(client))) < n_wanted and time.monotonic() - begun < WAIT_FOR_WORKERS:
        time.sleep(POLL_SECONDS)
    if not found:
        raise NoWorkers(f"no worker has come within {WAIT_FOR_WORKERS:.0f} s")
    return found


def gathered(client: Any, futures: list[Any]) -> list[Any]:
    """Results of independent tasks; where a worker is lost, Dask runs its tasks elsewhere."""
    try:
        return list(client.gather(futures))
    except Exception as problem:
        if type(problem).__name__ in GONE:
            raise NoWorkers("tasks have ended with their workers, or the scheduler does not answer") from problem
        raise
    finally:
        client.cancel(futures)


def on_shards(
    client: Any, n_shards: int, work: Callable[..., Any], *args: Any, log: Callable[[str], None] = lambda text: None
) -> list[Any]:
    """Results of ``work(comm, ...)`` of all shards at once, again on the workers left where one is lost."""
    wanted = min(n_shards, max(len(memory_limits(client)), 1))
    for attempt in range(ATTEMPTS):
        workers = wait_for_workers(client, wanted)[:n_shards]
        places = [workers[rank * len(workers) // n_shards] for rank in range(n_shards)]
        try:
            return _attempt(client, places, work, args)
        except Lost as problem:
            log(f"a worker was lost ({problem}); attempt {attempt + 2} of {ATTEMPTS}")
    raise NoWorkers(f"workers were lost {ATTEMPTS} times in one stage")


def _attempt(client: Any, places: list[str], work: Callable[..., Any], args: tuple[Any, ...]) -> list[Any]:
    """Run each shard on the worker of its place; where one fails, the others are ended before the error is raised."""
    from distributed import wait  # noqa: PLC0415

    run = uuid.uuid4().hex
    found: dict[int, Any] = {}
    only = {"allow_other_workers": False, "pure": False, "retries": 0}
    waiting = {
        place: client.submit(_shards_here, run, places, work, args, workers=[place], **only) for place in set(places)
    }
    futures = list(waiting.values())
    try:
        while waiting:
            with suppress(TimeoutError), _scheduler_errors():
                wait(list(waiting.values()), timeout=POLL_SECONDS, return_when="FIRST_COMPLETED")
            for place in [place for place, future in waiting.items() if future.status != "pending"]:
                found |= _result(waiting.pop(place))
            if gone := set(waiting) - set(_listed(client)):
                raise Lost(f"{', '.join(sorted(gone))} has gone")
    except NoWorkers:
        raise
    except Exception as problem:
        with _scheduler_errors():
            client.run(_end, run, str(problem), on_error="ignore")
            left = [future for place, future in waiting.items() if place in _listed(client)]
            with suppress(TimeoutError):  # they end at their next exchange
                wait(left, timeout=WAIT_FOR_WORKERS)
            client.cancel(futures, force=True)
        raise
    return [found[rank] for rank in range(len(places))]


def _shards_here(run: str, places: list[str], work: Callable[..., Any], args: tuple[Any, ...]) -> dict[int, Any]:
    """Run the shards of this worker; results by rank."""
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
    comms = [Communicator(run, rank, len(places), box, post) for rank in ranks]
    return dict(zip(ranks, run_shards(comms, lambda comm: work(comm, *args)), strict=True))


def _result(future: Any) -> dict[int, Any]:
    """The results of a task that has ended; its error, or Lost where the worker ended."""
    if future.status == "finished":
        return future.result()  # type: ignore[no-any-return]
    problem: BaseException | None = future.exception() if future.status == "error" else None
    if problem is None or type(problem).__name__ in GONE:
        raise Lost("a worker has ended")
    raise problem


def _listed(client: Any) -> list[str]:
    """Workers that the scheduler knows."""
    with _scheduler_errors():
        return list(client.nthreads())
