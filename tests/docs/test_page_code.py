"""Scripts and commands on the pages run, without a warning, and show what the pages say."""

import re
import shlex
import subprocess
import sys
from pathlib import Path

import pytest
from typer.testing import CliRunner

from siis.app.cli.program import app

pytestmark = pytest.mark.slow

ROOT = Path(__file__).parent.parent.parent


def blocks(page, kinds="python"):
    """Kind and text of the blocks of code of a page."""
    return re.findall(rf"^```({kinds})\n(.*?)^```", (ROOT / page).read_text(), re.MULTILINE | re.DOTALL)


def printed(folder, code):
    """What a script prints, run as a user would."""
    command = [sys.executable, "-W", "error", "-c", code]
    done = subprocess.run(command, capture_output=True, text=True, check=False, cwd=folder, timeout=300)
    assert done.returncode == 0, done.stderr
    return done.stdout


def test_readme(tmp_path):
    found = printed(tmp_path, blocks("README.md")[0][1])
    assert float(re.search(r"correct: ([\d.]+)", found)[1]) > 0.85
    assert "suggested" in found
    assert re.search(r"wrong labels, about: 0\.\d+", found)


@pytest.mark.parametrize(("page", "accuracy"), [("docs/index.md", 0.8), ("docs/encoders.md", 0.9)])
def test_first_script(tmp_path, monkeypatch, page, accuracy):
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    found = printed(tmp_path, blocks(page)[0][1])
    assert float(re.search(r"correct: ([\d.]+)", found)[1]) > accuracy


def test_more(tmp_path):
    found = printed(tmp_path, "\n".join(code for _, code in blocks("docs/more.md")))
    assert "labels_differ" in found
    copies = [line.split() for line in found.splitlines()[1:3]]
    assert [line[1] for line in copies] == ["0", "1"], "the copy, and nothing else"
    assert re.search(r"index +given +score\n +2 ", found), "what is far off comes first"
    assert "mislabelled" in found
    assert re.search(r"annotator +labels .*\n +eve", found), "the worse one first"
    assert found.count("[") >= 6


def test_review(tmp_path):
    found = printed(tmp_path, blocks("docs/review.md")[0][1])
    shown = dict(line.split(": ") for line in found.splitlines() if ": " in line)
    assert shown["the server"] == "200"
    assert shown["saved"] == shown["in the results"]
    assert shown["saved"].startswith("digit ")
    assert "ended with 130" in found


def test_formats(tmp_path, monkeypatch, capsys):
    """From top to bottom: its scripts, and its commands."""
    monkeypatch.chdir(tmp_path)
    names, n_commands = {}, 0
    for kind, block in blocks("docs/formats.md", "python|sh"):
        if kind == "python":
            exec(compile(block, "formats.md", "exec"), names)
            continue
        for line in block.splitlines():
            program, *arguments = shlex.split(line)
            assert program == "siis"
            done = CliRunner().invoke(app, arguments, catch_exceptions=False)
            assert done.exit_code == 0, f"{line}: {done.stderr}"
            n_commands += 1
    assert n_commands >= 8
    shown = capsys.readouterr().out
    assert re.search(r"0\.\d+ True \{'choices': \['sport'\]\}", shown)
    assert "'siis': {'label': 'sport'" in shown
    assert "'is_label_issue'" in shown
