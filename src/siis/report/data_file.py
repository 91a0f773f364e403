"""Report data <-> JSON, in report.json and inside the page."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterator
from dataclasses import asdict, is_dataclass
from pathlib import Path
from types import NoneType
from typing import Any, TypeVar, get_args, get_type_hints

from siis.report.report_data import ReportData
from siis.tables.contrast import MARKED

Item = TypeVar("Item", str, tuple[str, ...])
MARKUP = {ord("<"): "\\u003c", ord(">"): "\\u003e", ord("&"): "\\u0026"}


def to_json(data: ReportData) -> str:
    """The data as ASCII JSON that can stand inside a script element; pictures and rows once, by number."""
    plain = asdict(data)
    pictures: dict[str, int] = {}
    rows: dict[tuple[str, ...], int] = {}
    for shown in _shown(plain):
        shown["thumbnail"] = _number(shown["thumbnail"], pictures)
        shown["cells"] = _number(None if shown["cells"] is None else tuple(shown["cells"]), rows)
    if plain["map"] is not None:
        plain["map"]["thumbnails"] = [_number(picture, pictures) for picture in plain["map"]["thumbnails"]]
    plain["marked"] = MARKED
    plain["pictures"], plain["rows"] = list(pictures), [list(cells) for cells in rows]
    return json.dumps(plain, allow_nan=False, separators=(",", ":")).translate(MARKUP)


def digest(content: str) -> str:
    """Identifier of the data of a page."""
    return hashlib.sha256(content.encode()).hexdigest()[:24]


def read_report(path: Path) -> ReportData:
    """Read the ``report.json`` that this version of siis has written.

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
    try:
        plain = json.loads(path.read_text(encoding="utf-8", errors="replace"))
        pictures, rows = plain["pictures"], plain["rows"]
        for shown in _shown(plain):
            shown["thumbnail"] = _item(shown["thumbnail"], pictures)
            shown["cells"] = _item(shown["cells"], rows)
        if plain["map"] is not None:
            plain["map"]["thumbnails"] = [_item(number, pictures) for number in plain["map"]["thumbnails"]]
        found: ReportData = _built(ReportData, plain)
        return found
    except (ValueError, TypeError, KeyError, IndexError, AttributeError, RecursionError) as problem:
        raise ValueError(
            f"{path} must be a report as this version of siis writes it; it is not. Fit again: siis fit DATA."
        ) from problem


def _shown(plain: dict[str, Any]) -> Iterator[dict[str, Any]]:
    """Suspects, queries and their neighbours."""
    for listed in (*plain["suspects"], *plain["queries"]):
        yield from (listed, *listed["neighbors"])


def _number(item: Item | None, numbers: dict[Item, int]) -> int | None:
    return None if item is None else numbers.setdefault(item, len(numbers))


def _item(number: int | None, items: list[Any]) -> Any:
    return None if number is None else items[number]


def _built(kind: Any, plain: Any) -> Any:
    """Turn plain values back into the dataclasses that a type names."""
    if is_dataclass(kind):
        return kind(**{name: _built(type_, plain[name]) for name, type_ in get_type_hints(kind).items()})  # type: ignore[operator]
    inner = next((type_ for type_ in get_args(kind) if type_ is not NoneType and is_dataclass(type_)), None)
    if inner is None or plain is None:
        return plain
    return [_built(inner, one) for one in plain] if isinstance(plain, list) else _built(inner, plain)
