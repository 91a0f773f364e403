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
    if found.values:
        lines += ["", *_values(found)]
    elif found.values_note is not None:
        lines += ["", f"Note: {found.values_note}."]
    return lines


def _values(found: Any) -> list[str]:
    """The example's cells and its neighbours', a line for each column of the table."""
    shown = found.values[:MOST_VALUES]
    near = found.neighbors[:MOST_NEAR]
    heads = [_cut(text, CELL) for text in (found.id, *(n.id for n in near))]
    classes = [_cut(text, CELL) for text in (found.label, *(n.label for n in near))]
    names = ["", "classified as"]
    names += [_cut(column.name if column.is_feature else f"({column.name})", NAME) for column in shown]
    width = max(map(len, names))
    table = [[_cut(cell, CELL) for cell in (column.value, *column.neighbors)] for column in shown]
    marks = [[False, *column.differs] for column in shown]
    is_number = [False, False, *(column.is_number for column in shown)]
    blocks: list[list[str]] = []
    used = width
    for k in range(1 + len(near)):
        cells = [heads[k], classes[k], *(row[k] for row in table)]
        wide = max(map(len, cells))
        used += 2 + wide + len(MARK)
        if used > WIDTH and k > 1:
            break
        signs = ["", "", *(MARK if row[k] else "" for row in marks)]
        blocks.append(
            [
                cell.rjust(wide) + (sign or " ") if right else (cell + sign).ljust(wide + len(MARK))
                for cell, sign, right in zip(cells, signs, is_number, strict=True)
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
    text = printable(text, "")
    return text if len(text) <= length else text[: length - 1] + "…"
