"""The README's example and the demo, run as a user would."""

import re
import subprocess
import sys
from pathlib import Path

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


def test_demo(tmp_path):
    command = [sys.executable, "-W", "error", str(ROOT / "examples" / "demo.py"), "--out", str(tmp_path / "new")]
    out = subprocess.run(command, capture_output=True, text=True, check=True, cwd=tmp_path).stdout
    rows = re.findall(r"on (?:examples with a given label|unlabelled examples)\s+([\d.]+)%\s+([\d.]+)%", out)
    assert len(rows) == 2
    assert all(float(after) > float(before) + 20 for before, after in rows)
    assert re.search(r"wrong labels found: \d+ of 80", out)
    assert (tmp_path / "new" / "demo.png").stat().st_size > 10_000
