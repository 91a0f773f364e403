"""From a file to examples, labels and features."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

from siis.encode.image_files import are_photographs
from siis.tables.arrays import Values, load_arrays, load_embeddings, load_graph, matrix_of, sheet_of
from siis.tables.cell_values import as_texts, is_text
from siis.tables.choosing import LEFT_OUT, ColumnUse
from siis.tables.examples import NO_ROLES, Data, Encoded, LabelNames, Roles, Rows
from siis.tables.features import cells_of, encode_table, joined_texts
from siis.tables.ids_and_labels import (
    check_answered,
    ids_of,
    infer_roles,
    label_summary,
    labels_of,
    labels_of_folder,
    verified_of,
)
from siis.tables.images import (
    Pixels,
    embedded_images,
    find_images,
    images_of,
    is_image_folder,
    left_out,
    with_images,
)
from siis.tables.network_features import NetworkImages
from siis.tables.recipe import Recipe
from siis.tables.sheet import Sheet, found_files, joint_name, read_sheets
from siis.texts import listed, plural, quoted

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
    arrays: dict[str, Any] = {}
    if len(files) == 1 and is_image_folder(path):
        _refuse(path, "a folder of images", roles, "image image_folder features text text_only")
        _refuse(path, "a folder of images", roles, "" if roles.labels_file else "sheet header_row")
        ids, images = find_images(path)
        data = _data(ids, *labels_of_folder(path, ids, roles), images=images, annotators=roles.annotators)
    elif len(files) == 1 and path.name.lower().endswith(".npz"):
        data, arrays = _from_arrays(path, roles)
    else:
        data, roles = _from_table(files, roles)
    where = f"{path}, column {quoted(roles.label)}" if roles.label else str(path)
    labelled = label_summary(data.answers, where)  # refuses data without a label
    broken: dict[int, str] = {}
    found = _encoded(path, roles, data, arrays, broken)
    if broken and data.sheet is not None:
        raise ValueError(broken[min(broken)])
    data = replace(data, X=found.X, notes=(*data.notes, *found.notes))
    if broken:
        data = _without(data, broken)
        labelled = label_summary(data.answers, where)
    unit = "image" if data.images is not None else "row"
    return replace(
        data,
        affinity="precomputed" if found.encoder is None else "nearest_neighbors",
        recipe=None if found.encoder is None else Recipe(found.encoder),
        columns=() if data.sheet is None else _in_order(data.sheet, roles, found.uses),
        notes=(f"{plural(len(data.ids), unit)}, {found.summary}, {labelled}", *data.notes),
    )


def _in_order(sheet: Sheet, roles: Roles, uses: tuple[ColumnUse, ...]) -> tuple[ColumnUse, ...]:
    """What each column became, in the order of the file."""
    known = {use.name: use for use in uses}
    known |= {name: ColumnUse(name, "annotator") for name in roles.annotators}
    named = (("label", roles.label), ("id", roles.id), ("image", roles.image))
    known |= {name: ColumnUse(name, kind) for kind, name in named if name}
    return tuple(known.get(name, ColumnUse(name, LEFT_OUT, remark="not used")) for name in sheet.columns)


def _without(data: Data, broken: Mapping[int, str]) -> Data:
    """Leave out the images that cannot be read."""
    kept = [i for i in range(len(data.ids)) if i not in broken]
    assert data.images is not None
    return replace(
        data,
        ids=tuple(data.ids[i] for i in kept),
        labels=None if data.labels is None else data.labels[kept],
        annotations=None if data.annotations is None else data.annotations[kept],
        X=data.X[kept],
        images=tuple(data.images[i] for i in kept),
        notes=(*left_out(data.ids, broken), *data.notes),
    )


def _check_roles(roles: Roles) -> None:
    """Refuse roles that exclude each other: features come from one source, and never from the labels."""
    for name in (roles.label, *roles.annotators):
        if name is not None and name in (roles.id, *roles.texts):
            raise ValueError(
                f"a column of labels must have no other role; found {quoted(name)} as --id or --text too. Change one."
            )
    if roles.image is not None and roles.image in (roles.label, roles.id, *roles.annotators):
        problem = "a column of images must have no other role;"
        raise ValueError(f"{problem} found {quoted(roles.image)} as --image and another one. Change one.")
    if len(set(roles.texts)) < len(roles.texts):
        raise ValueError("each column of texts must be named once; one was named twice in --text. Leave one out.")
    ready = [name for name in ("embeddings", "graph") if getattr(roles, name) is not None]
    is_shown = bool(ready)  # then images and texts are only shown
    given = (
        ("features", roles.features is not None),
        *((name, True) for name in ready),
        ("text-only", roles.text_only),
        ("image", roles.image is not None and not is_shown),
        ("text", roles.image is not None and not is_shown and bool(roles.texts)),
    )
    for ways in ([name for name, is_given in given if is_given], ["encoder", *ready] if roles.encoder else []):
        if len(ways) > 1:
            options = " and ".join(f"--{name}" for name in ways)
            raise ValueError(f"examples must be compared in one way; found {options}. Leave one out.")
    if roles.text_only and not roles.texts and roles.encoder is None:
        raise ValueError("--text-only goes with columns of texts; found none. Name them with --text.")


def _refuse(path: Path, what: str, roles: Roles, names: str) -> None:
    """Refuse roles that do not go with a kind of file."""
    for name in names.split():
        value = getattr(roles, name)
        if value and value != getattr(NO_ROLES, name):
            raise ValueError(f"{path}: --{name.replace('_', '-')} does not go with {what}. Leave it out.")


def _data(ids: tuple[str, ...], answers: LabelNames, notes: Sequence[str], **more: Any) -> Data:
    labels, annotations = (answers, None) if answers.ndim == 1 else (None, answers)
    return Data(ids, labels, annotations, notes=tuple(notes), **more)


def _from_table(files: tuple[Path, ...], roles: Roles) -> tuple[Data, Roles]:
    """The examples without features, and the roles with those that are obvious."""
    _refuse(joint_name(files), "a table", roles, "labels_file")
    sheet, wished = read_sheets(files, roles), roles
    roles, question, about = infer_roles(sheet, wished)
    roles, more = with_images(sheet, roles, wished)
    named, called = roles, _called_label(sheet, roles)
    if roles.label is None and not roles.annotators and len(called) == 1:
        roles = replace(roles, label=called[0])
    check_answered(sheet, roles)
    roles = _with_texts(sheet, roles)
    answers, notes = labels_of(sheet, roles)
    about = [*sheet.notes, *about, *more]
    if named.texts != roles.texts:
        about.append(f"texts: column {quoted(roles.texts[0])}, the only one of sentences (--text names others)")
    verified = verified_of(sheet, roles, question, answers)
    if verified:
        about.append(f"{plural(len(verified), 'label')} marked as the truth: verified")
    if named.label is None and roles.label is not None:
        about.append(f"labels: column {quoted(roles.label)}, by its name (--label names another)")
    elif roles.annotators and roles.features is None and called:
        about.append(f"column {quoted(called[0])} is no annotator and is a feature; leave it out with --features")
    cells = [cells_of(sheet, name, "the text column (--text)") for name in roles.texts]
    images = None if roles.image is None else images_of(sheet, roles.image, roles.image_folder)
    shown = {roles.label, roles.id, *roles.texts, *roles.annotators, *sheet.vectors, *sheet.metadata.votes}
    data = _data(
        ids_of(sheet, roles.id),
        answers,
        [*about, *notes],
        texts=joined_texts(cells),
        images=images,
        rows=Rows.of(sheet, shown.union(() if images is None else embedded_images(sheet))),
        verified=verified,
        annotators=roles.annotators,
        written_back=None if sheet.origin is None else partial(sheet.origin, question),
        tool=sheet.metadata.tool,
        contents=sheet.metadata.contents,
        sheet=sheet,
    )
    return data, roles


def _called_label(sheet: Sheet, roles: Roles) -> list[str]:
    """Columns called "label", in any case, without a role."""
    others = {roles.id, *roles.texts, *roles.annotators, *(roles.features or ())}
    others |= sheet.metadata.votes | sheet.metadata.aside
    return [name for name in sheet.columns if name.strip().casefold() == LABEL and name not in others]


def _with_texts(sheet: Sheet, roles: Roles) -> Roles:
    """Take the only column of sentences as texts if there is an encoder and no other role for it."""
    if roles.encoder is None or roles.texts or roles.image is not None:
        return roles
    others = (roles.label, roles.id, *roles.annotators, *(roles.features or ()))
    found = []
    for name, column in sheet.columns.items():
        cells = list(filter(None, as_texts(column).to_pylist())) if name not in others and is_text(column) else []
        if len(set(cells)) > len(cells) / 2 and sum(map(len, cells)) >= PROSE * len(cells):  # sentences, not names
            found.append(name)
    if len(found) != 1:
        problem = f"an encoder needs texts; found {listed(found) if found else 'no column of sentences'}."
        raise ValueError(f"{sheet.path}: {problem} Name the columns with --text.")
    return replace(roles, text=(found[0],))


def _from_arrays(path: Path, roles: Roles) -> tuple[Data, dict[str, Any]]:
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
    return _data(ids_of(sheet, id), *labels_of(sheet, replace(roles, label=label))), arrays


def _encoded(path: Path, roles: Roles, data: Data, arrays: dict[str, Any], broken: dict[int, str]) -> Encoded:
    """Learn and compute the features; ``broken`` collects unreadable images."""
    n, sheet = len(data.ids), data.sheet
    if roles.graph is not None:
        W = load_graph(Path(roles.graph), n, path)
        return Encoded(None, W, f"a ready-made graph with {plural(W.nnz // 2, 'edge')}")
    if roles.embeddings is not None:
        X = load_embeddings(Path(roles.embeddings), n, path)
        return Values.learn(X, roles.embeddings, "embeddings of {} numbers")
    if data.images is not None and roles.encoder is not None:
        return NetworkImages.learn(roles.encoder, data.images, broken)
    if data.images is not None:
        pixels = Pixels()
        X, _ = pixels.encode(data.images, broken)
        seen = tuple(path for i, path in enumerate(data.images) if i not in broken)
        hint = (PHOTOGRAPHS,) if seen and are_photographs(seen, PHOTOGRAPH, SAMPLE) else ()
        return Encoded(pixels, X, f"made grey and {pixels.size} x {pixels.size} pixels", hint)
    if sheet is None:
        return Values.learn(matrix_of(path, arrays, "X"), path, "{} columns of numbers")
    reserved = {name for name in (roles.label, roles.id, *roles.annotators) if name is not None}
    reserved |= (sheet.metadata.votes | sheet.metadata.aside) - set(roles.texts)
    found = encode_table(sheet, roles, reserved)
    lengths = sorted(len(text) for text in data.texts or () if text)
    is_long = roles.encoder is None and bool(lengths) and lengths[len(lengths) // 2] >= LONG
    return replace(found, notes=(*found.notes, LONG_TEXTS)) if is_long else found
