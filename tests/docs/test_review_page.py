"""The script of the page on reviews runs, and shows what the page says."""

import re
import subprocess
import sys
from pathlib import Path

import pytest

pytestmark = pytest.mark.slow

PAGE = Path(__file__).parent.parent.parent / "docs" / "review.md"


def test_the_script_of_the_page(tmp_path):
    code = re.search(r"```python\n(.*?)```", PAGE.read_text(), re.DOTALL)[1]
    done = subprocess.run(
        [sys.executable, "-W", "error", "-c", code],
        capture_output=True,
        text=True,
        check=False,
        cwd=tmp_path,
        timeout=300,
    )
    assert done.returncode == 0, done.stderr
    said = dict(line.split(": ") for line in done.stdout.splitlines() if ": " in line)
    assert said["the server"] == "200"
    assert said["saved"] == said["in the results"]
    assert said["saved"].startswith("digit ")
    assert "ended with 130" in done.stdout
