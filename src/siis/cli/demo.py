"""`siis demo`: the main job on digits that come with scikit-learn."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from siis.cli.fit import FitOptions, fit_and_write
from siis.cli.screen import one_sentence, say
from siis.results import REPORT


def demo(
    out: Annotated[Path, typer.Option(help="Folder of the results.")] = Path("siis-demo"),
    seed: Annotated[
        int, typer.Option(min=0, max=2**32 - 1, help="Of the labels that are given, and of those that are wrong.")
    ] = 0,
    quiet: Annotated[bool, typer.Option("--quiet", "-q", help="Print nothing but errors.")] = False,
) -> None:
    """Classify 1,797 handwritten digits from 200 labels, 80 of them wrong.

    \b
    Example:
      siis demo --out siis-demo
    """
    with one_sentence(f"Files in {out} are as they were."):
        from siis.files import check_writable  # noqa: PLC0415  (heavy)
        from siis.workflow import given_of  # noqa: PLC0415
        from siis.workflow.demo import demo_data, demo_summary  # noqa: PLC0415  (heavy)

        check_writable(out)
        data, truth, thumbnails = demo_data(seed)
        if not quiet:
            say("Handwritten digits of scikit-learn:")
            for note in data.notes:
                say(f"  {note}")
        options = FitOptions("digits", parameters={"random_state": seed}, title="Handwritten digits")
        outcome = fit_and_write(data, given_of(data, {}), options, out, quiet, False, thumbnails)
        if not quiet:
            typer.echo("\n" + demo_summary(outcome, truth))
            typer.echo(f"\nThe report to open: {out / REPORT}")
