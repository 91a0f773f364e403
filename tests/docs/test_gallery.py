"""Every example of the gallery runs by itself, prints something, and is short."""

import ast
import os
import subprocess
import sys
from pathlib import Path

import pytest

pytestmark = pytest.mark.slow

EXAMPLES = sorted((Path(__file__).parent.parent.parent / "examples" / "gallery").glob("*.py"))


def test_there_are_examples():
    assert len(EXAMPLES) >= 8


@pytest.mark.parametrize("path", EXAMPLES, ids=lambda path: path.stem)
def test_runs_without_a_warning(path, tmp_path):
    command = [sys.executable, "-W", "error", str(path)]
    environment = {**os.environ, "MPLBACKEND": "Agg"}
    done = subprocess.run(command, check=False, cwd=tmp_path, env=environment, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    assert not done.stderr
    assert len(done.stdout.splitlines()) >= 2


@pytest.mark.parametrize("path", EXAMPLES, ids=lambda path: path.stem)
def test_is_short_and_tells_a_story(path):
    text = path.read_text()
    story = ast.get_docstring(ast.parse(text))
    title, line, *rest = story.splitlines()
    assert line == "=" * len(title)
    assert len(" ".join(rest)) > 100
    prose = len(story.splitlines()) + 2
    code = [line for line in text.splitlines()[prose:] if line.strip() and not line.startswith("#")]
    assert len(code) < 60, f"{len(code)} lines of code"
