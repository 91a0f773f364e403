"""Answers for files with new examples."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from siis.encode import EncoderChoice
from siis.saved import Saved
from siis.tables import Recipe, Roles
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
    """CSV with id, label and probability for a file like the fitted one, and notes on how it was read."""
    extra = saved.extra
    if "ids" not in extra:
        raise ValueError(
            "the model must come from siis fit, which knows how files become features; this one was saved in "
            "Python. Use siis.load(path).predict(X)."
        )
    if extra["recipe"] is None:
        raise ValueError(
            "the model was fitted on a ready-made graph, which does not cover new examples. Fit again with them "
            "in the graph, unlabelled."
        )
    recipe = Recipe.from_plain(extra["recipe"], extra["recipe_arrays"])
    roles = Roles(
        id=id,
        encoding=encoding,
        sheet=page,
        header_row=header_row,
        encoder=located,
        image=image,
        image_folder=image_folder,
    )
    new = recipe.apply(path, roles, extra["id_column"])
    P = saved.model.predict_proba(new.X)
    return csv_bytes(("id", "label", "probability"), answer_rows(new.ids, saved.model.classes_, P)), new.notes
