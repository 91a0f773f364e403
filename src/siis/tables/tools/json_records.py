"""JSON objects on lines or in a list: exports of doccano and Prodigy, and plain ones."""

from __future__ import annotations

import tempfile
import zipfile
from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

from siis.tables.tools.argilla import is_records, read_records
from siis.tables.tools.json_fields import (
    expect_record,
    flattened,
    json_table,
    parsed,
    read_text,
    written,
    written_items,
)
from siis.tables.tools.label_studio import is_tasks, read_tasks
from siis.tables.tools.tool_file import ID, OURS, PLAIN, TEXT, Answer, RawTable, Votes
from siis.texts import plural, quoted, readable

ARCHIVE = ".zip"  # of doccano: the files of all annotators
LARGEST = 4 * 2**30  # bytes of the files in an archive, together
LINES = (".jsonl.gz", ".ndjson.gz", ".jsonl", ".ndjson")
LISTS = (".json.gz", ".json")  # the same objects in a list
LABEL, IMAGE, ANSWER, ACCEPT = "label", "image", "answer", "accept"
HASH = "_input_hash"  # of Prodigy: the same for all answers about one example
WHO = ("_annotator_id", "_session_id")
VERDICTS = ("accept", "reject", "ignore")
OWN = {LABEL, ANSWER, ACCEPT, "options", "config", "tokens", "spans", "html", "style"}  # what Prodigy itself writes
ASIDE = ("meta.", "score", "priority")
WRITTEN = "answers"
FILE_NAME = "filename"  # of an image, in doccano
JSON_MIN = {"annotator", "annotation_id"}


@dataclass(frozen=True, eq=False)
class Record:
    """A line, or an item of a list."""

    file: Path
    where: str  # file and line, for messages
    fields: dict[str, Any]  # without answers of an earlier fit

    def key(self, name: str) -> str | None:
        """A field by which answers about one example are joined."""
        value = self.fields.get(name)
        return None if value is None or isinstance(value, list | dict) else f"{type(value).__name__} {value}"


def is_json(path: Path) -> bool:
    """Whether a file holds JSON, or a folder JSON files of annotators."""
    return bool(_files(path)) if path.is_dir() else path.name.lower().endswith((*LINES, *LISTS, ARCHIVE))


def read_json(path: Path, encoding: str) -> RawTable:
    """Read a JSON file of a tool; a folder or archive holds one for each annotator, named after the file."""
    if path.is_dir() or path.name.lower().endswith(ARCHIVE):
        with tempfile.TemporaryDirectory() as folder:
            home = path if path.is_dir() else _unpacked(path, Path(folder))
            records = [record for file in _files(home) for record in _read(file, path / file.name, encoding)]
        return _examples(path, records, is_folder=True)
    if not path.name.lower().endswith(LISTS):
        return _examples(path, _read(path, path, encoding))
    value = parsed(read_text(path, encoding), str(path))
    if is_tasks(value):
        return read_tasks(path, value)
    return read_records(path, value) if is_records(value) else _examples(path, _items(path, path, value))


def _files(folder: Path) -> list[Path]:
    """The JSONL files, or else the JSON files, without those that an earlier fit has written there."""
    for suffixes in (LINES, (".json",)):
        found = {
            path.name: path
            for path in sorted(folder.iterdir())
            if path.name.lower().endswith(suffixes) and not path.name.startswith(".") and path.is_file()
        }
        if found:
            answers = {_written_name(path) for path in found.values()}
            return [path for name, path in found.items() if name not in answers]
    return []


def _written_name(path: Path) -> str:
    """The name under which an annotator's file is written again."""
    return f"{WRITTEN}.{_stem(path)}.{'json' if path.name.lower().endswith(LISTS) else 'jsonl'}"


def _stem(path: Path) -> str:
    suffix = next(suffix for suffix in (*LINES, *LISTS) if path.name.lower().endswith(suffix))
    return path.name[: -len(suffix)]


