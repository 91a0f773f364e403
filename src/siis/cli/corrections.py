"""`siis corrections`: a reviewer's answers go back into the fit."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from siis.cli.fit import RESULTS, run_and_print
from siis.cli.predict import model_file
from siis.cli.screen import first_words, one_sentence
from siis.files import settle
from siis.results import SUMMARY

if TYPE_CHECKING:
    from siis.workflow import FitOptions


def corrections(
    file: Annotated[Path, typer.Argument(metavar="CORRECTIONS", help="corrections.csv, or a later export.")],
    results: Annotated[Path, typer.Option(help="Folder of the results that were reviewed.")] = RESULTS,
    out: Annotated[Path | None, typer.Option(help="Folder of the new results. (default: the same)")] = None,
    quiet: Annotated[bool, typer.Option("--quiet", "-q", help="Print nothing but errors.")] = False,
    as_json: Annotated[bool, typer.Option("--json", help="Print the summary as JSON.")] = False,
) -> None:
    """Fit again as before, with the labels that a reviewer has checked: these are certain.

    CORRECTIONS is a table with the columns id and label, or with those of the data (others are ignored), as the
    report saves it; or a later export of the labelling tool that the data came from: labels count that are marked as
    ground truth, or were given since. Corrections of earlier rounds stay; the newest answer counts. Run it where
    siis fit was run. What the former fit has chosen is kept where it still holds, so this takes seconds;
    siis fit DATA --corrections chooses anew.

    \b
    Examples:
      siis corrections corrections.csv --results results
      siis corrections export-2.json --results results
      siis corrections corrections.csv --results results --out second-round
    """
    folder = out or results
    with one_sentence(f"Files in {folder} are as they were."):
        first_words(file, quiet)
        from siis.saved import load_all, sound  # noqa: PLC0415
        from siis.workflow import checked_labels  # noqa: PLC0415  (heavy)

        if not file.exists():
            raise ValueError(f"{file}: there is no such file. Check the path.")
        options = options_of(results)
        if not Path(options.data).exists():
            raise ValueError(
                f"the data of {results}, {options.data}, must be where they were; there is no such file here. Run "
                "siis corrections in the folder in which siis fit was run."
            )
        saved = load_all(model_file(results))
        with sound(results):
            earlier = checked_labels(saved.extra)
        again = replace(options, corrections=(str(file),))
        run_and_print(again, folder, quiet, as_json, earlier=earlier, former=saved.model)


def options_of(results: Path) -> FitOptions:
    """The options with which results were made.

    Parameters
    ----------
    results : Path

    Returns
    -------
    FitOptions
    """
    from siis.workflow import FitOptions  # noqa: PLC0415  (heavy)

    summary = results / SUMMARY
    settle(results)
    if not summary.is_file():
        raise ValueError(
            f"{summary} must be a summary that siis fit has written; there is no such file. Name the folder of the "
            "results with --results, or fit first: siis fit DATA."
        )
    try:
        return FitOptions.from_plain(json.loads(summary.read_text(encoding="utf-8"))["options"])
    except (OSError, UnicodeDecodeError, KeyError, TypeError, ValueError, RecursionError):
        raise ValueError(
            f"{summary} must be a summary that siis fit has written; it is not. Give the folder of the results with "
            "--results, or use siis fit DATA --corrections FILE."
        ) from None
