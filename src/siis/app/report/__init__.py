"""Fitted model -> plain data -> one HTML file that needs nothing else."""

from siis.app.report.collect import collect
from siis.app.report.data import ReportData, read_report
from siis.app.report.page import render

__all__ = ["ReportData", "collect", "read_report", "render"]
