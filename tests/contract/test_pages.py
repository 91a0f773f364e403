"""Figures in the pages are what the result files hold."""

import re
import runpy
from pathlib import Path

import pytest

import siis

ROOT = Path(__file__).parent.parent.parent
FILL = runpy.run_path(str(ROOT / "docs" / "fill.py"))
MATH = (ROOT / "docs" / "math.md").read_text()
EQUATION = re.compile(r"\(([CDM]\d{1,2}b?)\)")


@pytest.mark.parametrize("page", FILL["PAGES"], ids=lambda page: page.name)
def test_filled_blocks_equal_their_files(page):
    text = page.read_text()
    assert FILL["filled"](text) == text, "run `make results` (or docs/fill.py)"


def test_readme_has_measured_blocks():
    assert len(FILL["BLOCK"].findall((ROOT / "README.md").read_text())) >= 2


def test_tables_of_the_readme_are_of_the_present_version():
    for _, file, _ in FILL["BLOCK"].findall((ROOT / "README.md").read_text()):
        assert f"siis {siis.__version__}" in (ROOT / file).read_text(), f"measure {file} again, or leave it out"


def test_the_readme_is_short_and_states_the_method_first():
    lines = (ROOT / "README.md").read_text().splitlines()
    assert len(lines) <= 140
    titles = [line for line in lines if line.startswith("## ")]
    assert titles[0] == "## The method"


def test_a_block_without_a_file_stays():
    text = "<!-- fill: no/such/file.md -->\nto be measured\n<!-- end -->"
    assert FILL["filled"](text) == text


def test_equations_that_the_code_cites_are_those_of_the_page():
    cited = {name for path in Path(siis.__file__).parent.rglob("*.py") for name in EQUATION.findall(path.read_text())}
    stated = set(EQUATION.findall(MATH))
    assert cited == stated
    assert {f"D{k}" for k in range(1, 9)} <= stated


def test_superseded_decisions_are_not_cited():
    decisions = {path.name[:4] for path in (ROOT / "docs" / "decisions").glob("0*.md")}
    for page in (*FILL["PAGES"], ROOT / "CHANGELOG.md"):
        assert set(re.findall(r"[Dd]ecision (\d{4})", page.read_text())) <= decisions, page