def _unpacked(path: Path, folder: Path) -> Path:
    """Unpack the JSONL or JSON files of an archive into a folder, without their own folders."""
    with readable(path, "a ZIP file", "It may be cut off: download it again."), zipfile.ZipFile(path) as archive:
        members = [one for one in archive.infolist() if one.filename.lower().endswith((*LINES, *LISTS))]
        names = {Path(one.filename).name for one in members}
        if members and len(names) == len(members) and sum(one.file_size for one in members) <= LARGEST:
            for one in members:
                (folder / Path(one.filename).name).write_bytes(archive.read(one))
            if _files(folder):
                return folder
    raise ValueError(
        f"{path}: a ZIP file must hold JSONL or JSON files of different names, at most {LARGEST / 2**30:.0f} GiB, as "
        f"doccano exports them; found {plural(len(members), 'such file')}. Export as JSONL, or unpack it."
    )


def _items(file: Path, name: Path, values: Any) -> list[Record]:
    """The objects of a list; messages call its file ``name``."""
    if not isinstance(values, list):
        problem = "must hold a list of objects, tasks of Label Studio or records of Argilla; found another thing."
        raise ValueError(f"{name}: {problem} Export it again, or write one object on each line of a JSONL file.")
    if not values:
        raise ValueError(f"{name}: is an empty list. It needs an object for each example.")
    if any(isinstance(value, dict) and value.keys() >= JSON_MIN for value in values):
        problem = "must be Label Studio's JSON; found JSON-MIN, which repeats a task for each annotation."
        raise ValueError(f"{name}: {problem} Export it as JSON.")
    places = [f"{name}, item {number:,}" for number in range(1, len(values) + 1)]
    pairs = zip(places, values, strict=True)
    return [Record(file, where, expect_record(value, where, "each item")) for where, value in pairs]


def _read(file: Path, name: Path, encoding: str) -> list[Record]:
    """The objects of a list, or on the lines of a file; messages call it ``name``."""
    text = read_text(file, encoding)
    if file.name.lower().endswith(LISTS):
        return _items(file, name, parsed(text, str(name)))
    lines = [(f"{name}, line {number:,}", line) for number, line in enumerate(text.split("\n"), start=1)]
    filled = [(where, line) for where, line in lines if line.strip()]
    if not filled:
        raise ValueError(f"{name}: is empty. It needs a JSON object on each line.")
    return [Record(file, where, expect_record(parsed(line, where), where, "each line")) for where, line in filled]


def _examples(path: Path, records: list[Record], is_folder: bool = False) -> RawTable:
    """Join the objects about each example."""
    is_prodigy = any(HASH in one.fields or one.fields.get(ANSWER) in VERDICTS for one in records)
    is_doccano = is_folder or any(isinstance(one.fields.get(LABEL), list) for one in records)
    rows = _rows(records, is_prodigy) if is_prodigy or is_folder else list(range(len(records)))
    kept: list[dict[str, Any]] = [{} for _ in range(max(rows) + 1)]
    for record, row in zip(records, rows, strict=True):
        fields = {name: value for name, value in record.fields.items() if _is_data(name, is_prodigy, is_doccano)}
        text = kept[row].get(TEXT)
        if (is_folder or HASH in fields) and text is not None and fields.get(TEXT, text) != text:
            name, there = (HASH, "line") if HASH in fields else (ID, "file")
            problem = f"lines with the same {name} must be about the same example; another {there} has another text."
            raise ValueError(f"{record.where}: {problem} Export all from one project.")
        kept[row] = {**dict(flattened(fields)), **kept[row]}
    suffix = ".json" if path.name.lower().endswith(LISTS) else ".jsonl"
    names = [_written_name(one.file) if is_folder else f"{WRITTEN}{suffix}" for one in records]
    origin = partial(_answered, records, rows, names)
    if not (is_prodigy or is_doccano):
        return json_table(PLAIN, kept, Votes(), origin, [])
    votes, tool = Votes(), "Prodigy" if is_prodigy else "doccano"
    n_skipped = sum(not is_added for is_added in _add_votes(votes, records, rows, is_prodigy, is_folder))
    notes = [f"{plural(len(records), 'line')} of {tool}"]
    notes += [f"{plural(n_skipped, 'line')} without a label, or rejected or ignored"] if n_skipped else []
    why = ", or were rejected or ignored" if is_prodigy else ""
    return json_table(
        tool,
        kept,
        votes,
        origin,
        notes,
        id_names=(HASH, ID) if is_prodigy else (ID,),
        aside=ASIDE if is_prodigy else (),
        unanswered=f"all lines ({len(records):,}) have no label{why}",
        is_project=not is_prodigy,
        contents=tuple({name: one[name] for name in (TEXT, IMAGE, FILE_NAME) if name in one} for one in kept),
    )


