"""Another round on results that are there: the same data and options, with labels that were checked since."""

from __future__ import annotations

import copy
import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from pathlib import Path

from siis.estimators.classifier import SIISClassifier
from siis.estimators.warm import lend_basis
from siis.files import settle
from siis.results import SUMMARY
from siis.saved import Saved, load_all, sound
from siis.workflow.fit_options import FitOptions
from siis.workflow.job import JobData, Result, read_examples, run_job
from siis.workflow.outcome import Outcome
from siis.workflow.outputs import checked_labels
from siis.workflow.thumbnails import large_of, thumbnails_of

NAMING = {"siis review": "siis review DIR", "siis corrections": "--results DIR"}  # how each is given the results


@dataclass(frozen=True, eq=False)
class FormerRound:
    """What results were made with.

    Attributes
    ----------
    options : FitOptions
    model : SIISClassifier
    checked : dict of str to str
        The labels that were certain, by id.
    """

    options: FitOptions
    model: SIISClassifier
    checked: dict[str, str]


def former_round(results: Path, model_file: Path, command: str) -> FormerRound:
    """Read what a further round needs of results.

    Parameters
    ----------
    results : Path
        Folder.
    model_file : Path
    command : str
        Who asks, of ``NAMING``.

    Returns
    -------
    FormerRound
    """
    options = options_of(results, command)
    lost = [path for path in options.files if not Path(path).exists()]
    if lost:
        raise ValueError(
            f"the data of {results}, {lost[0]}, must be where they were; there is no such file here. Run "
            f"{command} in the folder in which siis fit was run."
        )
    saved: Saved = load_all(model_file)
    with sound(results):
        return FormerRound(options, saved.model, checked_labels(saved.extra))


def options_of(results: Path, command: str) -> FitOptions:
    """The options with which results were made.

    Parameters
    ----------
    results : Path
    command : str
        Who asks, of ``NAMING``.

    Returns
    -------
    FitOptions
    """
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
        return FitOptions.from_plain(json.loads(summary.read_text(encoding="utf-8"))["options"])
    except (OSError, UnicodeDecodeError, KeyError, TypeError, ValueError, RecursionError):
        raise ValueError(
            f"{summary} must be a summary that siis fit has written; it is not. {advice}, or fit anew: siis fit DATA."
        ) from None


class Rounds:
    """Rounds on the same examples, which are read once.

    Each begins from the model of the former results, so that the answers are those of the decisions, whenever these
    were made; only where a round had to search anew, later ones begin from that.

    Parameters
    ----------
    former : FormerRound
    results : Path
        Folder; its files are replaced by each round.
    """

    def __init__(self, former: FormerRound, results: Path) -> None:
        self._options, self._base, self._results = replace(former.options, corrections=()), former.model, results
        read = read_examples(self._options)
        self._examples = JobData(read.name, read.data, thumbnails_of(read.data.images), large_of(read.data.images))

    @property
    def ids(self) -> frozenset[str]:
        """Names of the examples."""
        return frozenset(self._examples.data.ids)

    def run(self, checked: Mapping[str, str], write: Callable[[Callable[[], None]], None]) -> Outcome:
        """Fit with these labels as certain ones, and write the results.

        Parameters
        ----------
        checked : mapping of str to str
            By id.
        write : callable
            Is given the work of writing, and does it.

        Returns
        -------
        Outcome
        """

        def step(name: str, work: Callable[[], Result]) -> Result:
            if name != "write":
                return work()
            done: list[Result] = []
            write(lambda: done.append(work()))
            return done[0]

        outcome, _ = run_job(
            self._options,
            self._results,
            earlier=checked,
            former=copy.copy(self._base),
            source=lambda _: self._examples,
            step=step,
        )
        if not lend_basis(self._base, outcome.model):
            self._base = outcome.model
        return outcome
