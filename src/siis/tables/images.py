"""Images as grey pixels; those of a folder, and those that the columns of a table name or hold."""

from __future__ import annotations

import base64
import os
import re
import warnings
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path, PurePosixPath
from typing import Any, ClassVar
from urllib.parse import parse_qs, unquote, unquote_to_bytes, urlsplit

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from siis._types import Floats
from siis.encode.image_files import EmbeddedImage, ImageSource, UnreadableImage, image_errors, opened
from siis.plain_data import check
from siis.tables.cell_values import is_text
from siis.tables.examples import Roles
from siis.tables.sheet import Sheet, is_sheet_folder
from siis.tables.tools.huggingface import is_data_set
from siis.tables.tools.tool_file import PLAIN
from siis.texts import listed, plural, quoted

SUFFIXES = (".png", ".jpg", ".jpeg", ".gif", ".bmp", ".webp")
SIZE = 32
LARGEST_SIZE = 1024
IMAGE = "image"  # what tools call the column of images
IN_TEXT = "data:image/"  # start of an image in a cell
BYTES, PATH = "bytes", "path"  # the fields of an image of Hugging Face
STARTS = (b"\x89PNG", b"\xff\xd8\xff", b"GIF8", b"BM", b"RIFF")  # PNG, JPEG, GIF, BMP, WebP
LOCAL = "d"  # the parameter in which Label Studio names a local file


@dataclass(frozen=True, eq=False)
class Pixels:
    """Encodes images as rows of grey values in 0..1."""

    kind: ClassVar[str] = "images"
    size: int = SIZE  # width and height to which every image is resized

    def __post_init__(self) -> None:
        check(0 < self.size <= LARGEST_SIZE, f"a size of images from 1 to {LARGEST_SIZE:,}")

    @property
    def n_features(self) -> int:
        """Number of features, d."""
        return self.size * self.size

    def encode(
        self, paths: Sequence[ImageSource], broken: dict[int, str], located: Any = None
    ) -> tuple[Floats, tuple[str, ...]]:
        """Read n images, (n, size * size), without notes; ``broken`` collects the unreadable ones."""
        from PIL import Image  # noqa: PLC0415 - only needed for images

        X = np.empty((len(paths), self.n_features), dtype=np.float32)
        for i, path in enumerate(paths):
            try:
                with warnings.catch_warnings(), image_errors(str(path)), path.open("rb") as file:
                    warnings.simplefilter("ignore")  # large images and odd metadata are no concern of the user here
                    image = opened(file, "L", self.size, self.size)
                    image = image.resize((self.size, self.size), Image.Resampling.BOX)
                    X[i] = np.asarray(image, dtype=np.float32).ravel() / 255
            except UnreadableImage as problem:
                broken[i] = str(problem)
        return X, ()


def left_out(ids: Sequence[str], broken: Mapping[int, str]) -> list[str]:
    """Notes that name the images that cannot be read; refuses data without any other image."""
    if not broken:
        return []
    first = broken[min(broken)]
    if len(broken) == len(ids):
        raise ValueError(first)
    names = listed([ids[i] for i in sorted(broken)])
    return [f"{plural(len(broken), 'image')} left out, which cannot be read: {names}. {first}"]


def find_images(folder: Path) -> tuple[tuple[str, ...], tuple[Path, ...]]:
    """Ids (relative paths with forward slashes) and paths of a folder's images by name, without hidden ones."""
    found: list[str] = []
    for place, folders, files in os.walk(folder):
        folders[:] = [name for name in folders if not name.startswith((".", "__MACOSX"))]
        images = (name for name in files if name.lower().endswith(SUFFIXES) and not name.startswith("."))
        found += (Path(place, name).relative_to(folder).as_posix() for name in images)
    if not found:
        raise ValueError(f"{folder}: must hold images ({', '.join(SUFFIXES)}); found none. Check the path.")
    ids = tuple(sorted(found))
    return ids, tuple(folder / name for name in ids)


