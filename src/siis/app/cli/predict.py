"""`siis predict`: answers for new examples."""

from __future__ import annotations

import os
import sys
from pathlib import Path

import typer

from siis.app.cli.parsing import (
    ENCODING,
    HEADER_ROW,
    IMAGE_FOLDER,
    SHEET,
    chosen_encoder,
    flag,
    model_file,
    option,
)
from siis.app.cli.terminal import in_background, print_line, report_errors, shown_progress
from siis.files import write_file
from siis.results import MODEL


def predict(
    model: Path = typer.Argument(..., metavar="MODEL", help="model.siis, or its folder."),
    data: list[Path] = typer.Argument(
        ..., metavar="NEWDATA...", help="Files with the columns of the data that the model was fitted to."
    ),
    out: Path | None = option("Output CSV file. (default: standard output)"),
    id: str | None = option("Column of the example ids. (default: as in the fit)", "COLUMN"),
    image: str | None = option("Column of images of a table. (default: the only one)", "COLUMN"),
    image_folder: Path | None = IMAGE_FOLDER,
    encoder: str | None = option("New path of the encoder. (default: its path in the fit)", "FILE.onnx"),
    tokenizer: Path | None = option("New path of its tokenizer. (default: in the folder of the encoder)", "FILE"),
    encoding: str = ENCODING,
    sheet: str | None = SHEET,
    header_row: int | None = HEADER_ROW,
    quiet: bool = flag("--quiet", "-q", help="Print predictions and errors only."),
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
        from siis.app.run import predict_file  # noqa: PLC0415  (heavy)
        from siis.saved import load_all, sound  # noqa: PLC0415
        from siis.tables import Roles  # noqa: PLC0415

        saved = load_all(model_file(model))
        roles = Roles(
            id=id,
            encoding=encoding,
            sheet=sheet,
            header_row=header_row,
            encoder=chosen_encoder(encoder, tokenizer=tokenizer),
            image=image,
            image_folder=image_folder,
        )
        with sound(model):
            return predict_file(saved, data, roles)

    with report_errors():
        from siis.tables.sheet import found_files  # noqa: PLC0415  (heavy)

        if out is not None and os.path.realpath(out) in map(
            os.path.realpath, (model, model / MODEL, *found_files(data))
        ):
            raise ValueError(f"--out must not replace {out}, which is read. Choose another name.")
        with shown_progress(quiet):
            content, notes = in_background(answers)
        for note in () if quiet else notes:
            print_line(note)
        if out is not None:
            write_file(out, content)
        elif sys.stdout is None:
            raise ValueError("standard output must be open; it is closed. Name a file with --out.")
        else:
            sys.stdout.buffer.write(content)
            sys.stdout.flush()
