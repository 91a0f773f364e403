"""Connections to a cluster of Dask, or to workers on this computer."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from importlib.util import find_spec
from typing import Any

INSTALL = "Install them with `pip install 'siis[cluster]'`."
LOCAL = "local"


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
    if find_spec("distributed") is None:
        raise ValueError(f"a cluster needs dask and distributed, which are not installed. {INSTALL}")
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
    with (
        dask.config.set(never),
        LocalCluster(
            n_workers=options.workers,
            threads_per_worker=1,
            memory_limit=limit,
            dashboard_address=":0",  # any free port
        ) as cluster,
        Client(cluster) as client,
    ):
        yield client
