"""Fit, then gather findings and report."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, cast

import numpy as np

from siis.errors import UnreachedWarning
from siis.estimators.classifier import SIISClassifier
from siis.findings import N_QUERIES, Findings, find, given_codes
from siis.labels import LabelCoding, LabelWarning
from siis.progress import Progress
from siis.report import ReportData, collect
from siis.tables import Data
from siis.workflow.merged_labels import MergedLabels
from siis.workflow.option_names import worded
from siis.workflow.thumbnails import large_of, thumbnails_of


@dataclass(frozen=True, eq=False)
class Outcome:
    """A fit with its data and its report."""

    data: Data
    given: MergedLabels
    model: SIISClassifier
    warnings: tuple[str, ...]  # worded for the command line
    findings: Findings
    report: ReportData


def fit_data(
    data: Data,
    given: MergedLabels,
    parameters: Mapping[str, Any] | None = None,
    *,
    source: str = "",
    title: str = "",
    results: str = "",
    thumbnails: Callable[[int], str | None] | None = None,
    pictures: Callable[[int], str | None] | None = None,
    n_queries: int = N_QUERIES,
    n_issues: int | None = None,
    former: SIISClassifier | None = None,
) -> Outcome:
    """Fit the examples of a file and collect the report; ``former`` is a warm start, which the fit changes."""
    settings = dict(parameters or {})
    if data.affinity == "precomputed":
        settings["affinity"] = "precomputed"
    model = SIISClassifier(**settings) if former is None else former.set_params(**settings, warm_start=True)
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        warnings.simplefilter("ignore", LabelWarning)  # reported when the file was read
        warnings.simplefilter("ignore", UnreachedWarning)  # is in the summary
        model.fit(data.X, given.y, sample_weight=given.sample_weight, verified=given.verified)
    model.set_params(warm_start=False)  # a user of the saved model decides anew
    messages = tuple(dict.fromkeys(worded(cast("Warning", warning.message)) for warning in caught))
    with Progress(0).stage("report"):
        findings = find(
            model,
            given=LabelCoding(model.classes_, given_codes(model, given.labels)),
            checked=np.flatnonzero(given.verified).tolist(),
            n_queries=n_queries,
            n_issues=n_issues,
            answers=data.annotations,
            annotators=data.annotators,
        )
        report = collect(
            model,
            findings,
            ids=data.ids,
            source=source,
            title=title,
            results=results,
            texts=data.texts,
            rows=data.rows,
            thumbnails=thumbnails or thumbnails_of(data.images),
            pictures=pictures or large_of(data.images),
            warnings=messages,
        )
    return Outcome(data, given, model, messages, findings, report)
