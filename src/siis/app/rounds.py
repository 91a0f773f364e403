"""Another round on results that are there: the same data and options, with labels that were checked since."""

from __future__ import annotations

import copy
import json
from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path

from siis.app.merged_labels import digest_of
from siis.app.options import FitOptions
from siis.app.outputs import checked_labels
from siis.app.review import Refit
from siis.app.run import Job, check_unchanged, read_examples
from siis.decisions import Journal
from siis.estimators.classifier import SIISClassifier
from siis.estimators.warm import share_basis
from siis.files import settle
from siis.results import SUMMARY
from siis.saved import load_all, sound

NAMING = {"siis review": "siis review DIR", "siis corrections": "--results DIR"}  # how each is given the results


@dataclass(frozen=True, eq=False)
class FormerRound:
    """What a further round needs of former results."""

    options: FitOptions
    model: SIISClassifier
    checked: dict[str, str]  # verified labels by id
    table: str  # digest of the table


def former_round(results: Path, model_file: Path, command: str) -> FormerRound:
    """Read what a further round needs of a folder of results."""
    options, table = options_of(results, command)
    lost = [] if options.demo else [path for path in options.files if not Path(path).exists()]
    if lost:
        raise ValueError(
            f"the data of {results}, {lost[0]}, must be where they were; there is no such file here. Run "
            f"{command} in the folder in which siis fit was run."
        )
    saved = load_all(model_file)
    with sound(results):
        return FormerRound(options, saved.model, checked_labels(saved.extra), table)


def options_of(results: Path, command: str) -> tuple[FitOptions, str]:
    """The options of former results, and the digest of their table."""
    summary, advice = results / SUMMARY, f"Name the folder of the results ({NAMING[command]})"
    if results.is_file():
        raise ValueError(f"{results} must be a folder of results of siis fit; it is a file. {advice}.")
    settle(results)
    if not summary.is_file():
        raise ValueError(
            f"{summary} must be a summary that siis fit has written; there is no such file. {advice}, or fit first: "
            "siis fit DATA."
        )
    try:
        plain = json.loads(summary.read_text(encoding="utf-8"))
        if not str(plain["siis"]).startswith("0.1."):
            return FitOptions.from_plain(plain["options"]), str(plain["table"])
    except (OSError, UnicodeDecodeError, KeyError, TypeError, ValueError, RecursionError):
        raise ValueError(
            f"{summary} must be a summary that siis fit has written; it is not. {advice}, or fit anew: siis fit DATA."
        ) from None
    raise ValueError(
        f"{summary} was written by siis 0.1, whose results are not read any more. Fit again: siis fit DATA."
    )


class Rounds:
    """Repeated fits of examples that are read once, each from the former results; order of decisions has no effect.

    Once a round had to search again, later ones start from that round.
    """

    def __init__(self, former: FormerRound, results: Path, journal: Journal) -> None:
        self._options, self._base, self._results = replace(former.options, corrections=()), former.model, results
        self._examples, self._journal = read_examples(self._options), journal
        check_unchanged(self._options, digest_of(self._examples.data), former.table)

    @property
    def ids(self) -> frozenset[str]:
        """Names of the examples."""
        return frozenset(self._examples.data.ids)

    def run(self, checked: Mapping[str, str]) -> Refit:
        """Fit with these verified labels (by id); the results are written when the review says so."""
        job = Job(
            self._options,
            self._results,
            examples=self._examples,
            checked=checked,
            former=copy.copy(self._base),
            journal=self._journal,
        )
        job.read()
        outcome = job.fit()

        def write() -> None:
            job.write()
            if not share_basis(self._base, outcome.model):
                self._base = outcome.model

        return Refit(outcome.report, write)
