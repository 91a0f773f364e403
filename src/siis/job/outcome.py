"""Fit, and gather what there is to say about it."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from siis.classifier import SIISClassifier
from siis.job.given import Given
from siis.job.thumbnails import thumbnails_of
from siis.labels import LabelWarning
from siis.progress import Progress
from siis.report import ReportData, collect
from siis.tables import Data
from siis.tables.columns import Columns

MOST_COLUMNS = 12  # of a table whose rows a person can read


class _Rows(Sequence[str]):
    """The rows of a table in words, each when it is asked for."""

    def __init__(self, encoder: Columns, X: Any) -> None:
        self.encoder, self.X = encoder, X

    def __len__(self) -> int:
        return len(self.X)

    def __getitem__(self, index: Any) -> Any:
        return self.encoder.describe(self.X[index])


@dataclass(frozen=True, eq=False)
class Outcome:
    """A fit with its data and its report.

    Attributes
    ----------
    data : Data
    given : Given
    model : SIISClassifier
    warnings : tuple of str
        What was warned about on the way.
    report : ReportData
    """

    data: Data
    given: Given
    model: SIISClassifier
    warnings: tuple[str, ...]
    report: ReportData


def fit_data(
    data: Data,
    given: Given,
    parameters: Mapping[str, Any] | None = None,
    *,
    source: str = "",
    title: str = "",
    thumbnails: Callable[[int], str | None] | None = None,
) -> Outcome:
    """Fit a classifier to the examples of a file, and report.

    Parameters
    ----------
    data : Data
    given : Given
        Its labels, with those that a reviewer has checked.
    parameters : mapping, optional
        Of SIISClassifier.
    source, title : str
        Name of the file, and heading of the report.
    thumbnails : callable, optional
        Index -> data URI; if left out, the images of the data.

    Returns
    -------
    Outcome
    """
    settings = dict(parameters or {})
    if data.metric == "precomputed":
        settings["metric"] = "precomputed"
    model = SIISClassifier(**settings)
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        warnings.simplefilter("ignore", LabelWarning)  # said of the file before, with the option that changes it
        model.fit(data.X, given.y, sample_weight=given.sample_weight, certain=given.certain)
    said = tuple(dict.fromkeys(str(warning.message) for warning in caught))
    with Progress(0).stage("report"):
        report = collect(
            model,
            ids=data.ids,
            source=source,
            title=title,
            texts=_shown_texts(data),
            thumbnails=thumbnails or thumbnails_of(data.images),
            checked=np.flatnonzero(given.certain).tolist(),
            given=given.labels,
            warnings=said,
        )
    return Outcome(data, given, model, said, report)


def _shown_texts(data: Data) -> Sequence[str] | None:
    """What a reviewer reads of an example: its text, or the values of a table that is not too wide."""
    encoder = None if data.recipe is None else data.recipe.encoder
    if data.texts is None and isinstance(encoder, Columns) and len(encoder.names) <= MOST_COLUMNS:
        return _Rows(encoder, data.X)
    return data.texts
