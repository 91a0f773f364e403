"""Data sets of Hugging Face in several files: folders of ``save_to_disk``, and Parquet shards."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

from siis.texts import listed, plural, quoted

DICT, STATE, FILES = "dataset_dict.json", "state.json", "_data_files"
PARQUET = ".parquet"
INSIDE = "data"  # the folder of the shards in a repository of Hugging Face
SHARD = re.compile(r"(?P<split>.+)-(?P<number>\d{5})-of-(?P<total>\d{5})(-[0-9a-f]+)?\.parquet")


def is_data_set(folder: Path) -> bool:
    """Whether a folder is a data set of Hugging Face, or holds Parquet files."""
    return folder.is_dir() and (
        (folder / DICT).is_file() or (folder / STATE).is_file() or bool(_parquet(folder) or _parquet(folder / INSIDE))
    )


def files_of(folder: Path) -> list[Path]:
    """The files of one split, in the order of its rows."""
    if (folder / DICT).is_file():
        splits = _field(folder / DICT, "splits", str)
        if len(splits) != 1:
            raise ValueError(
                f"{folder}: one split must be chosen; found {listed(splits)}. Name its folder, as in "
                f"{folder / splits[0] if splits else folder / 'train'}."
            )
        return files_of(folder / splits[0])
    if (folder / STATE).is_file():
        named = _field(folder / STATE, FILES, dict)
        files = [folder / Path(str(one.get("filename"))).name for one in named]
        lost = [file for file in files if not file.is_file()]
        if lost:
            raise ValueError(f"{lost[0]}: there is no such file, though {STATE} names it. Copy the folder again.")
        return files
    return _shards(folder, _parquet(folder) or _parquet(folder / INSIDE))


def _parquet(folder: Path) -> list[Path]:
    if not folder.is_dir():
        return []
    return sorted(
        file
        for file in folder.iterdir()
        if file.name.lower().endswith(PARQUET) and not file.name.startswith(".") and file.is_file()
    )


def _shards(folder: Path, files: list[Path]) -> list[Path]:
    """Refuse several splits, and incomplete shards."""
    found = [match for file in files if (match := SHARD.fullmatch(file.name))]
    splits = sorted({match["split"] for match in found})
    if len(splits) > 1:
        raise ValueError(
            f"{folder}: one split must be chosen; found {listed(splits)}. Put the files of one into a "
            "folder of their own."
        )
    totals = {int(match["total"]) for match in found}
    if found and (len(found) != len(files) or totals != {len(found)}):
        raise ValueError(
            f"{folder}: must hold all shards of a data set; found {plural(len(found), 'shard')} of "
            f"{listed([str(total) for total in sorted(totals)])}, and {len(files) - len(found)} other Parquet files. "
            "Copy the missing ones into it, or take the others out."
        )
    return files


def _field(file: Path, name: str, kind: type) -> list[Any]:
    try:
        found = json.loads(file.read_text(encoding="utf-8"))[name]
    except (OSError, ValueError, KeyError, TypeError, RecursionError):
        found = None
    if not isinstance(found, list) or not found or not all(isinstance(one, kind) for one in found):
        raise ValueError(f"{file}: must name the {quoted(name)} of a data set; found none. Write the data set again.")
    return found
