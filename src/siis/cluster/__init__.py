"""Fits of Parquet files on more than one machine: files -> shards of rows on the workers of Dask -> files."""

from siis.cluster.connection import ClusterOptions, connected
from siis.cluster.job import fit

__all__ = ["ClusterOptions", "connected", "fit"]
