"""`siis corrections`: a reviewer's answers go back into the fit."""

from __future__ import annotations

from contextlib import nullcontext
from dataclasses import replace
from pathlib import Path

import typer

from siis.app.cli.fit import run_and_print
from siis.app.cli.parsing import OVERWRITE, QUIET, RESULTS, SUMMARY_AS_JSON, model_file, option
from siis.app.cli.terminal import announce_reading, report_errors


def corrections(
    file: Path = typer.Argument(
        ..., metavar="CORRECTIONS", help="corrections.csv, or a later export of the labelling tool."
    ),
    results: Path = option("Results folder that was reviewed.", default=RESULTS),
    out: Path | None = option("Output folder. (default: the same)"),
    overwrite: bool = OVERWRITE,
    quiet: bool = QUIET,
    as_json: bool = SUMMARY_AS_JSON,
) -> None:
    """Fit again with the labels that a reviewer has checked.

    CORRECTIONS is corrections.csv of the report, or any table with the columns id and label (or those of the data),
    or a later export of the labelling tool that the data came from. From an export, labels count that are marked as
    ground truth or are new. Earlier corrections and decisions of siis review are kept; the newest one counts. Checked
    labels are verified. Choices of the previous fit are kept if they still hold, so this takes seconds; siis fit DATA
    --corrections chooses again. Run it in the folder in which siis fit was run.

    \b
    Examples:
      siis corrections corrections.csv --results results
      siis corrections export-2.json --results results
      siis corrections corrections.csv --results results --out second-round
    """
    folder = out or results
    with report_errors(f"Files in {folder} are as they were."):
        announce_reading(file, quiet)
        from siis.app.rounds import former_round, options_of  # noqa: PLC0415  (heavy)
        from siis.decisions import JOURNAL, Journal, check_not_reviewed  # noqa: PLC0415

        if not file.exists():
            raise ValueError(f"{file}: there is no such file. Check the path.")
        _, table = options_of(results, "siis corrections")
        if folder != results:
            check_not_reviewed(folder)
        found = Journal(results, table) if (results / JOURNAL).exists() else None
        with found or nullcontext():
            former = former_round(results, model_file(results), "siis corrections")
            run_and_print(
                replace(former.options, corrections=(str(file),)),
                folder,
                quiet,
                as_json,
                checked=former.checked if found is None else found.checked(former.checked),
                table=table,
                former=former.model,
                journal=found if folder == results else None,
                record=None if found is None else found.made,
                overwrite=overwrite,
            )
