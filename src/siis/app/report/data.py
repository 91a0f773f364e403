"""The content of a report as plain data, and as JSON in report.json and inside the page; None: does not apply."""

from __future__ import annotations

import hashlib
import json
import math
from collections.abc import Callable
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path
from typing import Any

from siis.plain_data import from_plain
from siis.quality import LabelGain
from siis.tables.contrast import MARKED

Cell = str | int | float | bool | None
MARKUP = {ord("<"): "\\u003c", ord(">"): "\\u003e", ord("&"): "\\u0026"}


@dataclass(frozen=True)
class Counts:
    """Numbers of examples, labels and classes."""

    examples: int
    labelled: int
    features: int | None  # None for a precomputed graph
    classes: int
    suspects: int  # given labels that are probably wrong
    checked: int  # labels that a reviewer has confirmed
    answered: int  # classes that are predicted


@dataclass(frozen=True)
class Trust:
    """Figures and warnings that say how reliable the predictions are."""

    gap: float | None  # certified relative duality gap
    tol: float
    status: str  # "certified", "stopped" (the paper's step rule) or "max_iter"
    iterations: int
    graph_score: float | None  # Cohen's kappa of held-out labels and predictions; 0 is chance, 1 is perfect
    graph_word: str | None
    noise_rate: float | None  # estimated share of wrong labels
    noise_low: float | None  # its 95 % interval
    noise_high: float | None
    is_rate_known: bool  # False if not estimated, or if labels and features are only loosely related
    neighbor_recall: float | None  # share of the true nearest neighbours that were found
    neighbor_search: str
    unreached: int  # examples that no label is connected to
    warnings: list[str]


@dataclass(frozen=True)
class Reliability:
    """Agreement of predictions with held-out labels; one entry for each bin, the least confident first."""

    low: list[float]  # edges of the bins of the largest predicted probability
    high: list[float]
    labels: list[int]  # held-out labels in the bin
    probability: list[float]  # mean of the largest predicted probability
    agreement: list[float]  # share of the labels that agree with the prediction
    agreement_low: list[float]  # its 95 % interval
    agreement_high: list[float]
    expected: list[float]  # the share that would agree if probabilities and noise rate were right


@dataclass(frozen=True)
class Noise:
    """Which classes are mistaken for which."""

    matrix: list[list[float]]  # rows: given class; columns: true class, which sum to 1
    class_rates: list[float | None]  # share of wrong labels among those of each given class


@dataclass(frozen=True)
class Selection:
    """The candidates that were compared, and the reason for the choice."""

    columns: list[str]
    rows: list[list[Cell]]
    reason: str


@dataclass(frozen=True)
class Convergence:
    """Measurements of the solver, one entry each."""

    iteration: list[int]
    objective: list[float | None]
    bound: list[float | None]  # lower bound of the objective
    gap: list[float | None]  # relative duality gap


@dataclass(frozen=True)
class ExampleMap:
    """Examples in the plane, one entry for each point."""

    x: list[int]  # 0 to 9999
    y: list[int]
    ids: list[str]
    predicted: list[int]  # number of the class
    given: list[int]  # number of the class; -1 where unlabelled
    probability: list[float]  # of the predicted class
    suspect: list[int]  # position in the list of suspects, or -1
    snippets: list[str | None]  # beginning of the text or of the cells; left out where the file would grow too large
    thumbnails: list[str | None]  # data URI; left out likewise
    placed: int  # examples with coordinates; more than are drawn in a large data set
    examples: int


@dataclass(frozen=True)
class Shown:
    """What the page shows of an example."""

    id: str
    snippet: str | None  # beginning of its text
    thumbnail: str | None  # data URI
    cells: list[str] | None  # one for each column of the report


@dataclass(frozen=True)
class Neighbor(Shown):
    """A close example; that of a suspect has another class than the given label."""

    label: str  # predicted class
    differs: list[int]  # columns in which it differs from the example, the largest difference first


@dataclass(frozen=True)
class Suspect(Shown):
    """A given label that may be wrong."""

    given: str
    suggested: str
    quality: float  # probability that the given label is right
    why: str  # one sentence
    unusual: list[int]  # columns in which it differs from most neighbours, the largest difference first
    neighbors: list[Neighbor]  # at most five


