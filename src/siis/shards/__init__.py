"""Blocks of rows -> shards on the workers of Dask -> answers: the job of a cluster, whoever has brought the rows."""

from siis.shards.blocks import ArrayBlock, ArrayReader, Block, Reader
from siis.shards.job import Job, Labels
from siis.shards.stages import SampleChoices
from siis.shards.workers import NoWorkers, check_seen

__all__ = [
    "ArrayBlock",
    "ArrayReader",
    "Block",
    "Job",
    "Labels",
    "NoWorkers",
    "Reader",
    "SampleChoices",
    "check_seen",
]