def _is_data(name: str, is_prodigy: bool, is_doccano: bool) -> bool:
    """Whether a field describes the example, and not an answer."""
    if is_prodigy:
        return name == HASH or not (name in OWN or name.startswith("_"))
    return not (is_doccano and name == LABEL)


def _rows(records: Sequence[Record], is_prodigy: bool) -> list[int]:
    """The example of each line, by the first key field that all lines have."""
    wanted = (HASH, TEXT, IMAGE) if is_prodigy else (ID, TEXT)
    lacking = {name: [one.where for one in records if one.key(name) is None] for name in wanted}
    if is_prodigy and lacking[HASH] and any(HASH in one.fields for one in records):
        problem = f"each line must have a number or a text as {HASH}; found none. Export it again."
        raise ValueError(f"{lacking[HASH][0]}: {problem}")
    name = next((name for name in wanted if not lacking[name]), None)
    if name is None:
        problem = "each line must have an id or a text, by which answers of several people are put together;"
        raise ValueError(f"{lacking[TEXT][0]}: {problem} found none. Export it again.")
    places: dict[tuple[str | None, int], int] = {}
    turns: dict[tuple[Path, str | None], int] = {}
    rows = []
    for one in records:
        key = one.key(name)
        turn = 0 if is_prodigy else turns.get((one.file, key), 0)  # the same text twice in a file: two examples
        turns[one.file, key] = turn + 1
        rows.append(places.setdefault((key, turn), len(places)))
    return rows


def _add_votes(
    votes: Votes, records: Sequence[Record], rows: Sequence[int], is_prodigy: bool, is_folder: bool
) -> list[bool]:
    """Add the label of each line, and return whether it has one; "not LABEL" rejects the only label of Prodigy."""
    names = {str(one.fields[LABEL]) for one in records if isinstance(one.fields.get(LABEL), str)}
    is_binary = len(names) == 1 and not any(ACCEPT in one.fields for one in records)
    is_added = []
    for record, row in zip(records, rows, strict=True):
        label = record.fields.get(LABEL)
        verdict = record.fields.get(ANSWER, "accept") if is_prodigy else None
        if is_prodigy and verdict not in VERDICTS:
            found = quoted(str(verdict))
            problem = f"answer must be {', '.join(VERDICTS)}; found {found}. Export it again."
            raise ValueError(f"{record.where}: {problem}")
        if verdict == "accept":
            label = record.fields.get(ACCEPT, label)
        elif verdict is not None:
            label = f"not {label}" if verdict == "reject" and is_binary else None
        who = next((name for key in WHO if (name := record.fields.get(key)) is not None), None)
        who = str(who) if who is not None else _stem(record.file) if is_folder else None
        is_added.append(votes.add(row, LABEL, who, label if isinstance(label, list) else [label], record.where))
    return is_added


def _answered(
    records: list[Record], rows: list[int], names: list[str], question: str | None, answers: Sequence[Answer]
) -> dict[str, bytes]:
    """Every file again, each object with one more field, for n answers. names: the file of each record."""
    found: dict[str, list[Any]] = {}
    for record, row, name in zip(records, rows, names, strict=True):
        found.setdefault(name, []).append({**record.fields, OURS: answers[row].to_plain()})
    return {
        name: written_items(items) if name.endswith(".json") else b"".join(written(one) + b"\n" for one in items)
        for name, items in found.items()
    }
