"""`siis explain`: why an example got its label."""

from __future__ import annotations

import json
from dataclasses import asdict
from pathlib import Path
from typing import Annotated, Any

import typer

from siis.cli.fit import RESULTS
from siis.cli.predict import model_file
from siis.cli.screen import in_background, one_sentence, printable

SHOWN = 60  # characters of a text


def explain(
    id: Annotated[str, typer.Argument(metavar="ID", help="Id of the example, as in predictions.csv.")],
    results: Annotated[Path, typer.Option(help="Folder of the results, or a model file.")] = RESULTS,
    as_json: Annotated[bool, typer.Option("--json", help="Print as JSON.")] = False,
) -> None:
    """Say why an example got its label: its given label, the evidence, its neighbours.

    \b
    Examples:
      siis explain 17
      siis explain img_0042.png --results results --json
    """
    with one_sentence():
        from siis.job import explain as found_reasons  # noqa: PLC0415  (heavy)
        from siis.saved import load_all, sound  # noqa: PLC0415

        saved = in_background(lambda: load_all(model_file(results)))
        with sound(results):
            found = found_reasons(saved, id)
        typer.echo(json.dumps(asdict(found)) if as_json else printable("\n".join(_lines(found))))


def _lines(found: Any) -> list[str]:
    lines = [printable(found.id, ""), "", *(printable(said, "") for said in found.sentences), ""]
    lines.append("classes      " + ", ".join(f"{name} {p:.2f}" for name, p in found.likeliest))
    if found.without_own_label is not None:
        said = ", ".join(f"{name} {p:.2f}" for name, p in found.without_own_label)
        lines.append(f"held out     {said}")
    if found.neighbors:
        header = ("neighbour", "weight", "classified as", "given")
        rows = [header] + [
            (near.id, f"{near.weight:.2f}", near.label, (near.given or "-") + (" (checked)" if near.checked else ""))
            for near in found.neighbors
        ]
        rows = [tuple(printable(cell, "") for cell in row) for row in rows]
        widths = [max(len(row[k]) for row in rows) for k in range(4)]
        texts = ["", *(printable((near.snippet or "")[:SHOWN], "") for near in found.neighbors)]
        lines.append("")
        for row, text in zip(rows, texts, strict=True):
            cells = "  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True))
            lines.append(f"{cells}  {text}".rstrip())
    return lines
