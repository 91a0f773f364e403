"""Blocks of rows -> shards on the workers of Dask -> answers: the job of a cluster."""

from siis.shards.blocks import ArrayBlock, ArrayReader, Block, Reader
from siis.shards.job import Job, Labels
from siis.shards.stages import SampleChoices
from siis.shards.workers import NoWorkers, check_shared_folder

__all__ = [
    "ArrayBlock",
    "ArrayReader",
    "Block",
    "Job",
    "Labels",
    "NoWorkers",
    "Reader",
    "SampleChoices",
    "check_shared_folder",
]
