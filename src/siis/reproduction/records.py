"""Results as files: one CSV row for each finished run, so that interrupted work goes on where it stopped."""

import csv
import hashlib
import json
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from siis import __version__
from siis._types import Bools, Ints

KEYS = ("method", "noise", "run")
MEASURES = ("labelled_accuracy", "unlabelled_accuracy", "seconds")
FIELDS = (*KEYS, *MEASURES)
TEXTS = ("method", "data")  # fields that hold no number


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
        self.rows = {self.key(row): row for row in (read_rows(path, keys, measures) if same else [])}
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
            csv.writer(file).writerow(self._cells(row))

    def finish(self) -> None:
        """Sort the file, so that the same runs give the same rows in the same order."""
        part = self.path.with_name(self.path.name + ".part")
        with part.open("w", newline="") as file:
            csv.writer(file).writerows([self.fields, *(self._cells(self.rows[key]) for key in sorted(self.rows))])
        part.replace(self.path)

    def _cells(self, row: dict[str, Any]) -> list[str]:
        values = (row[field] for field in self.fields)
        return [("" if np.isnan(v) else f"{v:.6g}") if isinstance(v, float) else str(v) for v in values]


def read_rows(path: Path, keys: tuple[str, ...] = KEYS, measures: tuple[str, ...] = MEASURES) -> list[dict[str, Any]]:
    """Read a file of runs; a half-written last line does not count."""
    fields, rows = (*keys, *measures), []
    with path.open(newline="") as file:
        reader = csv.reader(file)
        if tuple(next(reader, ())) != fields:
            raise ValueError(f"{path} must start with the columns {', '.join(fields)}. Move it away.")
        for cells in reader:
            if len(cells) == len(fields):
                try:
                    row = zip(fields, cells, strict=True)
                    rows.append({name: _value(name, cell or "nan" * (name in measures)) for name, cell in row})
                except ValueError as problem:
                    where = f"{path}, line {reader.line_num}"
                    raise ValueError(f"{where}: {problem}. Remove the line, and run again.") from None
    return rows


def _value(name: str, cell: str) -> Any:
    if name in TEXTS:
        return cell
    return int(cell) if name == "run" else float(cell)


def fingerprint(X: Any, y: Any) -> str:
    """Digest a data set, dense or sparse."""
    parts = (X.indptr, X.indices, X.data) if hasattr(X, "indptr") else (X,)
    digest = hashlib.sha256()
    for part in (*parts, y):
        digest.update(np.ascontiguousarray(part).tobytes())
    return digest.hexdigest()[:16]


def accuracies(right: Bools, labelled: Ints | Bools) -> dict[str, float]:
    """Shares of right answers, shape (n,), among the labelled and among the unlabelled examples."""
    unlabelled = np.ones(right.size, dtype=bool)
    unlabelled[labelled] = False
    means = right[labelled].mean(), right[unlabelled].mean()
    return {"labelled_accuracy": float(means[0]), "unlabelled_accuracy": float(means[1])}


def summarize(rows: Sequence[dict[str, Any]], method: str, noise: float, field: str) -> tuple[float, float] | None:
    """Mean and standard deviation of a measure over the runs of a method at a noise level."""
    values = [row[field] for row in rows if row["method"] == method and abs(row["noise"] - noise) < 1e-9]
    if not values:
        return None
    return float(np.mean(values)), float(np.std(values, ddof=1)) if len(values) > 1 else 0.0


def markdown(header: Sequence[str], lines: Iterable[Sequence[str]]) -> str:
    """Write a Markdown table."""
    return "".join("| " + " | ".join(row) + " |\n" for row in (header, ["---"] * len(header), *lines))
