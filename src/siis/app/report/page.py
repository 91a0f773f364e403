"""Report data -> one HTML file: no network, no text of the data run as markup, the same bytes for the same input."""

from __future__ import annotations

import base64
import hashlib
import shlex
from dataclasses import fields
from functools import cache
from importlib.resources import files

import jinja2

from siis.app.report.data import ReportData, digest, to_json
from siis.app.report.wording import (
    about,
    agreement_sentences,
    gain_sentence,
    percent,
    query_heading,
    unreached_warning,
)

SCRIPTS = ("start.js", "decisions.js", "examples.js", "chooser.js", "review.js", "map.js", "figures.js")
ALONE, SERVED = "alone.js", "served.js"  # the last script: what becomes of decisions
CONNECT = "connect-src 'self'; "


def render(data: ReportData, decisions: str = "") -> str:
    """Write the report.

    Parameters
    ----------
    data : ReportData
    decisions : str
        If the page is served by `siis review`: the file with the decisions. The page then sends them to its
        server, and nowhere else. If empty, the page is a file that contacts no server.

    Returns
    -------
    str
        HTML with its style, its script and its data inside.
    """
    island = to_json(data)
    script = "\n".join(_asset(name) for name in (*SCRIPTS, SERVED if decisions else ALONE))
    fingerprint = base64.b64encode(hashlib.sha256(script.encode()).digest()).decode()
    policy = (
        f"default-src 'none'; {CONNECT if decisions else ''}img-src data:; style-src 'unsafe-inline'; "
        f"script-src 'sha256-{fingerprint}'; base-uri 'none'; form-action 'none'"
    )
    page = _template().render(
        **{field.name: getattr(data, field.name) for field in fields(data)},
        unreached_warning=unreached_warning(data.counts, data.trust),
        agreement_sentences=[] if data.reliability is None else agreement_sentences(data.reliability, data.trust),
        query_heading=query_heading(query.action for query in data.queries),
        gain_sentence=None if data.label_gain is None else gain_sentence(data.label_gain),
        decisions=decisions,
        command=f"siis corrections corrections.csv --results {shlex.quote(data.results)}" if data.results else "",
        policy=policy,
        style=_asset("page.css"),
        script=script,
        island=island,
        digest=digest(island),
    )
    # half characters, from names of files in another encoding, could not be written to a file
    return page.encode("utf-8", "replace").decode("utf-8")


@cache
def _asset(name: str) -> str:
    return files("siis.app.report").joinpath("static", name).read_text(encoding="utf-8")


@cache
def _template() -> jinja2.Template:
    environment = jinja2.Environment(
        autoescape=True, undefined=jinja2.StrictUndefined, trim_blocks=True, lstrip_blocks=True
    )
    environment.filters["percent"] = percent
    environment.filters["about"] = about
    environment.filters["count"] = lambda value: f"{value:,}"
    return environment.from_string(_asset("page.html"))
