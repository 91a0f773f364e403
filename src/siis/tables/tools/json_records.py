"""JSON objects on lines or in a list: exports of doccano and Prodigy, and plain ones."""

from __future__ import annotations

import tempfile
import zipfile
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from siis.tables.tools.argilla import is_records, read_records
from siis.tables.tools.json_fields import (
    check_id,
    expect,
    flattened,
    label_text,
    parsed,
    read_text,
    tool_file,
    without_ours,
    written,
    written_items,
)
from siis.tables.tools.label_studio import is_tasks, read_tasks
from siis.tables.tools.tool_file import ID, OURS, PLAIN, TEXT, Answer, ToolFile, Vote
from siis.texts import plural, quoted, readable

ARCHIVE = ".zip"  # of doccano: the files of all annotators
LARGEST = 4 * 2**30  # bytes of the files in an archive, together
LINES = (".jsonl", ".ndjson", ".jsonl.gz", ".ndjson.gz")
LABEL, IMAGE, ANSWER, ACCEPT = "label", "image", "answer", "accept"
HASH = "_input_hash"  # of Prodigy: the same for all answers about one example
WHO = ("_annotator_id", "_session_id")
VERDICTS = ("accept", "reject", "ignore")
OWN = {LABEL, ANSWER, ACCEPT, "options", "config", "tokens", "spans", "html", "style"}  # what Prodigy itself writes
ASIDE = ("meta.", "score", "priority")
WRITTEN = "answers"
FILE_NAME = "filename"  # of an image, in doccano
JSON = (".json", ".json.gz")
LISTS = (".json",)  # the same objects in a list
JSON_MIN = {"annotator", "annotation_id"}


@dataclass(frozen=True, eq=False)
class Record:
    """A line."""

    file: str  # name of its file
    where: str  # file and line, for messages
    fields: dict[str, Any]  # without answers of an earlier fit


@dataclass(frozen=True, eq=False)
class Lines:
    """The lines, as they were read."""

    records: list[Record]
    rows: list[int]  # the example of each record
    names: dict[str, str]  # under which each file is written again

    def answered(self, answers: Sequence[Answer], question: str | None) -> dict[str, bytes]:
        """Write every file again, each line with one more field, for n answers."""
        lines: dict[str, list[Any]] = {name: [] for name in self.names.values()}
        for record, row in zip(self.records, self.rows, strict=True):
            lines[self.names[record.file]].append({**record.fields, OURS: answers[row].to_plain()})
        return {
            name: b"".join(written(one) + b"\n" for one in found) if name.endswith(".jsonl") else written_items(found)
            for name, found in lines.items()
        }


def is_folder_of_lines(folder: Path) -> bool:
    """Whether a folder holds JSONL files, one for each annotator."""
    return folder.is_dir() and bool(_files(folder))


def _files(folder: Path) -> list[Path]:
    """The JSONL files, or else the JSON files, without those that an earlier fit has written there."""
    for suffixes in (LINES, LISTS):
        found = {
            path.name: path
            for path in sorted(folder.iterdir())
            if path.name.lower().endswith(suffixes) and not path.name.startswith(".") and path.is_file()
        }
        if found:
            written = {_written_name(name) for name in found}
            return [path for name, path in found.items() if name not in written]
    return []


def _written_name(name: str) -> str:
    """The name under which an annotator's file is written again."""
    return f"{WRITTEN}.{_stem(name)}{LISTS[0] if name.lower().endswith(LISTS) else LINES[0]}"


def read_lines(path: Path, encoding: str) -> ToolFile:
    """Read a JSONL file, or a folder or archive with one for each annotator, named after the file."""
    if path.name.lower().endswith(ARCHIVE):
        with tempfile.TemporaryDirectory() as folder:
            _unpack(path, Path(folder))
            return _read_folder(path, Path(folder), encoding)
    if path.is_dir():
        return _read_folder(path, path, encoding)
    return examples_of(path, _records(path, path, encoding), {path.name: f"{WRITTEN}.jsonl"})


def _read_folder(path: Path, folder: Path, encoding: str) -> ToolFile:
    """Read the files of a folder; messages name them by the path that the user gave."""
    files = _files(folder)
    names = {file.name: _written_name(file.name) for file in files}
    records = [record for file in files for record in _records(file, path / file.name, encoding)]
    return examples_of(path, records, names, is_folder=True)


