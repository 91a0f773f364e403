"""Fit, and gather what there is to say about it."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from siis.classifier import SIISClassifier
from siis.job.given import Given, given_of
from siis.job.thumbnails import thumbnails_of
from siis.progress import Progress
from siis.report import ReportData, collect
from siis.tables import Data


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
    checked: Mapping[str, str] | None = None,
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
    checked : mapping of str to str, optional
        Label of each id that a reviewer has checked: certain.
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
    given = given_of(data, checked or {})
    settings = dict(parameters or {})
    if data.metric == "precomputed":
        settings["metric"] = "precomputed"
    model = SIISClassifier(**settings)
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        model.fit(data.X, given.y, sample_weight=given.sample_weight, certain=given.certain)
    said = tuple(dict.fromkeys(str(warning.message) for warning in caught))
    with Progress(0).stage("report"):
        report = collect(
            model,
            ids=data.ids,
            source=source,
            title=title,
            texts=data.texts,
            thumbnails=thumbnails or thumbnails_of(data.images),
            checked=np.flatnonzero(given.certain).tolist(),
            given=given.labels,
            warnings=said,
        )
    return Outcome(data, given, model, said, report)
