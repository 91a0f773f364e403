"""Fitted model -> plain data -> one HTML file that needs nothing else."""

from siis.report.collect import collect
from siis.report.data_file import read_report
from siis.report.page import render
from siis.report.report_data import (
    Convergence,
    Counts,
    ExampleMap,
    Finding,
    Gain,
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

__all__ = [
    "Convergence",
    "Counts",
    "ExampleMap",
    "Finding",
    "Gain",
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