def _unpack(path: Path, folder: Path) -> None:
    """Unpack the JSONL or JSON files of an archive, without their folders."""
    with readable(path, "a ZIP file", "It may be cut off: download it again."), zipfile.ZipFile(path) as archive:
        members = [one for one in archive.infolist() if one.filename.lower().endswith((*LINES, *LISTS))]
        size = sum(one.file_size for one in members)
        names = {Path(one.filename).name for one in members}
        if members and len(names) == len(members) and size <= LARGEST:
            for one in members:
                (folder / Path(one.filename).name).write_bytes(archive.read(one))
            return
    raise ValueError(
        f"{path}: a ZIP file must hold JSONL or JSON files of different names, at most {LARGEST / 2**30:.0f} GiB, as "
        f"doccano exports them; found {plural(len(members), 'such file')}. Export as JSONL, or unpack it."
    )


def _stem(name: str) -> str:
    suffixes = sorted((*LINES, *LISTS), key=len, reverse=True)
    suffix = next(suffix for suffix in suffixes if name.lower().endswith(suffix))
    return name[: -len(suffix)]


def _records(path: Path, called: Path, encoding: str) -> list[Record]:
    if path.name.lower().endswith(LISTS):
        return _items(called, parsed(read_text(path, encoding), str(called)))
    found = []
    for number, line in enumerate(read_text(path, encoding).split("\n"), start=1):
        if line.strip():
            where = f"{called}, line {number:,}"
            found.append(
                Record(path.name, where, without_ours(expect(parsed(line, where), dict, where, "each line"), where))
            )
    if not found:
        raise ValueError(f"{called}: is empty. It needs a JSON object on each line.")
    return found


def read_json(path: Path, encoding: str) -> ToolFile:
    """Read tasks of Label Studio, records of Argilla, or a list of plain objects."""
    value = parsed(read_text(path, encoding), str(path))
    if is_tasks(value):
        return read_tasks(path, value)
    if is_records(value):
        return read_records(path, value)
    if isinstance(value, list):
        return examples_of(path, _items(path, value), {path.name: f"{WRITTEN}.json"})
    raise ValueError(
        f"{path}: must hold tasks of Label Studio, records of Argilla, or a list of objects; found "
        "none of them. Export it again, or write one object on each line of a JSONL file."
    )


def _items(path: Path, found: Any) -> list[Record]:
    if not isinstance(found, list):
        raise ValueError(f"{path}: must hold a list of objects; found something else. Export it again.")
    records = []
    for number, value in enumerate(found, start=1):
        where = f"{path}, item {number:,}"
        fields = without_ours(expect(value, dict, where, "each item"), where)
        if set(fields) >= JSON_MIN:
            raise ValueError(
                f"{path}: must be Label Studio's JSON; found JSON-MIN, which repeats a task for each annotation. "
                "Export it as JSON."
            )
        records.append(Record(path.name, where, fields))
    if not records:
        raise ValueError(f"{path}: is an empty list. It needs an object for each example.")
    return records


def examples_of(path: Path, records: list[Record], names: dict[str, str], is_folder: bool = False) -> ToolFile:
    """Join the lines about each example. names: the name under which each file is written again."""
    is_prodigy = any(HASH in one.fields or one.fields.get(ANSWER) in VERDICTS for one in records)
    is_doccano = is_folder or any(isinstance(one.fields.get(LABEL), list) for one in records)
    tool = "Prodigy" if is_prodigy else "doccano" if is_doccano else PLAIN
    is_joined = is_prodigy or is_folder
    _check_names(records, is_prodigy)
    rows = _rows(records, is_prodigy) if is_joined else list(range(len(records)))
    n = max(rows) + 1
    kept: list[dict[str, Any]] = [{} for _ in range(n)]
    for record, row in zip(records, rows, strict=True):
        fields = {name: value for name, value in record.fields.items() if _is_data(name, is_prodigy, is_doccano)}
        text = kept[row].get(TEXT)
        if (is_folder or HASH in fields) and text is not None and fields.get(TEXT, text) != text:
            name, there = (HASH, "line") if HASH in fields else (ID, "file")
            raise ValueError(
                f"{record.where}: lines with the same {name} must be about the same example; another {there} has "
                "another text. Export all from one project."
            )
        kept[row] = {**dict(flattened(fields)), **kept[row]}
    origin = Lines(records, rows, names)
    if tool == PLAIN:
        return tool_file(tool, kept, [], origin, [])
    votes, refused, n_skipped = _votes(records, rows, is_prodigy, is_folder)
    notes = [f"{plural(len(records), 'line')} of {tool}"]
    notes += [f"{plural(n_skipped, 'line')} without a label, or rejected or ignored"] if n_skipped else []
    why = ", or were rejected or ignored" if is_prodigy else ""
    return tool_file(
        tool,
        kept,
        votes,
        origin,
        notes,
        id_names=(HASH, ID) if is_prodigy else (ID,),
        aside=ASIDE if is_prodigy else (),
        unanswered=f"all lines ({len(records):,}) have no label{why}",
        refused=refused,
        is_project=not is_prodigy,
        contents=tuple({name: one[name] for name in (TEXT, IMAGE, FILE_NAME) if name in one} for one in kept),
    )


