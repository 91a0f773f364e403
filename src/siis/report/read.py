"""A report that was written before -> its data, as they were."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

from siis.report.data import (
    Convergence,
    Counts,
    Enough,
    ExampleMap,
    Neighbor,
    Noise,
    Query,
    Reliability,
    ReportData,
    Selection,
    Suspect,
    Trust,
)

ISLAND = re.compile(r'<script type="application/json" id="data">([^<]*)</script>')
PARTS: dict[str, type] = {
    "counts": Counts,
    "trust": Trust,
    "reliability": Reliability,
    "noise": Noise,
    "selection": Selection,
    "convergence": Convergence,
    "map": ExampleMap,
    "enough": Enough,
}
LISTS: dict[str, type] = {"suspects": Suspect, "doubtful": Suspect, "queries": Query}


def read_report(path: Path) -> ReportData:
    """Read the data of a report that this version of siis has written.

    Parameters
    ----------
    path : Path

    Returns
    -------
    ReportData
        ``render`` makes the same page of it.
    """
    if not path.is_file():
        raise ValueError(f"{path} must be a report of siis fit; there is no such file. Fit first: siis fit DATA.")
    found = ISLAND.findall(path.read_text(encoding="utf-8", errors="replace"))
    try:
        return _data(json.loads(found[-1]))
    except (ValueError, TypeError, KeyError, IndexError, AttributeError, RecursionError) as problem:
        raise ValueError(
            f"{path} must be a report as this version of siis writes it; it is not. Fit again: siis fit DATA."
        ) from problem


def _data(plain: dict[str, Any]) -> ReportData:
    pictures, rows = plain.pop("pictures"), plain.pop("rows")
    del plain["marked"]

    def shown(kind: type, item: dict[str, Any]) -> Any:
        at, line = item["thumbnail"], item["cells"]
        item = {
            **item,
            "thumbnail": None if at is None else pictures[at],
            "cells": None if line is None else rows[line],
        }
        if "neighbors" in item:
            item["neighbors"] = [shown(Neighbor, near) for near in item["neighbors"]]
        return kind(**item)

    if plain["map"] is not None:
        plain["map"]["thumbnails"] = [None if at is None else pictures[at] for at in plain["map"]["thumbnails"]]
    parts = {name: None if plain[name] is None else part(**plain[name]) for name, part in PARTS.items()}
    lists = {name: [shown(kind, item) for item in plain[name]] for name, kind in LISTS.items()}
    return ReportData(**{**plain, **parts, **lists})
