"""`siis explain`: why an example got its label."""

from __future__ import annotations

import json
import textwrap
from dataclasses import asdict
from pathlib import Path
from typing import Any

import typer

from siis.app.cli.parsing import RESULTS, flag, model_file, option
from siis.app.cli.terminal import in_background, printable, report_errors
from siis.texts import shortened

SHOWN = 60  # characters of a text
WIDTH, NAME, CELL = 100, 24, 12  # characters of a line, of a column's name and of a cell, at most
MOST_NEAR, MOST_VALUES = 6, 20  # neighbours side by side, and columns of the table
MARK = "*"


def explain(
    id: str = typer.Argument(..., metavar="ID", help="Id of the example, as in predictions.csv."),
    results: Path = option("Results folder, or a model file.", default=RESULTS),
    as_json: bool = flag("--json", help="Print as JSON."),
) -> None:
    """Explain the prediction for one example: its given label, the evidence and its neighbours.

    For tables, prints the values of the example next to those of its closest neighbours. Columns in which it differs
    most from neighbours of its class come first.

    \b
    Examples:
      siis explain 17
      siis explain img_0042.png --results results --json
    """
    with report_errors():
        from siis.app.explain import explain as found_reasons  # noqa: PLC0415  (heavy)
        from siis.saved import load_all, sound  # noqa: PLC0415

        saved = in_background(lambda: load_all(model_file(results)))
        with sound(results):
            found = found_reasons(saved, id)
        typer.echo(json.dumps(asdict(found)) if as_json else printable("\n".join(_lines(found))))


def _lines(found: Any) -> list[str]:
    lines = [printable(found.id, ""), "", *(printable(sentence, "") for sentence in found.sentences), ""]
    lines.append("classes      " + ", ".join(f"{name} {p:.2f}" for name, p in found.likeliest))
    if found.without_own_label is not None:
        sentence = ", ".join(f"{name} {p:.2f}" for name, p in found.without_own_label)
        lines.append(f"held out     {sentence}")
    if found.neighbors:
        rows = [("neighbour", "weight", "classified as", "given", "")]
        for near in found.neighbors:
            given = (near.given or "-") + (" (checked)" if near.checked else "")
            rows.append((near.id, f"{near.weight:.2f}", near.label, given, (near.snippet or "")[:SHOWN]))
        columns = [[printable(cell, "") for cell in column] for column in zip(*rows, strict=True)]
        widths = [max(map(len, column)) for column in columns]
        cells = ([cell.ljust(width) for cell in column] for column, width in zip(columns, widths, strict=True))
        lines += ["", *("  ".join(row).rstrip() for row in zip(*cells, strict=True))]
    if found.values:
        lines += ["", *_values(found)]
    elif found.values_note is not None:
        lines += ["", f"Note: {found.values_note}."]
    return lines


def _values(found: Any) -> list[str]:
    """The example's cells and its neighbours', a line for each column of the table."""
    shown = found.values[:MOST_VALUES]
    near = found.neighbors[:MOST_NEAR]
    names = ["", "classified as"]
    names += [_cut(column.name if column.is_feature else f"({column.name})", NAME) for column in shown]
    used = width = max(map(len, names))
    to_the_right = [False, False, *(column.is_number for column in shown)]
    blocks: list[list[str]] = []
    for k, one in enumerate([found, *near]):
        cells = [_cut(text, CELL) for text in (one.id, one.label, *([c.value, *c.neighbors][k] for c in shown))]
        signs = ["", "", *(MARK if [False, *column.differs][k] else "" for column in shown)]
        wide = max(map(len, cells))
        used += 2 + wide + len(MARK)
        if used > WIDTH and k > 1:
            break
        blocks.append(
            [
                cell.rjust(wide) + (sign or " ") if is_number else (cell + sign).ljust(wide + len(MARK))
                for cell, sign, is_number in zip(cells, signs, to_the_right, strict=True)
            ]
        )
    lines = ["  ".join([name.ljust(width), *cells]).rstrip() for name, *cells in zip(names, *blocks, strict=True)]
    if len(found.values) > len(shown):
        lines.append(f"({len(found.values) - len(shown):,} more columns: --json shows all)")
    from siis.tables.contrast import MARKED  # noqa: PLC0415  (heavy)

    lines += textwrap.wrap(f"{MARK} not as in the example: {MARKED}", WIDTH)
    if not all(column.is_feature for column in shown):
        lines.append("(in brackets: columns that examples were not compared by)")
    return lines


def _cut(text: str, length: int) -> str:
    return shortened(printable(text, ""), length)
