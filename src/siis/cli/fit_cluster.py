"""`siis fit --cluster`: the same command on the workers of Dask."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING

import typer

from siis.cli.terminal import in_background, print_line, printable
from siis.results import REPORT

if TYPE_CHECKING:
    from siis.workflow import FitOptions

WORKERS, MEMORY = 2, "2GB"


def fit_on_cluster(
    options: FitOptions, out: Path, address: str, workers: int | None, memory: str | None, quiet: bool, as_json: bool
) -> None:
    """Fit on a cluster (address of a scheduler, or "local") and print the outcome."""
    from siis.distributed import ClusterOptions, connected, fit  # noqa: PLC0415  (heavy)
    from siis.distributed.job import ANSWERS  # noqa: PLC0415
    from siis.distributed.workers import LOCAL  # noqa: PLC0415

    if address != LOCAL and (workers is not None or memory is not None):
        raise ValueError(
            "--workers and --memory are for --cluster local; other clusters have their own. Leave them out."
        )

    def log(line: str) -> None:
        if not quiet:
            print_line(line)

    def work() -> dict[str, object]:
        with connected(ClusterOptions(address, workers or WORKERS, memory or MEMORY)) as client:
            if link := client.dashboard_link:
                log(f"dashboard: {link}")
            return fit(options, out, client, log)

    summary = in_background(work)
    if as_json:
        typer.echo(json.dumps(summary))
    elif not quiet:
        figures = summary["cluster"]
        assert isinstance(figures, dict)
        typer.echo(
            printable(
                f"\n{figures['rows']:,} rows are classified ({ANSWERS}/part-*.parquet in {out}); about "
                f"{figures['noise_rate']:.0%} of the {figures['labelled']:,} given labels seem wrong. Open "
                f"{out / REPORT}, the report on a sample, in a browser."
            )
        )
