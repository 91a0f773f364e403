"""From a file to examples, labels and features."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

from siis._types import Features
from siis.encode.image_files import ImageSource, are_photographs
from siis.tables.arrays import Values, load_arrays, load_embeddings, load_graph, matrix_of, sheet_of
from siis.tables.cell_values import as_texts, is_text
from siis.tables.column_uses import LEFT_OUT, ColumnUse
from siis.tables.examples import Data, LabelNames, Roles
from siis.tables.features import cells_of, encode_table, shown_texts
from siis.tables.folder import read_folder
from siis.tables.ids_and_labels import ids_of, label_summary, labels_of
from siis.tables.image_columns import image_columns, images_of, is_inside, with_images
from siis.tables.many_files import found_files, joint_name, read_sheets
from siis.tables.network_features import NetworkImages
from siis.tables.pixels import Pixels, left_out
from siis.tables.recipe import Recipe
from siis.tables.row_cells import rows_of
from siis.tables.sheet import Sheet, is_table
from siis.tables.tool_roles import check_answered, infer_roles, verified_of
from siis.texts import listed, plural, quoted


@dataclass(frozen=True, eq=False)
class _Examples:
    """What a file holds besides features, and the source of the features."""

    ids: tuple[str, ...]
    labels: LabelNames | None
    annotations: LabelNames | None
    texts: tuple[str, ...] | None
    images: tuple[ImageSource, ...] | None
    source: Any  # a Sheet, the arrays of an NPZ file, or None for images
    notes: Sequence[str]
    verified: dict[int, str] = field(default_factory=dict)
    question: str | None = None

    def without(self, broken: Mapping[int, str]) -> _Examples:
        """Leave out the images that cannot be read."""
        kept = [i for i in range(len(self.ids)) if i not in broken]
        assert self.images is not None
        return replace(
            self,
            ids=tuple(self.ids[i] for i in kept),
            labels=None if self.labels is None else self.labels[kept],
            annotations=None if self.annotations is None else self.annotations[kept],
            images=tuple(self.images[i] for i in kept),
            notes=(*left_out(self.ids, broken), *self.notes),
        )


NO_ROLES = Roles()
LABEL = "label"  # default name of the column of labels
PHOTOGRAPH = 96  # pixels of the shorter side
SAMPLE = 50  # images that are looked at
PHOTOGRAPHS = (
    "photographs are compared by their grey pixels only; features of a pretrained network usually separate them "
    "better: --encoder FILE.onnx"
)
LONG = 100  # letters of a text
LONG_TEXTS = (
    "long texts are compared by their words only; features of a pretrained network may separate them better: "
    "--encoder FILE.onnx"
)
PROSE = 20  # mean letters of a column that is taken for texts


def read(path: Path | Sequence[Path], roles: Roles) -> Data:
    """Read examples, their given labels and their features.

    The suffix gives the format: CSV and TSV (also with .gz), JSON and JSONL as labelling tools write them, XLSX,
    Parquet, Arrow/Feather, NPZ; or a folder of images, of JSONL files, one for each annotator (also as ZIP), or of
    a data set of Hugging Face. Several tables with the same columns are read as one; * and ? are wildcards.
    """
    files = found_files(path)
    path = joint_name(files)
    _check_roles(roles)
    if len(files) > 1:
        examples, roles = _from_table(files, roles)
    elif path.is_dir() and not is_table(path):
        examples = _from_folder(path, roles)
    elif not path.exists():
        raise ValueError(f"{path}: there is no such file. Check the path.")
    elif path.name.lower().endswith(".npz"):
        examples = _from_arrays(path, roles)
    else:
        examples, roles = _from_table(files, roles)
    where = f"{path}, column {quoted(roles.label)}" if roles.label else str(path)
    label_summary(examples.labels, examples.annotations, where)  # refuses data without a label
    broken: dict[int, str] = {}
    X, recipe, features, notes, uses = _features(path, roles, examples, broken)
    if broken and isinstance(examples.source, Sheet):
        raise ValueError(broken[min(broken)])
    if broken:
        examples, X = examples.without(broken), np.delete(X, list(broken), axis=0)
    labelled = label_summary(examples.labels, examples.annotations, where)
    unit = "image" if examples.images is not None else "row"
    data = Data(
        ids=examples.ids,
        labels=examples.labels,
        annotations=examples.annotations,
        X=X,
        affinity="nearest_neighbors" if recipe else "precomputed",
        texts=examples.texts,
        images=examples.images,
        recipe=recipe,
        notes=(f"{plural(len(examples.ids), unit)}, {features}, {labelled}", *examples.notes, *notes),
        verified=examples.verified,
        annotators=roles.annotators,
    )
    return (
        _with_sheet(data, examples.source, roles, examples.question, uses)
        if isinstance(examples.source, Sheet)
        else data
    )


def _with_sheet(data: Data, sheet: Sheet, roles: Roles, question: str | None, uses: tuple[ColumnUse, ...]) -> Data:
    """Add what only a table has."""
    shown = {roles.label, roles.id, *roles.texts, *roles.annotators, *sheet.vectors, *sheet.metadata.votes}
    if data.images is not None:
        shown |= {name for name in image_columns(sheet) if is_inside(sheet.columns[name])}
    return replace(
        data,
        rows=rows_of(sheet, shown),
        columns=_in_order(sheet, roles, uses),
        written_back=None if sheet.origin is None else partial(sheet.origin.answered, question=question),
        tool=sheet.metadata.tool,
        contents=sheet.metadata.contents,
        sheet=sheet,
    )


def _in_order(sheet: Sheet, roles: Roles, uses: tuple[ColumnUse, ...]) -> tuple[ColumnUse, ...]:
    """What each column became, in the order of the file."""
    known = {use.name: use for use in uses}
    known |= {name: ColumnUse(name, "annotator") for name in roles.annotators}
    named = (("label", roles.label), ("id", roles.id), ("image", roles.image))
    known |= {name: ColumnUse(name, kind) for kind, name in named if name}
    return tuple(known.get(name, ColumnUse(name, LEFT_OUT, remark="not used")) for name in sheet.columns)


def _check_roles(roles: Roles) -> None:
    """Refuse roles that exclude each other: features come from one source, and never from the labels."""
    for name in (roles.label, *roles.annotators):
        if name is not None and name in (roles.id, *roles.texts):
            raise ValueError(
                f"a column of labels must have no other role; found {quoted(name)} as --id or --text too. Change one."
            )
    if roles.image is not None and roles.image in (roles.label, roles.id, *roles.annotators):
        raise ValueError(
            f"a column of images must have no other role; found {quoted(roles.image)} as --image and another one. "
            "Change one."
        )
    if len(set(roles.texts)) < len(roles.texts):
        raise ValueError("each column of texts must be named once; one was named twice in --text. Leave one out.")
    ready = [name for name in ("embeddings", "graph") if getattr(roles, name) is not None]
    ways = [
        *(["features"] if roles.features is not None else []),
        *ready,
        *(["text-only"] if roles.text_only else []),
    ]
    if roles.image is not None and not ready:  # with these, images and texts are only shown
        ways += ["image", *(["text"] if roles.texts else [])]
    for found in (ways, ["encoder", *ready] if roles.encoder is not None else []):
        if len(found) > 1:
            options = " and ".join(f"--{name}" for name in found)
            raise ValueError(f"examples must be compared in one way; found {options}. Leave one out.")
    if roles.text_only and not roles.texts and roles.encoder is None:
        raise ValueError("--text-only goes with columns of texts; found none. Name them with --text.")


def _refuse(path: Path, what: str, roles: Roles, names: str) -> None:
    """Refuse roles that do not go with a kind of file."""
    for name in names.split():
        value = getattr(roles, name)
        if value and value != getattr(NO_ROLES, name):
            raise ValueError(f"{path}: --{name.replace('_', '-')} does not go with {what}. Leave it out.")


def _from_table(files: tuple[Path, ...], roles: Roles) -> tuple[_Examples, Roles]:
    """The examples, and the roles with the column of labels if that is obvious."""
    _refuse(joint_name(files), "a table", roles, "labels_file")
    sheet, wished = read_sheets(files, roles.encoding, roles.sheet, roles.header_row), roles
    roles, question, about = infer_roles(sheet, wished)
    roles, more = with_images(sheet, roles, wished)
    about += more
    named, called = roles, _called_label(sheet, roles)
    if roles.label is None and not roles.annotators and len(called) == 1:
        roles = replace(roles, label=called[0])
    check_answered(sheet, roles)
    roles = _with_texts(sheet, roles)
    labels, annotations, notes = labels_of(sheet, roles)
    if named.texts != roles.texts:
        about.append(f"texts: column {quoted(roles.texts[0])}, the only one of sentences (--text names others)")
    verified = verified_of(sheet, roles, question, labels, annotations)
    if verified:
        about.append(f"{plural(len(verified), 'label')} marked as the truth: verified")
    if named.label is None and roles.label is not None:
        about.append(f"labels: column {quoted(roles.label)}, by its name (--label names another)")
    elif roles.annotators and roles.features is None and (called := _called_label(sheet, roles)):
        about.append(f"column {quoted(called[0])} is no annotator and is a feature; leave it out with --features")
    cells = [cells_of(sheet, name, "the text column (--text)") for name in roles.texts]
    texts = shown_texts(cells) if cells else None
    images = None if roles.image is None else images_of(sheet, roles.image, roles.image_folder)
    about = [*sheet.notes, *about, *notes]
    return _Examples(
        ids_of(sheet, roles.id), labels, annotations, texts, images, sheet, about, verified, question
    ), roles


def _with_texts(sheet: Sheet, roles: Roles) -> Roles:
    """Take the only column of sentences as texts if there is an encoder and no other role for it."""
    if roles.encoder is None or roles.texts or roles.image is not None:
        return roles
    others = (roles.label, roles.id, *roles.annotators, *(roles.features or ()))
    found = [name for name, column in sheet.columns.items() if name not in others and _is_prose(column)]
    if len(found) != 1:
        raise ValueError(
            f"{sheet.path}: an encoder needs texts; found {listed(found) if found else 'no column of sentences'}. "
            "Name the columns with --text."
        )
    return replace(roles, text=(found[0],))


def _is_prose(column: Any) -> bool:
    """Whether texts nearly all differ and are longer than names."""
    if not is_text(column):
        return False
    cells = [cell for cell in as_texts(column).to_pylist() if cell]
    return bool(cells) and len(set(cells)) > len(cells) / 2 and sum(map(len, cells)) >= PROSE * len(cells)


def _called_label(sheet: Sheet, roles: Roles) -> list[str]:
    """Columns called "label", in any case, without a role."""
    aside = (*sheet.metadata.votes, *sheet.metadata.aside)
    others = (roles.id, *roles.texts, *roles.annotators, *(roles.features or ()), *aside)
    return [name for name in sheet.columns if name.strip().casefold() == LABEL and name not in others]


def _from_arrays(path: Path, roles: Roles) -> _Examples:
    alien = "image image_folder encoder features text text_only annotators labels_file encoding sheet header_row"
    _refuse(path, "an NPZ file", roles, alien)
    arrays = load_arrays(path)
    label = roles.label or "y"
    id = roles.id or ("ids" if "ids" in arrays else None)
    n = next((len(arrays[name]) for name in ("X", label) if name in arrays and arrays[name].ndim), 0)
    if n == 0:
        raise ValueError(
            f"{path}: must hold arrays X and {quoted(label)} with at least one example; found "
            f"{', '.join(quoted(name) for name in arrays) or 'none'}. Write it with numpy.savez(file, X=..., y=...)."
        )
    sheet = sheet_of(path, arrays, n, [label] + ([id] if id else []))
    labels, _, notes = labels_of(sheet, replace(roles, label=label))
    return _Examples(ids_of(sheet, id), labels, None, None, None, arrays, notes)


def _from_folder(path: Path, roles: Roles) -> _Examples:
    _refuse(path, "a folder of images", roles, "image image_folder features text text_only")
    if roles.labels_file is None:
        _refuse(path, "a folder of images", roles, "sheet header_row")
    ids, images, labels, annotations, notes = read_folder(path, roles)
    return _Examples(ids, labels, annotations, None, images, None, notes)


def _features(
    path: Path, roles: Roles, examples: _Examples, broken: dict[int, str]
) -> tuple[Features, Recipe | None, str, tuple[str, ...], tuple[ColumnUse, ...]]:
    """Features, recipe, summary, notes, and uses of columns; ``broken`` collects unreadable images."""
    n = len(examples.ids)
    if roles.graph is not None:
        W = load_graph(Path(roles.graph), n, path)
        return W, None, f"a ready-made graph with {plural(W.nnz // 2, 'edge')}", (), ()
    if roles.embeddings is not None:
        X = load_embeddings(Path(roles.embeddings), n, path)
        return *_valued(X, roles.embeddings, "embeddings of {} numbers"), ()
    if examples.images is not None:
        return *_of_images(examples.images, roles, broken), ()
    if isinstance(examples.source, Sheet):
        reserved = {name for name in (roles.label, roles.id, *roles.annotators) if name is not None}
        metadata = examples.source.metadata
        reserved |= {*metadata.votes, *metadata.aside} - set(roles.texts)
        found = encode_table(examples.source, roles.features, roles.texts, roles.text_only, reserved, roles.encoder)
        notes = (*found.notes, *_hint(examples.texts)) if roles.encoder is None else found.notes
        return found.X, Recipe(found.encoder), found.summary, notes, found.uses
    return *_valued(matrix_of(path, examples.source, "X"), path, "{} columns of numbers"), ()


def _of_images(
    images: tuple[ImageSource, ...], roles: Roles, broken: dict[int, str]
) -> tuple[Features, Recipe, str, tuple[str, ...]]:
    if roles.encoder is not None:
        network, X, summary, notes = NetworkImages.learn(roles.encoder, images, broken)
        return X, Recipe(network), summary, notes
    pixels = Pixels()
    X, _ = pixels.encode(images, broken)
    seen = tuple(path for i, path in enumerate(images) if i not in broken)
    hint = (PHOTOGRAPHS,) if seen and are_photographs(seen, PHOTOGRAPH, SAMPLE) else ()
    return X, Recipe(pixels), f"made grey and {pixels.size} x {pixels.size} pixels", hint


def _hint(texts: tuple[str, ...] | None) -> tuple[str, ...]:
    lengths = sorted(len(text) for text in texts or () if text)
    return (LONG_TEXTS,) if lengths and lengths[len(lengths) // 2] >= LONG else ()


def _valued(X: Any, path: Path, summary: str) -> tuple[Features, Recipe, str, tuple[str, ...]]:
    values = Values.learn(X)
    X, notes = values.encode(X, str(path))
    return X, Recipe(values), summary.format(f"{X.shape[1]:,}"), tuple(notes)
