"""The main job in one place: read a file, merge corrections, fit, write the results."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Protocol, TypeVar

from siis.engine.choice import DASK
from siis.estimators.classifier import SIISClassifier
from siis.files import check_writable, write_files
from siis.parameters import check_parameters
from siis.tables import Data, read
from siis.tables.corrections import read_checked
from siis.tables.several import joint_name
from siis.workflow.fit_options import FitOptions
from siis.workflow.given import Given, given_of, new_classes
from siis.workflow.options import said_in_options
from siis.workflow.outcome import Outcome, fit_data
from siis.workflow.outputs import output_files

Result = TypeVar("Result")


class Step(Protocol):
    """How a step of the job is done: called with its name, "read", "fit" or "write", and the work itself."""

    def __call__(self, name: str, work: Callable[[], Result]) -> Result:
        """Do the work, and give what it returns."""


@dataclass(frozen=True, eq=False)
class JobData:
    """What is fitted to.

    Attributes
    ----------
    name : str
        What they are called before the notes about them.
    data : Data
    thumbnails, pictures : callable, optional
        Small and large pictures, index -> data URI; if left out, the images of the data.
    """

    name: str
    data: Data
    thumbnails: Callable[[int], str | None] | None = None
    pictures: Callable[[int], str | None] | None = None


def plain_step(name: str, work: Callable[[], Result]) -> Result:
    """Do the work of a step, and nothing around it."""
    return work()


def no_word(text: str) -> None:
    """Say nothing."""


def read_examples(options: FitOptions) -> JobData:
    """Read the file that the options name.

    Parameters
    ----------
    options : FitOptions

    Returns
    -------
    JobData
    """
    files = [Path(path) for path in options.files]
    return JobData(str(joint_name(files)), read(files, options.to_roles()))


def run_job(
    options: FitOptions,
    out: Path,
    *,
    earlier: Mapping[str, str] | None = None,
    former: SIISClassifier | None = None,
    source: Callable[[FitOptions], JobData] = read_examples,
    say: Callable[[str], None] = no_word,
    step: Step = plain_step,
) -> tuple[Outcome, dict[str, bytes]]:
    """Read examples, merge checked labels, fit, and write the files; those of an earlier fit stay until the end.

    Parameters
    ----------
    options : FitOptions
    out : Path
        Folder of the results; made if it does not exist.
    earlier : mapping of str to str, optional
        Labels that were checked in earlier rounds, by id; the corrections of the options go before.
    former : SIISClassifier, optional
        Of an earlier round, to start from.
    source : callable
        Gives the examples; if left out, those of the file.
    say : callable
        Is told what was understood, line by line.
    step : callable
        Does the steps "read", "fit" and "write": a command shows their progress and minds interrupts around them.

    Returns
    -------
    outcome : Outcome
    contents : dict of str to bytes
        The files that were written.
    """
    check_options(options)
    check_writable(out)
    examples = step("read", lambda: source(options))
    checked = _checked(options, earlier or {}, examples.data)
    given = given_of(examples.data, checked)
    for line in _understood(examples, checked):
        say(line)
    outcome, contents = step("fit", lambda: _fitted(examples, given, options, out, former))
    step("write", lambda: write_files(out, contents))
    return outcome, contents


def check_options(options: FitOptions) -> None:
    """Refuse parameters that no fit of a file has.

    Parameters
    ----------
    options : FitOptions
    """
    unknown = sorted(set(options.parameters) - (set(SIISClassifier().get_params()) - {"client"}))
    if unknown:
        raise ValueError(f"parameters must be those of SIISClassifier; found {', '.join(unknown)}. Fit again.")
    if options.parameters.get("engine") == DASK:
        raise ValueError(
            "--engine dask is for Dask's arrays in Python; a file is fitted on a cluster with --cluster."
        )
    with said_in_options():
        check_parameters(SIISClassifier(**options.parameters), SIISClassifier._rules)


def _checked(options: FitOptions, earlier: Mapping[str, str], data: Data) -> dict[str, str]:
    """Labels that a reviewer has checked, by id; later files go before earlier ones."""
    checked = dict(earlier)
    for file in options.corrections:
        checked.update(read_checked(Path(file), options.to_roles(), data))
    return checked


def _understood(examples: JobData, checked: Mapping[str, str]) -> Iterable[str]:
    yield f"{examples.name}:"
    for note in examples.data.notes:
        yield f"  {note}"
    if checked:
        yield f"  {len(checked):,} checked {'label' if len(checked) == 1 else 'labels'}: certain"
    for name in new_classes(examples.data, checked):
        yield f"  a correction brings in a new class, {name!r}: a slip of the pen?"


def _fitted(
    examples: JobData, given: Given, options: FitOptions, out: Path, former: SIISClassifier | None
) -> tuple[Outcome, dict[str, bytes]]:
    outcome = fit_data(
        examples.data,
        given,
        options.parameters,
        source=Path(options.data).name,
        title=options.title,
        results=str(out),
        thumbnails=examples.thumbnails,
        pictures=examples.pictures,
        n_queries=options.queries,
        former=former,
    )
    return outcome, output_files(outcome, asdict(options), options.roles.get("id"), options.issue_columns)
