"""Results as files: one CSV row for each finished run, so that interrupted work goes on where it stopped."""

import csv
import json
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

import numpy as np

KEYS = ("method", "noise", "run")
MEASURES = ("labelled_accuracy", "unlabelled_accuracy", "seconds")
FIELDS = (*KEYS, *MEASURES)


class Records:
    """A CSV file of runs, with the settings that they were made with beside it.

    Parameters
    ----------
    path : Path
        ``NAME.csv``; the settings go to ``NAME.json``. Rows made with other settings are dropped.
    settings : dict
    """

    def __init__(self, path: Path, settings: dict[str, Any]) -> None:
        self.path = path
        path.parent.mkdir(parents=True, exist_ok=True)
        beside = path.with_suffix(".json")
        text = json.dumps(settings, indent=1, sort_keys=True) + "\n"
        kept = read_rows(path) if path.exists() and beside.exists() and beside.read_text() == text else []
        self.rows: dict[tuple[str, float, int], dict[str, Any]] = {_key(row): row for row in kept}
        beside.write_text(text)
        self._write_all()

    def missing(self, wanted: Iterable[tuple[str, float, int]]) -> list[tuple[str, float, int]]:
        """Give the runs that are not there yet."""
        return [key for key in wanted if key not in self.rows]

    def add(self, row: dict[str, Any]) -> None:
        """Append one finished run."""
        self.rows[_key(row)] = row
        with self.path.open("a", newline="") as file:
            csv.writer(file).writerow([_text(row[field]) for field in FIELDS])

    def finish(self) -> None:
        """Sort the file, so that the same runs give the same rows in the same order."""
        self._write_all()

    def _write_all(self) -> None:
        part = self.path.with_name(self.path.name + ".part")
        with part.open("w", newline="") as file:
            writer = csv.writer(file)
            writer.writerow(FIELDS)
            for key in sorted(self.rows):
                writer.writerow([_text(self.rows[key][field]) for field in FIELDS])
        part.replace(self.path)


def read_rows(path: Path) -> list[dict[str, Any]]:
    """Read a file of runs; a half-written last line does not count.

    Parameters
    ----------
    path : Path

    Returns
    -------
    list of dict
    """
    rows = []
    with path.open(newline="") as file:
        for raw in csv.DictReader(file):
            if None in raw.values() or None in raw:
                continue
            row: dict[str, Any] = {"method": raw["method"], "noise": float(raw["noise"]), "run": int(raw["run"])}
            rows.append(row | {field: float(raw[field]) if raw[field] else float("nan") for field in MEASURES})
    return rows


def summarize(rows: Sequence[dict[str, Any]], method: str, noise: float, field: str) -> tuple[float, float] | None:
    """Mean and standard deviation of a measure over the runs of a method at a noise level."""
    values = [row[field] for row in rows if row["method"] == method and abs(row["noise"] - noise) < 1e-9]
    return (float(np.mean(values)), float(np.std(values))) if values else None


def markdown(header: Sequence[str], lines: Iterable[Sequence[str]]) -> str:
    """Write a Markdown table."""
    rows = [list(header), ["---"] * len(header), *[list(line) for line in lines]]
    return "".join("| " + " | ".join(row) + " |\n" for row in rows)


def _key(row: dict[str, Any]) -> tuple[str, float, int]:
    return row["method"], round(float(row["noise"]), 6), int(row["run"])


def _text(value: Any) -> str:
    if isinstance(value, float):
        return "" if np.isnan(value) else f"{value:.6g}"
    return str(value)
