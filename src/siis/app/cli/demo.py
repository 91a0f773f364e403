"""`siis demo`: the main job on digits that come with scikit-learn."""

from __future__ import annotations

import shlex
from pathlib import Path

import typer

from siis.app.cli.fit import run_and_print
from siis.app.cli.parsing import QUIET, option, out_folder
from siis.app.cli.terminal import report_errors


def demo(
    out: Path = option("Output folder.", "DIR", default=Path("siis-demo"), parser=out_folder),
    seed: int = option(
        "Seed that draws the labelled examples and the wrong labels.", default=0, min=0, max=2**32 - 1
    ),
    quiet: bool = QUIET,
) -> None:
    """Classify 1,797 handwritten digits from 200 labels, 80 of them wrong.

    \b
    Example:
      siis demo --out siis-demo
    """
    with report_errors(f"Files in {out} are as they were."):
        from siis.app.demo import demo_summary  # noqa: PLC0415  (heavy)
        from siis.app.options import FitOptions  # noqa: PLC0415

        options = FitOptions("digits", parameters={"random_state": seed}, title="Handwritten digits", demo=True)
        outcome = run_and_print(options, out, quiet, False)
        if not quiet:
            typer.echo("\n" + demo_summary(outcome))
            typer.echo(f"\nTo review the labels: siis review {shlex.quote(str(out))}")
