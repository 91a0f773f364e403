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
from siis.report.page import render
from siis.report.read import read_report

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