def _check_names(records: Sequence[Record], is_prodigy: bool) -> None:
    """Refuse ids that are lists or objects, and lines without Prodigy's hash where others have it."""
    is_hashed = is_prodigy and any(HASH in one.fields for one in records)
    for one in records:
        check_id(one.fields, one.where)
        if is_hashed and _key(one, HASH) is None:
            raise ValueError(
                f"{one.where}: each line must have a number or a text as {HASH}; found none. Export it again."
            )


def _is_data(name: str, is_prodigy: bool, is_doccano: bool) -> bool:
    """Whether a field describes the example, and not an answer."""
    if is_prodigy:
        return name == HASH or not (name in OWN or name.startswith("_"))
    return not (is_doccano and name == LABEL)


def _rows(records: Sequence[Record], is_prodigy: bool) -> list[int]:
    """The example of each line, by the first key field that all lines have."""
    wanted = (HASH, TEXT, IMAGE) if is_prodigy else (ID, TEXT)
    name = next((name for name in wanted if all(_key(one, name) is not None for one in records)), None)
    if name is None:
        one = next(one for one in records if _key(one, TEXT) is None)
        raise ValueError(
            f"{one.where}: each line must have an id or a text, by which answers of several people are put together; "
            "found none. Export it again."
        )
    places: dict[tuple[str, int], int] = {}
    turns: dict[tuple[str, str], int] = {}
    rows = []
    for one in records:
        key = str(_key(one, name))
        turn = 0 if is_prodigy else turns.get((one.file, key), 0)  # the same text twice in a file: two examples
        turns[one.file, key] = turn + 1
        rows.append(places.setdefault((key, turn), len(places)))
    return rows


def _key(record: Record, name: str) -> str | None:
    value = record.fields.get(name)
    return None if value is None or isinstance(value, list | dict) else f"{type(value).__name__} {value}"


def _votes(
    records: Sequence[Record], rows: Sequence[int], is_prodigy: bool, is_folder: bool
) -> tuple[list[Vote], dict[str, str], int]:
    """The answers, why they cannot be used, and the number of lines without one."""
    names = {str(one.fields[LABEL]) for one in records if isinstance(one.fields.get(LABEL), str)}
    is_binary = is_prodigy and len(names) == 1 and not any(ACCEPT in one.fields for one in records)
    votes, refused = [], {}
    for record, row in zip(records, rows, strict=True):
        labels = _prodigy_labels(record, is_binary) if is_prodigy else record.fields.get(LABEL)
        labels = labels if isinstance(labels, list) else [labels]
        if any(isinstance(label, list | dict) for label in labels):
            refused[LABEL] = (
                f"{record.where}: a label must be a name or a number; found a part of the text or an object. Export "
                "labels of whole examples."
            )
            break
        texts = list(dict.fromkeys(text for label in labels if (text := label_text(label)) is not None))
        if len(texts) > 1:
            refused[LABEL] = (
                f"{record.where}: an example must have one label; found {len(texts)}, {quoted(texts[0])} and "
                f"{quoted(texts[1])} among them. Keep one."
            )
            break
        who = next((str(name) for key in WHO if (name := record.fields.get(key)) is not None), "")
        who = who or (_stem(record.file) if is_folder else "")
        votes += [Vote(row, LABEL, label_text(who) or "", text) for text in texts]
    return votes, refused, len(records) - len(votes)


def _prodigy_labels(record: Record, is_binary: bool) -> Any:
    """The choice or accepted label of a task of Prodigy; "not LABEL" for a rejected one if it is the only label."""
    verdict = record.fields.get(ANSWER, "accept")
    if verdict not in VERDICTS:
        raise ValueError(
            f"{record.where}: answer must be {', '.join(VERDICTS)}; found {quoted(str(verdict))}. Export it again."
        )
    if verdict == "accept":
        return record.fields.get(ACCEPT, record.fields.get(LABEL))
    return f"not {record.fields.get(LABEL)}" if verdict == "reject" and is_binary else None