def is_image_folder(path: Path) -> bool:
    """Whether examples are the images of a folder; it may hold JSONL files as well."""
    if not path.is_dir() or not is_sheet_folder(path):
        return path.is_dir()
    names = (name for _, _, files in os.walk(path) for name in files)
    return not is_data_set(path) and any(name.lower().endswith(SUFFIXES) for name in names)


def holds_images(column: Any) -> bool:
    """Whether each cell that is not empty is an image, or the name of one."""
    if pa.types.is_struct(column.type):  # of Hugging Face, where sounds have the same fields
        first = column.drop_null()[:1].to_pylist()
        if {field.name for field in column.type} != {BYTES, PATH} or not first:
            return False
        data, path = first[0][BYTES], first[0][PATH]
        return data.startswith(STARTS) if isinstance(data, bytes) else str(path).lower().endswith(SUFFIXES)
    cells = _cells(column) if is_text(column) else iter(())
    first_cell = next(cells, None)
    return first_cell is not None and _is_image(first_cell) and all(map(_is_image, cells))


def _is_image(cell: str) -> bool:
    return cell.startswith(IN_TEXT) or _path_of(cell).lower().endswith(SUFFIXES)


def _cells(column: Any) -> Iterator[str]:
    return (text for chunk in column.chunks for cell in chunk if (text := (cell.as_py() or "").strip()))


def embedded_images(sheet: Sheet) -> list[str]:
    """Columns whose images are stored in the table itself."""
    return [name for name in _image_columns(sheet) if _is_embedded(sheet.columns[name])]


def _image_columns(sheet: Sheet) -> list[str]:
    others = sheet.metadata.aside | sheet.metadata.votes
    return [name for name, column in sheet.columns.items() if name not in others and holds_images(column)]


def _is_embedded(column: Any) -> bool:
    return not is_text(column) or bool(pc.any(pc.starts_with(column, IN_TEXT)).as_py())


def images_of(sheet: Sheet, name: str, folder: Path | None) -> tuple[ImageSource, ...]:
    """Images of rows, (n,), by whole path or by its end (tools store server paths); different names, different files.

    Without ``folder``, the folder of the table is searched.
    """
    column = sheet.column(name, "the column of images (--image)")
    if not (is_text(column) or pa.types.is_struct(column.type)):
        problem = f"a column of images must hold their names or contents; {quoted(name)} holds {column.type}."
        raise ValueError(f"{sheet.path}: {problem} Name another one with --image.")
    if folder is not None and not folder.is_dir():
        raise ValueError(f"{folder}: must be a folder of images (--image-folder); there is none. Check the path.")
    base = _folder_of(sheet) if folder is None else folder
    found: list[ImageSource] = []
    lost: list[tuple[int, str]] = []
    names: dict[Path, str] = {}
    for row, value in enumerate(column.to_pylist(), start=1):
        data, text = (value.get(BYTES), value.get(PATH)) if isinstance(value, dict) else (None, value)
        where, text = f"{sheet.path}, row {row:,}, column {quoted(name)}", (text or "").strip()
        path = None
        if data is None and text.startswith("data:"):
            data = _content(text, where)
        elif data is None:
            path = _located(text, base)
        if data is not None:
            found.append(EmbeddedImage(where, data))
        elif path is None:
            lost.append((row, text))
        else:
            found.append(path)
            if names.setdefault(path, text) != text:
                raise ValueError(
                    f"{sheet.path}: different names must be different images; {quoted(names[path])} and "
                    f"{quoted(text)} lead to {path}. Name the folder in which their paths begin with "
                    "--image-folder."
                )
    if lost:
        row, text = lost[0]
        what = f"is {quoted(text)}" if text else "is empty"
        raise ValueError(
            f"{sheet.path}, column {quoted(name)}: every row must have an image; {plural(len(lost), 'row')} of "
            f"{sheet.n:,} have none in {base}, the first is row {row:,}, which {what}. Name the folder of the files "
            "with --image-folder (addresses are not loaded: download their files), or compare by other columns with "
            "--text or --features."
        )
    return tuple(found)


