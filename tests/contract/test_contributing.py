"""CONTRIBUTING.md names what is there: its paths exist, and every room of the house has its floor."""

import re
from pathlib import Path

import pytest
from test_house import FLOORS

import siis

ROOT = Path(__file__).parent.parent.parent
HOUSE = Path(siis.__file__).parent
PAGE = (ROOT / "CONTRIBUTING.md").read_text()
NAMED = r"`([\w.-]*/[\w./-]*|[\w-]+\.(?:py|md|toml))`|\]\(([\w./-]+)\)"  # code that is a path, and links
PATHS = sorted({one or other for one, other in re.findall(NAMED, PAGE)})
CHANGES = PAGE.split("| to change |")[1].splitlines()[2:]
FLOOR_ROWS = re.findall(r"^\| (\d+) \| (.*?) \|", PAGE, re.MULTILINE)


@pytest.mark.parametrize("path", PATHS)
def test_every_path_exists(path):
    """Relative to the repository, or to the house."""
    assert (ROOT / path).exists() or (HOUSE / path).exists()


def test_paths_are_found():
    """In code and in links, files and folders."""
    known = {
        "docs/math.md",
        "app/cli/",
        "program/program.py",
        "app/report/static/review.js",
        "tests/contract",
        "pyproject.toml",
    }
    assert known <= set(PATHS)
    assert len(PATHS) > 60


@pytest.mark.parametrize("row", CHANGES, ids=lambda row: row.split("|")[1].strip())
def test_every_change_names_a_file_and_a_test(row):
    _, _, opened, guards, _ = row.split("|")
    assert [path for path in PATHS if f"`{path}`" in opened]
    tests = re.findall(r"`(tests/\w+/test_\w+\.py)`", guards)
    assert tests
    assert not re.sub(r"`tests/\w+/test_\w+\.py`", "", guards).strip(" ,")


def test_there_are_changes_enough():
    assert len(CHANGES) >= 12


def test_every_room_has_its_floor():
    """As the house test has them; ``_types`` and what runs the package are on none."""
    told = {
        name.removesuffix("/").removesuffix(".py").replace("/", "."): int(floor)
        for floor, rooms in FLOOR_ROWS
        for name in re.findall(r"`([\w./]+)`", rooms)
    }
    rooms = {path.stem for path in HOUSE.iterdir() if path.suffix == ".py" or (path / "__init__.py").exists()}
    rooms |= {unit for unit in FLOORS if "." in unit}  # packages inside of packages
    rooms -= {"__init__", "__main__", "_types"}
    assert set(told) == rooms
    assert {name: max(FLOORS[name], 0) for name in told} == told
