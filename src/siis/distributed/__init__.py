"""Everything about clusters: rows -> shards on the workers of Dask -> answers."""

from importlib import import_module
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from siis.distributed.dask_classifier import DaskSIISClassifier
    from siis.distributed.file_fit import fit
    from siis.distributed.workers import ClusterOptions, connected

__all__ = ["ClusterOptions", "DaskSIISClassifier", "connected", "fit"]

_HOMES = {
    "ClusterOptions": "siis.distributed.workers",
    "DaskSIISClassifier": "siis.distributed.dask_classifier",
    "connected": "siis.distributed.workers",
    "fit": "siis.distributed.file_fit",
}


def __getattr__(name: str) -> object:
    """Import a public name when it is first used: workers import what their stages need, and no more."""
    if name in _HOMES:
        return getattr(import_module(_HOMES[name]), name)
    raise AttributeError(f"module 'siis.distributed' has no attribute {name!r}")
