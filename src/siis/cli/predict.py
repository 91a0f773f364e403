"""`siis predict`: answers for new examples."""

from __future__ import annotations

import os
import sys
from pathlib import Path
from typing import Annotated

import typer

from siis.cli.fit import chosen_encoder
from siis.cli.terminal import in_background, print_line, report_errors, shown_progress
from siis.files import settle
from siis.results import MODEL


def predict(
    model: Annotated[Path, typer.Argument(metavar="MODEL", help="model.siis, or its folder.")],
    data: Annotated[
        list[Path],
        typer.Argument(metavar="NEWDATA...", help="Files with the columns of the data that the model was fitted to."),
    ],
    out: Annotated[Path | None, typer.Option(help="Output CSV file. (default: standard output)")] = None,
    id: Annotated[
        str | None, typer.Option(metavar="COLUMN", help="Column of the example ids. (default: as in the fit)")
    ] = None,
    image: Annotated[
        str | None, typer.Option(metavar="COLUMN", help="Column of images of a table. (default: the only one)")
    ] = None,
    image_folder: Annotated[
        Path | None,
        typer.Option(metavar="DIR", help="Folder of the files that it names. (default: that of the table)"),
    ] = None,
    encoder: Annotated[
        str | None,
        typer.Option(metavar="FILE.onnx", help="New path of the encoder. (default: its path in the fit)"),
    ] = None,
    tokenizer: Annotated[
        Path | None,
        typer.Option(metavar="FILE", help="New path of its tokenizer. (default: in the folder of the encoder)"),
    ] = None,
    encoding: Annotated[str, typer.Option(help="Encoding of text files.")] = "utf-8",
    sheet: Annotated[
        str | None, typer.Option(metavar="NAME", help="Sheet of an XLSX file. (default: the first)")
    ] = None,
    header_row: Annotated[
        int | None,
        typer.Option(min=1, metavar="N", help="Row of the column names in CSV or XLSX. (default: found)"),
    ] = None,
    quiet: Annotated[bool, typer.Option("--quiet", "-q", help="Print predictions and errors only.")] = False,
) -> None:
    """Classify the examples of a new file with a fitted model.

    Writes the id, label and probability of each example as CSV. Loading a model never runs code from the file.

    \b
    Examples:
      siis predict results new.csv --out predictions.csv
      siis predict results/model.siis new.parquet --id name
      siis predict results book.xlsx --sheet July
      siis predict results monday.csv tuesday.csv --out predictions.csv
      siis predict results new-photos/ --encoder mobilenet.onnx
      siis predict results export.json --image-folder media/
      siis predict results new-reviews.csv --encoder sentence.onnx --tokenizer tokenizer.json
    """

    def answers() -> tuple[bytes, tuple[str, ...]]:
        from siis.encode import EncoderChoice  # noqa: PLC0415
        from siis.saved import load_all, sound  # noqa: PLC0415
        from siis.workflow import predict_file  # noqa: PLC0415

        saved = load_all(model_file(model))
        chosen = chosen_encoder(encoder, tokenizer=tokenizer)
        located = None if chosen is None else EncoderChoice.from_plain(chosen)
        with sound(model):
            return predict_file(saved, data, encoding, id, sheet, located, image, image_folder, header_row)

    with report_errors():
        from siis.files import write_file  # noqa: PLC0415  (heavy)

        if out is not None:
            _check_kept(out, model, data)
        with shown_progress(quiet):
            content, notes = in_background(answers)
        if not quiet:
            for note in notes:
                print_line(note)
        if out is None and sys.stdout is None:
            raise ValueError("standard output must be open; it is closed. Name a file with --out.")
        if out is None:
            sys.stdout.buffer.write(content)
            sys.stdout.flush()
        else:
            write_file(out, content)


def _check_kept(out: Path, model: Path, data: list[Path]) -> None:
    """Refuse to write over a file that is read."""
    from siis.tables.sheet import found_files  # noqa: PLC0415  (heavy)

    if os.path.realpath(out) in map(os.path.realpath, (model, model / MODEL, *found_files(data))):
        raise ValueError(f"--out must not replace {out}, which is read. Choose another name.")


def model_file(path: Path) -> Path:
    """The model in a folder, or the file itself."""
    found = path / MODEL if path.is_dir() else path
    settle(found.parent)
    if not found.is_file():
        raise ValueError(
            f"{found} must be a model of siis fit; there is no such file. Name the folder of the results "
            "(--results DIR for explain and corrections), or fit first: siis fit DATA."
        )
    return found
