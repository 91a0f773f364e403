"""The main job: read a file, merge checked labels, fit, gather findings, write the results."""

from __future__ import annotations

import json
import os
import warnings
from collections.abc import Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import cast

import numpy as np

from siis.app.merged_labels import MergedLabels, by_row, digest_of, merge_checked, new_classes
from siis.app.messages import worded
from siis.app.options import FitOptions
from siis.app.outputs import Outcome, answer_cells, csv_bytes, output_files
from siis.app.report import collect
from siis.app.report.shown import Pictures
from siis.app.thumbnails import large_of, thumbnails_of
from siis.app.written_table import check_table_file, table_file
from siis.decisions import CORRECTED, JOURNAL, Decision, Journal, user_name
from siis.errors import UnreachedWarning
from siis.estimators.classifier import SIISClassifier
from siis.files import check_writable, write_file, write_files
from siis.findings import find, given_codes
from siis.labels import LabelCoding, LabelWarning
from siis.parameters import check_parameters
from siis.progress import Progress
from siis.results import SUMMARY
from siis.saved import Saved
from siis.tables import Data, Recipe, Roles, read
from siis.tables.checked_labels import read_checked
from siis.tables.sheet import joint_name


@dataclass(frozen=True, eq=False)
class JobData:
    """The examples of a fit."""

    name: str  # heading of the notes
    data: Data
    thumbnails: Pictures | None = None  # default: the images of the data


def read_examples(options: FitOptions) -> JobData:
    """Read the examples that the options name."""
    if options.demo:
        from siis.app.demo import demo_data  # noqa: PLC0415  (reads a data set)

        data, thumbnails = demo_data(int(options.parameters["random_state"]))
        return JobData("Handwritten digits of scikit-learn", data, thumbnails)
    files = [Path(path) for path in options.files]
    return JobData(str(joint_name(files)), read(files, options.roles))


class Job:
    """A fit of files in three steps: ``read``, ``fit`` and ``write``, which alone changes files of ``out``.

    Decisions in ``out`` on the same table are used; new checked labels are saved as decisions before the files.
    ``checked`` are verified labels by id, ``table`` the digest that the data must have, ``former`` a model to start
    from, ``record`` decisions of another folder to save here too.
    """

    def __init__(
        self,
        options: FitOptions,
        out: Path,
        *,
        examples: JobData | None = None,
        checked: Mapping[str, str] | None = None,
        table: str | None = None,
        former: SIISClassifier | None = None,
        journal: Journal | None = None,
        record: Mapping[str, Decision] | None = None,
        overwrite: bool = False,
    ) -> None:
        check_options(options)
        check_writable(out)
        self.options, self.out = options, out
        self._examples, self._checked, self._table, self._former = examples, checked or {}, table, former
        self._journal, self._record, self._overwrite = journal, record or {}, overwrite
        self._files = ExitStack()

    def __enter__(self) -> Job:
        return self

    def __exit__(self, *problem: object) -> None:
        self._files.close()

    def read(self) -> list[str]:
        """Read the examples and merge the checked labels; returns what was understood, in lines."""
        options, out = self.options, self.out
        self._examples = examples = self._examples or read_examples(options)
        data = examples.data
        self._digest = digest_of(data)
        check_unchanged(options, self._digest, self._table)
        replaced = check_replaceable(out, self._digest, options, self._overwrite)
        if options.write_table:
            check_table_file(Path(options.write_table), options.files, data)
        new = _corrected(options, data)
        if self._journal is None and (out / JOURNAL).exists():
            self._journal = self._files.enter_context(Journal(out, self._digest))
            self._checked = self._journal.checked(self._checked)
        checked = {**self._checked, **{name: str(one.label) for name, one in new.items()}}
        made = {} if self._journal is None else dict(self._journal.made)
        self._decisions = [
            one
            for name, one in {**self._record, **new}.items()
            if checked.get(name) == one.label and not one.is_same(made.get(name))
        ]
        self._made = {**made, **{one.id: one for one in self._decisions}}
        self._given = merge_checked(data, checked)
        lines = [*data.notes, *filter(None, [replaced])]
        if self._journal is not None:
            lines += filter(None, (self._journal.note, self._journal.others()))
        if checked:
            saved = sum(name not in new for name in made)
            where = f", {saved:,} of them saved in {out / JOURNAL}" if saved else ""
            lines.append(f"{len(checked):,} checked {'label' if len(checked) == 1 else 'labels'}: verified{where}")
        for name in new_classes(data, checked):
            lines.append(f"a correction brings in a new class, {name!r}: a slip of the pen?")
        return [f"{examples.name}:", *(f"  {line}" for line in lines)]

    def fit(self) -> Outcome:
        """Fit the examples, and prepare the files."""
        assert self._examples is not None
        data, options = self._examples.data, self.options
        outcome = fit_data(
            data,
            self._given,
            options,
            results=str(self.out),
            thumbnails=self._examples.thumbnails,
            former=self._former,
        )
        self.contents = output_files(outcome, self._made)
        self._written = None
        if options.write_table and data.sheet is not None:
            self._written = table_file(Path(options.write_table), data.sheet, answer_cells(outcome))
        return outcome

    def write(self) -> None:
        """Write the decisions, then the files, all or none."""
        if self._decisions:
            journal = self._journal or self._files.enter_context(Journal(self.out, self._digest))
            journal.add(*self._decisions)
        write_files(self.out, self.contents)
        if self._written is not None:
            write_file(Path(self.options.write_table), self._written)


