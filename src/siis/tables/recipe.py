"""The recipe from files to features, learned once and stored as plain data."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeAlias

from siis.encode import EncoderChoice
from siis.encode.image_files import ImageSource
from siis.plain_data import from_plain, to_plain
from siis.tables.arrays import Values, load_arrays, matrix_of, sheet_of
from siis.tables.examples import NO_ROLES, NewData, Roles
from siis.tables.features import TableEncoding
from siis.tables.ids_and_labels import ids_of
from siis.tables.images import Pixels, find_images, images_of, is_image_folder, left_out, only_column
from siis.tables.network_features import NetworkImages, NetworkTexts
from siis.tables.sheet import Sheet, found_files, joint_name, read_sheets
from siis.texts import plural

Encoder: TypeAlias = TableEncoding | Pixels | NetworkImages | Values
VERSION = 4
DAMAGED = "The model file is damaged or was not written by this version of siis: fit and save the model again."


@dataclass(frozen=True, eq=False)
class Recipe:
    """What turns a file into features."""

    encoder: Encoder

    def to_plain(self) -> tuple[dict[str, Any], dict[str, Any]]:
        """Give the recipe as settings for JSON, and arrays by name."""
        settings, arrays = to_plain(self.encoder)
        return {"version": VERSION, **settings}, arrays

    @classmethod
    def from_plain(cls, settings: Any, arrays: Any) -> Recipe:
        """Rebuild a recipe; refuse anything else, since the file may be damaged or hostile."""
        try:
            if type(settings) is not dict or settings.get("version") != VERSION:
                raise ValueError(f"must have version {VERSION}")
            rest = {name: value for name, value in settings.items() if name != "version"}
            return cls(from_plain(Encoder, rest, arrays))
        except (ValueError, OverflowError) as problem:
            raise ValueError(f"the stored recipe is not valid: {problem}. {DAMAGED}") from None

    def apply(self, path: Path | Sequence[Path], roles: Roles = NO_ROLES, usual_id: str | None = None) -> NewData:
        """Read new examples from a file like the one that the recipe was learned from.

        ``path`` is a table, or several with the same columns; a folder of images; an NPZ or NPY file, also where the
        model was fitted to embeddings. ``roles`` may name the ids, images and the place of the encoder now, and how
        to read the file; ``usual_id`` names the column of ids where the file has it and ``roles`` names none.
        """
        files = found_files(path)
        path = joint_name(files)
        encoder = self.encoder
        is_parsed = roles.sheet is not None or roles.header_row is not None or roles.encoding != "utf-8"
        parts = encoder.words if isinstance(encoder, TableEncoding) else (encoder,)
        if roles.encoder is not None and not any(isinstance(part, NetworkImages | NetworkTexts) for part in parts):
            raise ValueError("the model was fitted without an encoder. Leave --encoder and --tokenizer out.")
        if isinstance(encoder, Pixels | NetworkImages):
            if len(files) > 1 or not is_image_folder(path):
                sheet = read_sheets(files, roles)
                images = images_of(sheet, only_column(sheet, roles.image), roles.image_folder)
                return _of_images(encoder, _ids(sheet, roles.id, usual_id), images, roles.encoder, sheet.notes)
            if roles.id is not None or is_parsed:
                options = "--id, --sheet, --header-row and --encoding"
                raise ValueError(f"{path}: images are named by their files. Leave {options} out.")
            return _of_images(encoder, *find_images(path), roles.encoder)
        if roles.image is not None or roles.image_folder is not None:
            raise ValueError("the model was not fitted to images. Leave --image and --image-folder out.")
        if isinstance(encoder, Values):
            if is_parsed or len(files) > 1:
                problem = "new data must be one NPZ or NPY file, which has no sheet, names of columns or encoding"
                raise ValueError(f"{path}: {problem}. Leave --sheet, --header-row and --encoding out.")
            arrays = load_arrays(path)
            X, notes = encoder.encode(matrix_of(path, arrays), str(path))
            name = roles.id or next((name for name in (usual_id, "ids") if name in arrays), None)
            ids = ids_of(sheet_of(path, arrays, X.shape[0], [name] if name else []), name)
            return NewData(ids, X, None, None, (plural(X.shape[0], "row"), *notes))
        sheet = read_sheets(files, roles)
        ids = _ids(sheet, roles.id, usual_id)
        X, texts, notes = encoder.encode(sheet, roles.encoder)
        return NewData(ids, X, texts, None, (plural(sheet.n, "row"), *sheet.notes, *notes))


def _ids(sheet: Sheet, name: str | None, usual: str | None) -> tuple[str, ...]:
    return ids_of(sheet, name or (usual if usual in sheet.columns else sheet.metadata.id))


def _of_images(
    encoder: Pixels | NetworkImages,
    ids: tuple[str, ...],
    images: tuple[ImageSource, ...],
    located: EncoderChoice | None,
    about: Sequence[str] = (),
) -> NewData:
    """Encode images; those that cannot be read are left out and named."""
    broken: dict[int, str] = {}
    X, notes = encoder.encode(images, broken, located)
    lost = left_out(ids, broken)
    kept = [i for i in range(len(ids)) if i not in broken]
    ids, images = tuple(ids[i] for i in kept), tuple(images[i] for i in kept)
    return NewData(ids, X[kept], None, images, (plural(len(ids), "image"), *about, *lost, *notes))
