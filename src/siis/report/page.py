"""Report data -> one HTML file: no network, no text of the data run as markup, the same bytes for the same input."""

from __future__ import annotations

import base64
import hashlib
import json
from dataclasses import asdict
from functools import cache
from importlib.resources import files
from typing import Any

import jinja2

from siis.report.data import ReportData
from siis.report.words import percent

SCRIPTS = ("start.js", "decisions.js", "map.js", "suspects.js", "figures.js")
MARKUP = {ord("<"): "\\u003c", ord(">"): "\\u003e", ord("&"): "\\u0026"}


def render(data: ReportData) -> str:
    """Write the report.

    Parameters
    ----------
    data : ReportData

    Returns
    -------
    str
        HTML with its style, its script and its data inside.
    """
    island = to_json(data)
    script = "\n".join(_asset(name) for name in SCRIPTS)
    fingerprint = base64.b64encode(hashlib.sha256(script.encode()).digest()).decode()
    policy = (
        "default-src 'none'; img-src data:; style-src 'unsafe-inline'; "
        f"script-src 'sha256-{fingerprint}'; base-uri 'none'; form-action 'none'"
    )
    at = data.map
    shown = {
        "title": data.title,
        "source": data.source,
        "counts": asdict(data.counts),
        "summary": data.summary,
        "trust": asdict(data.trust),
        "map": None if at is None else {"drawn": len(at.x), "placed": at.placed, "examples": at.examples},
        "has_noise": data.noise is not None,
        "reason": None if data.selection is None else data.selection.reason,
        "pictured": data.pictured,
        "command": "siis corrections corrections.csv --results DIR",
    }
    return _template().render(
        policy=policy,
        style=_asset("page.css"),
        script=script,
        island=island,
        digest=hashlib.sha256(island.encode()).hexdigest()[:24],
        **_printable(shown),
    )


def to_json(data: ReportData) -> str:
    """Write the data as JSON that can stand inside a script element.

    Parameters
    ----------
    data : ReportData

    Returns
    -------
    str
        ASCII, with no character that ends or opens an element or a comment. Each thumbnail is there once, in
        ``pictures``; suspects and neighbours hold its number.
    """
    plain = asdict(data)
    pictures: dict[str, int] = {}
    for suspect in plain["suspects"]:
        for shown in (suspect, *suspect["neighbors"]):
            picture = shown["thumbnail"]
            shown["thumbnail"] = None if picture is None else pictures.setdefault(picture, len(pictures))
    plain["pictures"] = list(pictures)
    return json.dumps(plain, allow_nan=False, separators=(",", ":")).translate(MARKUP)


@cache
def _asset(name: str) -> str:
    return files("siis.report").joinpath("static", name).read_text(encoding="utf-8")


@cache
def _template() -> jinja2.Template:
    environment = jinja2.Environment(
        autoescape=True, undefined=jinja2.StrictUndefined, trim_blocks=True, lstrip_blocks=True
    )
    environment.filters["percent"] = percent
    environment.filters["count"] = lambda value: f"{value:,}"
    return environment.from_string(_asset("page.html"))


def _printable(plain: Any) -> Any:
    """Replace half characters, which no file could hold (they come from names of files in another encoding)."""
    if isinstance(plain, str):
        return plain.encode("utf-8", "replace").decode("utf-8")
    if isinstance(plain, dict):
        return {name: _printable(value) for name, value in plain.items()}
    if isinstance(plain, list):
        return [_printable(value) for value in plain]
    return plain
