"""Results as files: one CSV row for each finished run, so that interrupted work goes on where it stopped."""

import csv
import hashlib
import json
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from siis import __version__

KEYS = ("method", "noise", "run")
MEASURES = ("labelled_accuracy", "unlabelled_accuracy", "seconds")
FIELDS = (*KEYS, *MEASURES)


class Records:
    """A CSV file of runs with ``keys`` and ``measures``, and NAME.json with the settings (data, version) behind them.

    Rows made with other settings are moved to NAME.csv.old.
    """

    def __init__(
        self,
        path: Path,
        settings: dict[str, Any],
        keys: tuple[str, ...] = KEYS,
        measures: tuple[str, ...] = MEASURES,
    ) -> None:
        self.path, self.keys, self.fields = path, keys, (*keys, *measures)
        path.parent.mkdir(parents=True, exist_ok=True)
        settings_path = path.with_suffix(".json")
        settings = json.loads(json.dumps({**settings, "version": __version__}))
        same = path.exists() and settings_path.exists() and json.loads(settings_path.read_text()) == settings
        if path.exists() and not same:
            path.replace(path.with_name(path.name + ".old"))
        kept = read_rows(path, keys, measures) if same else []
        self.rows: dict[tuple[Any, ...], dict[str, Any]] = {self.key(row): row for row in kept}
        settings_path.write_text(json.dumps(settings, indent=1, sort_keys=True) + "\n")
        self.finish()

    def key(self, row: dict[str, Any]) -> tuple[Any, ...]:
        """Give what names a run, numbers rounded as the file holds them."""
        return tuple(float(f"{v:.6g}") if isinstance(v, float) else v for v in (row[k] for k in self.keys))

    def missing(self, calls: Iterable[tuple[Any, ...]]) -> list[tuple[Any, ...]]:
        """Give the runs that are not there yet."""
        return [call for call in calls if self.key(dict(zip(self.keys, call, strict=True))) not in self.rows]

    def add(self, row: dict[str, Any]) -> None:
        """Append one finished run."""
        self.rows[self.key(row)] = row
        with self.path.open("a", newline="") as file:
            csv.writer(file).writerow([_text(row[field]) for field in self.fields])

    def finish(self) -> None:
        """Sort the file, so that the same runs give the same rows in the same order."""
        part = self.path.with_name(self.path.name + ".part")
        with part.open("w", newline="") as file:
            writer = csv.writer(file)
            writer.writerow(self.fields)
            for key in sorted(self.rows):
                writer.writerow([_text(self.rows[key][field]) for field in self.fields])
        part.replace(self.path)


def fingerprint(X: Any, y: Any) -> str:
    """Digest a data set, dense or sparse."""
    parts = (X.indptr, X.indices, X.data) if hasattr(X, "indptr") else (X,)
    digest = hashlib.sha256()
    for part in (*parts, y):
        digest.update(np.ascontiguousarray(part).tobytes())
    return digest.hexdigest()[:16]


def read_rows(path: Path, keys: tuple[str, ...] = KEYS, measures: tuple[str, ...] = MEASURES) -> list[dict[str, Any]]:
    """Read a file of runs; a half-written last line does not count."""
    rows = []
    with path.open(newline="") as file:
        reader = csv.DictReader(file)
        if tuple(reader.fieldnames or ()) != (*keys, *measures):
            raise ValueError(f"{path} must start with the columns {', '.join((*keys, *measures))}. Move it away.")
        for raw in reader:
            if None in raw.values() or None in raw:
                continue
            try:
                row: dict[str, Any] = {name: _value(name, raw[name]) for name in keys}
                row |= {name: float(raw[name]) if raw[name] else float("nan") for name in measures}
            except ValueError as problem:
                raise ValueError(
                    f"{path}, line {reader.line_num}: {problem}. Remove the line, and run again."
                ) from None
            rows.append(row)
    return rows


def _value(name: str, text: str) -> Any:
    if name in ("method", "data"):
        return text
    return int(text) if name == "run" else float(text)


def summarize(rows: Sequence[dict[str, Any]], method: str, noise: float, field: str) -> tuple[float, float] | None:
    """Mean and standard deviation of a measure over the runs of a method at a noise level."""
    values = [row[field] for row in rows if row["method"] == method and abs(row["noise"] - noise) < 1e-9]
    if not values:
        return None
    return float(np.mean(values)), float(np.std(values, ddof=1)) if len(values) > 1 else 0.0


def markdown(header: Sequence[str], lines: Iterable[Sequence[str]]) -> str:
    """Write a Markdown table."""
    rows = [list(header), ["---"] * len(header), *[list(line) for line in lines]]
    return "".join("| " + " | ".join(row) + " |\n" for row in rows)


def _text(value: Any) -> str:
    if isinstance(value, float):
        return "" if np.isnan(value) else f"{value:.6g}"
    return str(value)
