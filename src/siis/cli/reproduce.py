"""`siis reproduce`: the paper's experiments."""

from __future__ import annotations

import os
from collections.abc import Iterable
from enum import StrEnum
from pathlib import Path
from typing import Annotated, Any

import typer
from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn, TimeRemainingColumn

from siis.cli.interrupts import INTERRUPTED, set_interrupt_message, sigint_raises


class Experiment(StrEnum):
    """What can be reproduced."""

    chain = "chain"
    moons = "moons"
    coil = "coil"
    rcv1 = "rcv1"
    isolet = "isolet"
    convergence = "convergence"
    sensitivity = "sensitivity"
    all = "all"


class Method(StrEnum):
    """Methods of the comparisons."""

    svm = "svm"
    gfhf = "gfhf"
    robust = "robust"
    lssc = "lssc"
    gtf = "gtf"
    spmr = "spmr"
    siis = "siis"
    siis_tuned = "siis-tuned"


def reproduce(
    experiment: Annotated[Experiment, typer.Argument(help="Experiment of the paper.")],
    runs: Annotated[
        int, typer.Option(min=1, help="Label contaminations per noise level (moons: at least 20 problems).")
    ] = 10,
    noise: Annotated[
        list[float] | None,
        typer.Option(min=0, max=1, help="Noise levels of coil, rcv1 and isolet. (default: 0 0.2 0.4 0.6)"),
    ] = None,
    methods: Annotated[
        list[Method] | None,
        typer.Option(help="Methods of moons, coil, rcv1 and isolet. (default: all)"),
    ] = None,
    data: Annotated[
        Path | None,
        typer.Option(
            exists=True,
            file_okay=False,
            help="Folder of the data sets. (default: the environment variable SIIS_DATA, else a download)",
        ),
    ] = None,
    out: Annotated[Path, typer.Option(file_okay=False, help="Output folder.")] = Path("reproduction"),
    page: Annotated[
        Path | None, typer.Option(dir_okay=False, help="Page with all results. (default: OUT/reproduction.md)")
    ] = None,
    jobs: Annotated[int, typer.Option(min=0, help="Number of processes; 0 means one per core.")] = 0,
) -> None:
    """Reproduce the paper's section "Experimental Results": tables, figures and a page.

    An interrupted run continues where it stopped.

    \b
    Examples:
      siis reproduce moons --out results
      siis reproduce isolet --runs 3 --noise 0.2 0.6
      siis reproduce all --runs 10 --data DIR
    """
    console = Console(stderr=True)
    set_interrupt_message(f"Finished runs are kept in {out}. The same command continues where it stopped.")
    try:
        from siis.reproduction.options import Options  # noqa: PLC0415 - heavy imports only when needed
        from siis.reproduction.run import run  # noqa: PLC0415

        options = Options(
            out=out,
            runs=runs,
            noise=tuple(sorted({round(level, 4) for level in noise})) if noise else (0.0, 0.2, 0.4, 0.6),
            methods=tuple(m.value for m in methods) if methods else None,
            data=data,
            jobs=jobs or os.cpu_count() or 1,
            track=_tracker(console),
        )
        with sigint_raises():
            run(experiment.value, options, page)
    except KeyboardInterrupt:
        console.print(f"Interrupted; finished runs are kept in {out}. The same command continues where it stopped.")
        raise typer.Exit(INTERRUPTED) from None
    except (OSError, RuntimeError, ValueError, ModuleNotFoundError) as problem:
        console.print(f"siis: {problem}", style="bold red", highlight=False, markup=False, soft_wrap=True)
        raise typer.Exit(1) from None
    typer.echo(f"Results are in {out}; start with {page or out / 'reproduction.md'}")


def _tracker(console: Console) -> Any:
    """Show a bar with the time left on a terminal, and a line for each experiment elsewhere."""

    def track(items: Iterable[Any], total: int, title: str) -> Iterable[Any]:
        if not console.is_terminal:
            console.print(f"{title}: {total} runs to do", highlight=False)
            yield from items
            return
        columns = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), TimeElapsedColumn())
        with Progress(*columns, TimeRemainingColumn(), console=console) as progress:
            yield from progress.track(items, total=total, description=title)

    return track
