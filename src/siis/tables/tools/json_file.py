"""JSON files of any labelling tool."""

from __future__ import annotations

from pathlib import Path

from siis.tables.tools.argilla import is_records, read_records
from siis.tables.tools.json_fields import parsed, read_text
from siis.tables.tools.json_records import read_list
from siis.tables.tools.label_studio import is_tasks, read_tasks
from siis.tables.tools.tool_file import ToolFile

JSON = (".json", ".json.gz")


def read_json(path: Path, encoding: str) -> ToolFile:
    """Read tasks of Label Studio, records of Argilla, or a list of plain objects."""
    value = parsed(read_text(path, encoding), str(path))
    if is_tasks(value):
        return read_tasks(path, value)
    if is_records(value):
        return read_records(path, value)
    if isinstance(value, list):
        return read_list(path, value)
    raise ValueError(
        f"{path}: must hold tasks of Label Studio, records of Argilla, or a list of objects; found "
        "none of them. Export it again, or write one object on each line of a JSONL file."
    )
