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
from siis.tables.examples import NewData
from siis.tables.features import TableEncoding
from siis.tables.ids_and_labels import ids_of
from siis.tables.images import Pixels, find_images, images_of, is_image_folder, left_out, only_column
from siis.tables.network_features import NetworkImages, NetworkTexts
from siis.tables.sheet import Sheet, found_files, joint_name, read_sheets
from siis.texts import plural

Encoder: TypeAlias = TableEncoding | Pixels | NetworkImages | Values
VERSION = 3
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

    def apply(
        self,
        path: Path | Sequence[Path],
        encoding: str = "utf-8",
        id: str | None = None,
        usual_id: str | None = None,
        page: str | None = None,
        located: EncoderChoice | None = None,
        image: str | None = None,
        image_folder: Path | None = None,
        header_row: int | None = None,
    ) -> NewData:
        """Read new examples from a file like the one that the recipe was learned from.

        ``path`` is a table, or several with the same columns; a folder of images; an NPZ or NPY file, also where the
        model was fitted to embeddings. ``usual_id`` names the column of ids where the file has it and ``id`` is left
        out. ``page`` is the sheet of an XLSX file. ``located`` is the place of the network now; if left out, where it
        was. Without ``image`` and ``image_folder``, the only column of images and the folder of the table are used.
        """
        files = found_files(path)
        path = joint_name(files)
        encoder = self.encoder
        if len(files) == 1 and not path.exists():
            raise ValueError(f"{path}: there is no such file. Check the path.")
        parts = encoder.words if isinstance(encoder, TableEncoding) else (encoder,)
        if located is not None and not any(isinstance(part, NetworkImages | NetworkTexts) for part in parts):
            raise ValueError("the model was fitted without an encoder. Leave --encoder and --tokenizer out.")
        if isinstance(encoder, Pixels | NetworkImages):
            if len(files) > 1 or not is_image_folder(path):
                sheet = read_sheets(files, encoding, page, header_row)
                images = images_of(sheet, only_column(sheet, image), image_folder)
                return _of_images(encoder, _ids(sheet, id, usual_id), images, located, sheet.notes)
            if {id, page, header_row} != {None} or encoding != "utf-8":
                options = "--id, --sheet, --header-row and --encoding"
                raise ValueError(f"{path}: images are named by their files. Leave {options} out.")
            return _of_images(encoder, *find_images(path), located)
        if image is not None or image_folder is not None:
            raise ValueError("the model was not fitted to images. Leave --image and --image-folder out.")
        if isinstance(encoder, Values):
            if {page, header_row} != {None} or encoding != "utf-8" or len(files) > 1:
                problem = "new data must be one NPZ or NPY file, which has no sheet, names of columns or encoding"
                raise ValueError(f"{path}: {problem}. Leave --sheet, --header-row and --encoding out.")
            arrays = load_arrays(path)
            X, notes = encoder.encode(matrix_of(path, arrays), str(path))
            name = id or next((name for name in (usual_id, "ids") if name in arrays), None)
            ids = ids_of(sheet_of(path, arrays, X.shape[0], [name] if name else []), name)
            return NewData(ids, X, None, None, (plural(X.shape[0], "row"), *notes))
        sheet = read_sheets(files, encoding, page, header_row)
        ids = _ids(sheet, id, usual_id)
        X, texts, notes = encoder.encode(sheet, located)
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
