"""Fits on more than one machine: Parquet files -> shards of rows on the workers of Dask -> answers as Parquet."""

from siis.cluster.job import ClusterOptions, fit

__all__ = ["ClusterOptions", "fit"]
