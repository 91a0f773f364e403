"""Figures in the pages are what the result files hold."""

import runpy
from pathlib import Path

import pytest

import siis

ROOT = Path(__file__).parent.parent.parent
FILL = runpy.run_path(str(ROOT / "docs" / "fill.py"))


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
