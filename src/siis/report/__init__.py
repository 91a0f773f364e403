"""Fitted model -> plain data -> one HTML file that needs nothing else."""

from siis.report.collect import collect
from siis.report.data import (
    Convergence,
    Counts,
    Enough,
    ExampleMap,
    Finding,
    Neighbor,
    Noise,
    Query,
    Reliability,
    ReportData,
    Selection,
    Shown,
    Suspect,
    Trust,
)
from siis.report.data_file import read_report
from siis.report.page import render

__all__ = [
    "Convergence",
    "Counts",
    "Enough",
    "ExampleMap",
    "Finding",
    "Neighbor",
    "Noise",
    "Query",
    "Reliability",
    "ReportData",
    "Selection",
    "Shown",
    "Suspect",
    "Trust",
    "collect",
    "read_report",
    "render",
]
