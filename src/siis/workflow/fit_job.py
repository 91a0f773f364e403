"""The main job in one place: read a file, merge corrections, fit, write the results."""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Container, Iterable, Mapping
from contextlib import ExitStack
from dataclasses import asdict, dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Protocol, TypeVar

from siis.decisions import CORRECTED, JOURNAL, Decision, Journal, user_name
from siis.estimators.classifier import SIISClassifier
from siis.files import check_writable, write_file, write_files
from siis.parameters import check_parameters
from siis.results import SUMMARY
from siis.tables import Data, read
from siis.tables.checked_labels import read_checked
from siis.tables.many_files import joint_name
from siis.workflow.fit_options import FitOptions
from siis.workflow.merged_labels import MergedLabels, by_row, digest_of, merge_checked, new_classes
from siis.workflow.outcome import Outcome, fit_data
from siis.workflow.outputs import answer_cells, output_files
from siis.workflow.thumbnails import large_of, thumbnails_of
from siis.workflow.written_table import check_table_file, table_file

Result = TypeVar("Result")


class Step(Protocol):
    """How a step of the job is done: called with its name, "read", "fit" or "write", and the work itself."""

    def __call__(self, name: str, work: Callable[[], Result]) -> Result:
        """Do the work, and give what it returns."""


@dataclass(frozen=True, eq=False)
class JobData:
    """The examples of a fit."""

    name: str  # heading of the notes
    data: Data
    # small and large pictures, row number -> data URI; default: the images of the data
    thumbnails: Callable[[int], str | None] | None = None
    pictures: Callable[[int], str | None] | None = None


def plain_step(name: str, work: Callable[[], Result]) -> Result:
    """Do the work of a step, and nothing around it."""
    return work()


def no_output(text: str) -> None:
    """Say nothing."""


def read_examples(options: FitOptions) -> JobData:
    """Read the examples that the options name."""
    if options.demo:
        from siis.workflow.demo_data import demo_data  # noqa: PLC0415  (reads a data set)

        data, _, thumbnails = demo_data(int(options.parameters["random_state"]))
        return JobData("Handwritten digits of scikit-learn", data, thumbnails)
    files = [Path(path) for path in options.files]
    data = read(files, options.to_roles())
    return JobData(str(joint_name(files)), data, thumbnails_of(data.images), large_of(data.images))


def run_job(
    options: FitOptions,
    out: Path,
    *,
    earlier: Mapping[str, str] | None = None,
    table: str | None = None,
    former: SIISClassifier | None = None,
    journal: Journal | None = None,
    record: Mapping[str, Decision] | None = None,
    overwrite: bool = False,
    source: Callable[[FitOptions], JobData] = read_examples,
    log: Callable[[str], None] = no_output,
    step: Step = plain_step,
) -> tuple[Outcome, dict[str, bytes]]:
    """Read examples, merge checked labels, fit and write the files; returns the outcome and the files' content.

    Decisions in ``out`` on the same table are used; new checked labels are saved as decisions before the files.
    """
    check_options(options)
    check_writable(out)
    examples = step("read", lambda: source(options))
    data, found = examples.data, digest_of(examples.data)
    check_unchanged(options, found, table)
    replaced = check_replaceable(out, found, options, overwrite)
    if options.write_table:
        check_table_file(Path(options.write_table), options.files, data)
    new, record = _corrected(options, data), record or {}
    with ExitStack() as stack:
        if journal is None and (out / JOURNAL).exists():
            journal = stack.enter_context(Journal(out, found))
            earlier = journal.checked(earlier or {})
        checked = {**(earlier or {}), **{name: str(one.label) for name, one in new.items()}}
        former_made = {} if journal is None else dict(journal.made)
        decisions = [
            one
            for name, one in {**record, **new}.items()
            if checked.get(name) == one.label and not one.is_same(former_made.get(name))
        ]
        made = {**former_made, **{one.id: one for one in decisions}}
        given = merge_checked(data, checked)
        for line in _understood(examples, checked, new, journal, replaced):
            log(line)
        outcome, contents, table_content = step("fit", lambda: _fitted(examples, given, options, out, former, made))

        def write() -> None:
            if decisions:
                (journal or stack.enter_context(Journal(out, found))).add(*decisions)
            write_files(out, contents)
            if table_content is not None:
                write_file(Path(options.write_table), table_content)

        step("write", write)
    return outcome, contents