@dataclass(frozen=True)
class Query(Shown):
    """An example to label or to check next."""

    action: str  # "label" or "check"
    gain: float  # in relative units
    given: str | None  # its label, if it is to be checked
    classes: list[str]  # the likeliest ones, at most three
    probabilities: list[float]
    why: str
    unusual: list[int]
    neighbors: list[Neighbor]  # the closest ones, at most five


@dataclass(frozen=True)
class Finding:
    """Near-duplicates, outliers, overlap or annotators: a sentence and a short table."""

    title: str
    sentence: str
    columns: list[str]
    rows: list[list[str]]


@dataclass(frozen=True)
class ReportData:
    """Everything that a report shows."""

    title: str
    source: str  # name of the file with the examples, or ""
    results: str  # folder of the results, or ""
    classes: list[str]
    counts: Counts
    summary: list[str]  # sentences
    trust: Trust
    reliability: Reliability | None  # None if too few labels were held out
    noise: Noise | None
    selection: Selection | None
    convergence: Convergence
    map: ExampleMap | None
    suspects: list[Suspect]  # given labels that are probably wrong, worst first
    queries: list[Query]  # the most helpful first, without suspects; empty with method="paper"
    columns: list[str]  # of the table with the examples
    pictured: int | None  # the first so many suspects have thumbnails; None if none has
    tabled: int | None  # the same for cells
    findings: list[Finding] = field(default_factory=list)
    label_gain: LabelGain | None = None  # None with method="paper", or if all examples are labelled
    large: dict[str, str] = field(default_factory=dict)  # large pictures by id, as data URIs, up to a size


def to_json(data: ReportData) -> str:
    """The data as ASCII JSON that can stand inside a script element; pictures and rows once, by number."""
    plain = asdict(data)
    pictures: dict[str, int] = {}
    rows: dict[tuple[str, ...], int] = {}
    _replace(
        plain,
        lambda picture: pictures.setdefault(picture, len(pictures)),
        lambda cells: rows.setdefault(tuple(cells), len(rows)),
    )
    if data.label_gain is not None:
        plain["label_gain"] = gain_figures(data.label_gain)
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
        _replace(plain, plain.pop("pictures").__getitem__, plain.pop("rows").__getitem__)
        del plain["marked"]
        if (gain := plain.pop("label_gain")) is not None:
            known: dict[str, Any] = {name: math.nan if value is None else value for name, value in gain.items()}
            gain = LabelGain(n_labels=known.pop("labels"), **known)
        found: ReportData = from_plain(ReportData, {**plain, "label_gain": None}, {})
        return replace(found, label_gain=gain)
    except (ValueError, TypeError, KeyError, IndexError, AttributeError, RecursionError) as problem:
        raise ValueError(
            f"{path} must be a report as this version of siis writes it; it is not. Fit again: siis fit DATA."
        ) from problem


def finite(value: Any) -> float | None:
    """Round to six significant digits; None for NaN, infinity and None."""
    return None if value is None or not math.isfinite(value) else float(f"{value:.6g}")


def gain_figures(gain: LabelGain) -> dict[str, Any]:
    """The expected gain as plain values; None where it cannot be estimated."""
    figures = {name: finite(value) for name, value in asdict(gain).items() if name not in ("n_labels", "reason")}
    return {"labels": gain.n_labels, **figures, "reason": gain.reason}


def _replace(plain: dict[str, Any], picture: Callable[[Any], Any], cells: Callable[[Any], Any]) -> None:
    """Replace the pictures and the rows of all examples by their numbers, or the other way round."""
    for listed in (*plain["suspects"], *plain["queries"]):
        for shown in (listed, *listed["neighbors"]):
            shown["thumbnail"] = None if shown["thumbnail"] is None else picture(shown["thumbnail"])
            shown["cells"] = None if shown["cells"] is None else cells(shown["cells"])
    if plain["map"] is not None:
        plain["map"]["thumbnails"] = [None if one is None else picture(one) for one in plain["map"]["thumbnails"]]
