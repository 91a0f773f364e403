"""`siis reproduce`: the paper's experiments."""

from __future__ import annotations

import os
from collections.abc import Iterable
from pathlib import Path
from typing import Any, Literal

import typer
from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn, TimeRemainingColumn

from siis.app.cli.interrupts import INTERRUPTED, set_interrupt_message, sigint_raises
from siis.app.cli.parsing import Method, option

Experiment = Literal["chain", "moons", "coil", "rcv1", "isolet", "convergence", "sensitivity", "all"]


def reproduce(
    experiment: Experiment = typer.Argument(..., help="Experiment of the paper."),
    runs: int = option("Label contaminations per noise level (moons: at least 20 problems).", default=10, min=1),
    noise: list[float] | None = option(
        "Noise levels of coil, rcv1 and isolet. (default: 0 0.2 0.4 0.6)", min=0, max=1
    ),
    methods: list[Method] | None = option("Methods of moons, coil, rcv1 and isolet. (default: all)"),
    data: Path | None = option(
        "Folder of the data sets. (default: the environment variable SIIS_DATA, else a download)",
        exists=True,
        file_okay=False,
    ),
    out: Path = option("Output folder.", default=Path("reproduction"), file_okay=False),
    page: Path | None = option("Page with all results. (default: OUT/reproduction.md)", dir_okay=False),
    jobs: int = option("Number of processes; 0 means one per core.", default=0, min=0),
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
            methods=tuple(method.value for method in methods) if methods else None,
            data=data,
            jobs=jobs or os.cpu_count() or 1,
            track=_tracker(console),
        )
        with sigint_raises():
            run(experiment, options, page)
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
