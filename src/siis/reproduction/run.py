"""All experiments by name, and the page that shows their tables and figures."""

import os
from collections.abc import Callable
from functools import partial
from importlib.util import find_spec
from pathlib import Path
from urllib.parse import quote

from jinja2 import StrictUndefined, Template

from siis.reproduction import chain, comparison, convergence, moons, sensitivity
from siis.reproduction.comparison import METHODS, SETTINGS
from siis.reproduction.options import STYLE, Options
from siis.reproduction.records import read_rows, summarize

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


def write_page(out: Path, page: Path) -> None:
    """Write the page from the files in the folder of results."""
    template = Template(
        Path(__file__).with_name("page.md").read_text(encoding="utf-8"),
        trim_blocks=True,
        lstrip_blocks=True,
        undefined=StrictUndefined,
    )
    tables = {path.stem: path.read_text().rstrip() for path in out.glob("*.md") if path.stem in EXPERIMENTS}
    text = template.render(
        tables=tables,
        verdicts={name: _verdict(name, out) for name in ("coil", "rcv1") if name in tables},
        settings=SETTINGS,
        chain=chain,
        moons=moons,
        link=quote(os.path.relpath(out, page.parent).replace(os.sep, "/")),
    )
    page.parent.mkdir(parents=True, exist_ok=True)
    page.write_text(text)


def _verdict(name: str, out: Path) -> str:
    """Say whether SIIS is best on the unlabelled examples at high noise, and by how much."""
    rows = read_rows(out / f"{name}.csv")
    sentences = []
    for noise in (0.4, 0.6):
        means = {m: found[0] for m in METHODS if (found := summarize(rows, m, noise, "unlabelled_accuracy"))}
        others = {m: v for m, v in means.items() if not m.startswith("siis")}
        for method, what in (("siis", "the paper's parameters"), ("siis-tuned", "the other graph")):
            if method in means and others:
                best = max(others, key=lambda m: others[m])
                lead = means[method] - others[best]
                verb = "leads" if lead >= 0 else "trails"
                who = "the other method" if len(others) == 1 else f"the best of the other {len(others)}"
                sentences.append(
                    f"At {noise:.0%} noise SIIS with {what} {verb} {who}, {STYLE[best][0]}, by {abs(lead):.3f}."
                )
    return " ".join(sentences)
