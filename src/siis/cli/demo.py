"""`siis demo`: the main job on digits that come with scikit-learn."""

from __future__ import annotations

import shlex
from pathlib import Path
from typing import Annotated

import typer

from siis.cli.fit import out_folder, run_and_print
from siis.cli.terminal import report_errors


def demo(
    out: Annotated[Path, typer.Option(metavar="DIR", parser=out_folder, help="Output folder.")] = Path("siis-demo"),
    seed: Annotated[
        int, typer.Option(min=0, max=2**32 - 1, help="Seed that draws the labelled examples and the wrong labels.")
    ] = 0,
    quiet: Annotated[bool, typer.Option("--quiet", "-q", help="Print errors only.")] = False,
) -> None:
    """Classify 1,797 handwritten digits from 200 labels, 80 of them wrong.

    \b
    Example:
      siis demo --out siis-demo
    """
    with report_errors(f"Files in {out} are as they were."):
        from siis.workflow import FitOptions, JobData  # noqa: PLC0415  (heavy)
        from siis.workflow.demo_data import demo_data, demo_summary  # noqa: PLC0415  (heavy)

        data, truth, thumbnails = demo_data(seed)
        digits = JobData("Handwritten digits of scikit-learn", data, thumbnails)
        options = FitOptions("digits", parameters={"random_state": seed}, title="Handwritten digits", demo=True)
        outcome = run_and_print(options, out, quiet, False, source=lambda _: digits)
        if not quiet:
            typer.echo("\n" + demo_summary(outcome, truth))
            typer.echo(f"\nTo review the labels: siis review {shlex.quote(str(out))}")
