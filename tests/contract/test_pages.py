"""Figures in the pages are what the result files hold."""

import runpy
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent.parent
FILL = runpy.run_path(str(ROOT / "docs" / "fill.py"))


@pytest.mark.parametrize("page", FILL["PAGES"], ids=lambda page: page.name)
def test_filled_blocks_equal_their_files(page):
    text = page.read_text()
    assert FILL["filled"](text) == text, "run `make results` (or docs/fill.py)"


def test_readme_has_measured_blocks():
    assert len(FILL["BLOCK"].findall((ROOT / "README.md").read_text())) >= 2
