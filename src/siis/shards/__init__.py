"""Blocks of rows -> shards on the workers of Dask -> answers: the job of a cluster, whoever has brought the rows."""

from siis.shards.blocks import ArrayBlock, ArrayReader, Block, Reader
from siis.shards.job import Choices, Job, Labels
from siis.shards.workers import NoWorkers, check_seen

__all__ = ["ArrayBlock", "ArrayReader", "Block", "Choices", "Job", "Labels", "NoWorkers", "Reader", "check_seen"]
