"""The README's example, run as a user would."""

import re
import subprocess
import sys
from pathlib import Path

import pytest

pytestmark = pytest.mark.slow

ROOT = Path(__file__).parent.parent.parent


def test_ten_lines(tmp_path):
    code = re.search(r"```python\n(.*?)```", (ROOT / "README.md").read_text(), re.DOTALL)[1]
    out = subprocess.run(
        [sys.executable, "-W", "error", "-c", code], capture_output=True, text=True, check=True, cwd=tmp_path
    ).stdout
    correct = float(re.search(r"correct: ([\d.]+)", out)[1])
    assert correct > 0.85
    assert "suggested" in out
    assert re.search(r"wrong labels, about: 0\.\d+", out)
