"""Names of the experiments, and the page that shows them all."""

from collections.abc import Callable
from functools import partial
from importlib.util import find_spec
from pathlib import Path

from siis.experiments import chain, comparison, convergence, moons, sensitivity
from siis.experiments.results_page import write_page
from siis.experiments.settings import Options

EXPERIMENTS: dict[str, Callable[[Options], None]] = {
    "chain": chain.run,
    "moons": moons.run,
    "coil": partial(comparison.run, "coil"),
    "rcv1": partial(comparison.run, "rcv1"),
    "isolet": partial(comparison.run, "isolet"),
    "convergence": convergence.run,
    "sensitivity": sensitivity.run,
}


def run(name: str, options: Options, page: Path | None) -> None:
    """Run one experiment or ``all``, then write the page (default: reproduction.md in the folder of results)."""
    if find_spec("matplotlib") is None:
        raise ModuleNotFoundError(
            "the figures of the experiments need matplotlib, which is not installed. Install it with "
            "`pip install 'siis[plot]'`, and run the same command again."
        )
    options.out.mkdir(parents=True, exist_ok=True)
    for known, experiment in EXPERIMENTS.items():
        if name in (known, "all"):
            experiment(options)
    write_page(options.out, page or options.out / "reproduction.md")