def check_options(options: FitOptions) -> None:
    """Refuse parameters that a fit of a file does not have."""
    unknown = sorted(set(options.parameters) - set(SIISClassifier().get_params()))
    if unknown:
        raise ValueError(f"parameters must be those of SIISClassifier; found {', '.join(unknown)}. Fit again.")
    check_parameters(SIISClassifier(**options.parameters))


def check_unchanged(options: FitOptions, found: str, table: str | None) -> None:
    """Refuse a table (digest ``found``) other than the one that the results were made from."""
    if table is not None and table != found:
        raise ValueError(
            f"{options.data} must hold the ids and labels that siis fit has read; they have changed since. Fit "
            f"again: siis fit {options.data}"
        )


def check_replaceable(out: Path, table: str, options: FitOptions, overwrite: bool) -> str:
    """Refuse another table's results without ``overwrite``; return a note on what is replaced."""
    try:
        plain = json.loads((out / SUMMARY).read_text(encoding="utf-8"))
        former, data = plain.get("table"), str(plain["options"]["data"])
    except (OSError, UnicodeDecodeError, AttributeError, KeyError, TypeError, ValueError, RecursionError):
        return ""
    if former == table:
        return ""
    if os.path.realpath(data) == os.path.realpath(options.data):
        return "" if former is None else f"the results in {out} are of other ids or labels of {data}: replaced"
    if not overwrite:
        raise ValueError(
            f"{out} must be empty or hold results of the same table; it holds those of {data}. Choose another --out, "
            "or replace them with --overwrite."
        )
    return f"the results of {data} in {out}: replaced"


def _corrected(options: FitOptions, data: Data) -> dict[str, Decision]:
    """Decisions in files of corrections, by id, made when the file was written; later files take precedence."""
    found: dict[str, Decision] = {}
    by = user_name()
    for file in options.corrections:
        checked = read_checked(Path(file), options.to_roles(), data)
        at = datetime.fromtimestamp(Path(file).stat().st_mtime, UTC).isoformat(timespec="seconds")
        for i, label in by_row(data.ids, checked).items():
            found[data.ids[i]] = Decision(data.ids[i], CORRECTED, label, by, at)
    return found


def _understood(
    examples: JobData, checked: Mapping[str, str], new: Container[str], journal: Journal | None, replaced: str
) -> Iterable[str]:
    yield f"{examples.name}:"
    for note in examples.data.notes:
        yield f"  {note}"
    if replaced:
        yield f"  {replaced}"
    if journal is not None:
        for note in filter(None, (journal.note, journal.others())):
            yield f"  {note}"
    if checked:
        saved = 0 if journal is None else sum(name not in new for name in journal.made)
        where = f", {saved:,} of them saved in {journal.path}" if journal is not None and saved else ""
        yield f"  {len(checked):,} checked {'label' if len(checked) == 1 else 'labels'}: verified{where}"
    for name in new_classes(examples.data, checked):
        yield f"  a correction brings in a new class, {name!r}: a slip of the pen?"


def _fitted(
    examples: JobData,
    given: MergedLabels,
    options: FitOptions,
    out: Path,
    former: SIISClassifier | None,
    made: Mapping[str, Decision],
) -> tuple[Outcome, dict[str, bytes], bytes | None]:
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
        n_issues=options.issues or None,
        former=former,
    )
    contents = output_files(outcome, asdict(options), options.roles.get("id"), options.issue_columns, made)
    if not options.write_table or examples.data.sheet is None:
        return outcome, contents, None
    return outcome, contents, table_file(Path(options.write_table), examples.data.sheet, answer_cells(outcome))