def run_job(options: FitOptions, out: Path, *, overwrite: bool = False) -> Outcome:
    """Read, fit and write, as ``siis fit`` does."""
    with Job(options, out, overwrite=overwrite) as job:
        job.read()
        outcome = job.fit()
        job.write()
    return outcome


def fit_data(
    data: Data,
    given: MergedLabels,
    options: FitOptions,
    *,
    results: str = "",
    thumbnails: Pictures | None = None,
    former: SIISClassifier | None = None,
) -> Outcome:
    """Fit examples, gather the findings and collect the report; ``former`` is a warm start, which the fit changes."""
    settings = dict(options.parameters)
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
            n_queries=options.queries,
            n_issues=options.issues or None,
            answers=data.annotations,
            annotators=data.annotators,
        )
        report = collect(
            model,
            findings,
            ids=data.ids,
            source=Path(options.data).name,
            title=options.title,
            results=results,
            texts=data.texts,
            rows=data.rows,
            thumbnails=thumbnails or thumbnails_of(data.images),
            pictures=large_of(data.images),
            warnings=messages,
        )
    return Outcome(options, data, given, model, messages, findings, report)


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
    for file in map(Path, options.corrections):
        checked = read_checked(file, options.roles, data)
        at = datetime.fromtimestamp(file.stat().st_mtime, UTC).isoformat(timespec="seconds")
        for i, label in by_row(data.ids, checked).items():
            found[data.ids[i]] = Decision(data.ids[i], CORRECTED, label, by, at)
    return found


def predict_file(saved: Saved, path: Path | Sequence[Path], roles: Roles) -> tuple[bytes, tuple[str, ...]]:
    """CSV with id, label and probability for a file like the fitted one, and notes on how it was read."""
    extra = saved.extra
    if "ids" not in extra:
        raise ValueError(
            "the model must come from siis fit, which knows how files become features; this one was saved in "
            "Python. Use siis.load(path).predict(X)."
        )
    if extra["recipe"] is None:
        raise ValueError(
            "the model was fitted on a ready-made graph, which does not cover new examples. Fit again with them "
            "in the graph, unlabelled."
        )
    recipe = Recipe.from_plain(extra["recipe"], extra["recipe_arrays"])
    new = recipe.apply(path, roles, extra["id_column"])
    P = saved.model.predict_proba(new.X)
    names = np.asarray(saved.model.classes_)[np.argmax(P, axis=1)]
    return csv_bytes(("id", "label", "probability"), zip(new.ids, names, P.max(axis=1), strict=True)), new.notes