def _folder_of(sheet: Sheet) -> Path:
    return sheet.path if sheet.path.is_dir() else sheet.path.parent


def _content(text: str, where: str) -> bytes:
    """The content of a data URI."""
    head, comma, body = text.partition(",")
    try:
        if not comma:
            raise ValueError
        if head.endswith(";base64"):
            return base64.b64decode(re.sub(r"\s", "", unquote(body)), validate=True)
        return unquote_to_bytes(body)
    except ValueError:
        problem = "an image in a cell must be a data URI; found another text. Export it again."
        raise ValueError(f"{where}: {problem}") from None


def _path_of(text: str) -> str:
    """The path in the name of an image: of a file, an address, or a local file of Label Studio."""
    if not ("://" in text or "?" in text):
        return text.replace("\\", "/")
    try:
        parts = urlsplit(text)
    except ValueError:  # no address, but a text with such signs
        return text
    return next(iter(parse_qs(parts.query).get(LOCAL, [])), unquote(parts.path))


def _located(text: str, base: Path) -> Path | None:
    """The file of a name: the path itself, or the longest end of it that exists in the folder."""
    path = _path_of(text)
    if not path or "\0" in path:
        return None
    if "://" not in text and Path(path).is_absolute() and _is_file(Path(path)):
        return Path(path)
    parts = [part for part in PurePosixPath(path).parts if part not in ("/", "..")]
    ends = (parts[first:] for first in range(len(parts)))
    places = (base.joinpath(*names) for end in ends for names in (end, map(unquote, end)))
    return next(filter(_is_file, places), None)


def _is_file(path: Path) -> bool:
    try:
        return path.is_file()
    except (OSError, ValueError):  # a name that is too long, or that no file can have
        return False


def with_images(sheet: Sheet, roles: Roles, wished: Roles) -> tuple[Roles, list[str]]:
    """Use the images that a labelling tool shows, unless the user has named another way to compare examples."""
    if roles.image is not None:
        return replace(roles, text=wished.text), []
    is_other = bool(wished.texts) or wished.features is not None or wished.text_only
    folder, tool = wished.image_folder, sheet.metadata.tool
    is_shown = folder is not None or (wished.embeddings is None and wished.graph is None)
    name = None if tool is None or is_other or not is_shown else _main_column(sheet)
    if name is None:
        if folder is not None:
            problem = "--image-folder goes with a column of images; found none. Name it with --image."
            raise ValueError(f"{sheet.path}: {problem}")
        return roles, []
    column = sheet.columns[name]
    is_there = folder is not None or _is_embedded(column) or _located(next(_cells(column)), _folder_of(sheet))
    if (sheet.metadata.texts or tool == PLAIN) and not is_there:
        return roles, [f"images of column {quoted(name)} not found; --image-folder names their folder"]
    note = f"images: column {quoted(name)} (--text or --features compare by other columns)"
    return replace(roles, image=name, text=wished.text), [note]


def _main_column(sheet: Sheet) -> str | None:
    """The column of images; images in the table take precedence over names of files."""
    columns = _image_columns(sheet)
    wanted = embedded_images(sheet) or [name for name in columns if name == IMAGE] or columns
    if len(wanted) > 1:
        raise ValueError(
            f"{sheet.path}: one column of images must be chosen; found {len(wanted)}: {listed(wanted)}. Name it "
            "with --image, or compare by other columns with --text or --features."
        )
    return wanted[0] if wanted else None


def only_column(sheet: Sheet, name: str | None) -> str:
    """The column of images that a fitted model needs: the user's, or the only one."""
    found = name if name is not None else _main_column(sheet)
    if found is None:
        problem = "the model was fitted to images; found no column of them."
        raise ValueError(f"{sheet.path}: {problem} Name it with --image, or give a folder of images.")
    return found
