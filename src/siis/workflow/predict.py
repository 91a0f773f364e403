"""Answers for files with new examples."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from siis.encode import EncoderChoice
from siis.saved import Saved
from siis.tables import Recipe
from siis.workflow.options import said_in_options
from siis.workflow.outputs import answer_rows, csv_bytes


def predict_file(
    saved: Saved,
    path: Path | Sequence[Path],
    encoding: str = "utf-8",
    id: str | None = None,
    page: str | None = None,
    located: EncoderChoice | None = None,
    image: str | None = None,
    image_folder: Path | None = None,
    header_row: int | None = None,
) -> tuple[bytes, tuple[str, ...]]:
    """Classify the examples of a file.

    Parameters
    ----------
    saved : Saved
        A model that ``siis fit`` has written.
    path : Path, or sequence of Path
        A file, or several, like the one that it was fitted to; labels are not needed.
    encoding : str
    id : str, optional
        Column of ids. If left out: the one of the fit, where the file has it, else row numbers.
    page : str, optional
        The sheet of an XLSX file; the first unless said.
    located : EncoderChoice, optional
        Where the encoder is now that it was fitted with.
    image : str, optional
        Column of pictures of a table; the only one unless said.
    image_folder : Path, optional
        Folder of the files that it names; that of the table unless said.
    header_row : int, optional
        Row of the names of columns in a text file or a sheet, from 1; found unless said.

    Returns
    -------
    content : bytes
        CSV with id, label and probability.
    notes : tuple of str
        What was understood.
    """
    extra = saved.extra
    if "ids" not in extra:
        raise ValueError(
            "the model must come from siis fit, which knows how files become features; this one was saved in "
            "Python. Use siis.load(path).predict(X)."
        )
    if extra["recipe"] is None:
        raise ValueError(
            "the model was fitted on a ready-made graph, which says nothing about new examples. Fit again with them "
            "in the graph, unlabelled."
        )
    recipe = Recipe.from_plain(extra["recipe"], extra["recipe_arrays"])
    new = recipe.apply(path, encoding, id, extra["id_column"], page, located, image, image_folder, header_row)
    with said_in_options():
        P = saved.model.predict_proba(new.X)
    return csv_bytes(("id", "label", "probability"), answer_rows(new.ids, saved.model.classes_, P)), new.notes
