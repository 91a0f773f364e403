"""The program `siis` and its commands."""

from __future__ import annotations

from collections.abc import Callable

import typer

from siis import __version__
from siis.app.cli.corrections import corrections
from siis.app.cli.demo import demo
from siis.app.cli.explain import explain
from siis.app.cli.fit import fit
from siis.app.cli.parsing import ListCommand
from siis.app.cli.predict import predict
from siis.app.cli.reproduce import reproduce
from siis.app.cli.review import review

EXAMPLES = """\b
Examples:
  siis demo
  siis fit data.csv --label label --id id --out results
  siis fit mails.parquet --text body --label is_spam --out results
  siis fit photos/ --labels-file labels.csv --out results
  siis review results
  siis explain 17 --results results
  siis corrections corrections.csv --results results
  siis predict results new.csv --out predictions.csv

\b
Exit codes: 0 success, 1 a problem with the data or a file (one sentence states
the problem and the remedy), 2 wrong usage, 130 interrupted."""

app = typer.Typer(
    add_completion=False,
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    rich_markup_mode=None,  # plain text: no control characters, wherever it is printed
    context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100},
    epilog=EXAMPLES,
)


def _version(is_requested: bool) -> None:
    if is_requested:
        typer.echo(f"siis {__version__}")
        raise typer.Exit


@app.callback()
def main(
    version: bool = typer.Option(
        False, "--version", help="Print the version and exit.", callback=_version, is_eager=True
    ),
) -> None:
    """Classify many examples from few, partly wrong labels, and find the wrong labels."""


SHORT: dict[Callable[..., None], str] = {
    fit: "Classify the examples of a file; list labels that are probably wrong.",
    predict: "Classify new examples with a fitted model.",
    explain: "Explain the prediction for one example.",
    review: "Review labels in the browser; each decision is saved and fitted.",
    corrections: "Fit again with reviewed labels.",
    demo: "Fit handwritten digits with 40 % wrong labels.",
    reproduce: "Reproduce the paper's experiments.",
}
for command, summary in SHORT.items():
    app.command(cls=ListCommand, short_help=summary)(command)
