"""Everything about clusters: rows -> shards on the workers of Dask -> answers. Dask is imported when it is used."""

from siis.distributed.dask_classifier import DaskSIISClassifier
from siis.distributed.file_fit import fit
from siis.distributed.workers import ClusterOptions, connected

__all__ = ["ClusterOptions", "DaskSIISClassifier", "connected", "fit"]
