"""The examples of the page on what else the graph tells run, and show what the page says."""

import re
import subprocess
import sys
from pathlib import Path

PAGE = Path(__file__).parent.parent.parent / "docs" / "more.md"


def test_examples_of_the_page(tmp_path):
    code = "\n".join(re.findall(r"```python\n(.*?)```", PAGE.read_text(), re.DOTALL))
    done = subprocess.run(
        [sys.executable, "-W", "error", "-c", code], capture_output=True, text=True, check=False, cwd=tmp_path
    )
    assert done.returncode == 0, done.stderr
    assert "labels_differ" in done.stdout
    copies = [line.split() for line in done.stdout.splitlines()[1:3]]
    assert [line[1] for line in copies] == ["0", "1"], "the copy, and nothing else"
    assert re.search(r"index +given +score\n +2 ", done.stdout), "what is far off comes first"
    assert "mislabelled" in done.stdout
    assert re.search(r"annotator +labels .*\n +eve", done.stdout), "the worse one first"
    assert done.stdout.count("[") >= 6
