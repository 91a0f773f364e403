"""The page of formats is run from top to bottom: its scripts, and its commands."""

import re
import shlex
from pathlib import Path

import pytest
from typer.testing import CliRunner

from siis.app.cli.program import app

pytestmark = pytest.mark.slow

PAGE = Path(__file__).parent.parent.parent / "docs" / "formats.md"


def test_the_page_runs(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    names = {}
    ran = 0
    for kind, block in re.findall(r"^```(python|sh)\n(.*?)^```", PAGE.read_text(), re.MULTILINE | re.DOTALL):
        if kind == "python":
            exec(compile(block, str(PAGE), "exec"), names)
            continue
        for line in block.splitlines():
            program, *arguments = shlex.split(line)
            assert program == "siis"
            done = CliRunner().invoke(app, arguments, catch_exceptions=False)
            assert done.exit_code == 0, f"{line}: {done.stderr}"
            ran += 1
    assert ran >= 8
    said = capsys.readouterr().out
    assert re.search(r"0\.\d+ True \{'choices': \['sport'\]\}", said)
    assert "'siis': {'label': 'sport'" in said
    assert "'is_label_issue'" in said
