"""kill -9 at random moments of `siis fit`, `review` and `corrections`: nothing lost, nothing half-written."""

import hashlib
import json
import random
import subprocess
import sys
import time
from pathlib import Path
from urllib.request import Request, urlopen

import pytest

from cli_case import SIIS, read_csv, write_csv
from siis.decisions import JOURNAL, Journal

pytestmark = pytest.mark.slow
KILLS = 10  # of each command
FIT = ("fit", "in.csv", "--label", "label", "--id", "name", "--method", "paper", "--out", "results", "--quiet")
CORRECT = ("corrections", "--results", "results", "--quiet")
COMMAND = [sys.executable, "-m", "siis"]


def summary(folder):
    """The summary, whose digests must be those of the files beside it."""
    found = json.loads((folder / "summary.json").read_text())
    for name, digest in found["files"].items():
        assert hashlib.sha256((folder / name).read_bytes()).hexdigest() == digest, name
    return found


def killed(command, folder, delay):
    """Start a command, and kill it after some seconds."""
    process = subprocess.Popen([*COMMAND, *command], cwd=folder, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    time.sleep(delay)
    process.kill()
    _, said = process.communicate()
    assert b"Traceback" not in said, said
    return process.returncode


def saved(results):
    with Journal(results, summary(results)["table"]) as journal:
        return journal.checked({})


@pytest.fixture
def fitted(table, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    Path("in.csv").write_bytes(table[0].read_bytes())
    started = time.monotonic()
    subprocess.run([*COMMAND, *FIT], check=True, cwd=tmp_path)
    return tmp_path / "results", time.monotonic() - started


def test_kills_of_fit_review_and_corrections(fitted, tmp_path):
    results, seconds = fitted
    draw = random.Random(0)
    given = {row["id"]: row["given"] for row in read_csv(results / "predictions.csv") if row["given"]}
    names = list(given)
    expected = {}
    for k in range(KILLS):
        killed(FIT, tmp_path, draw.uniform(0.5, 1.2) * seconds)
        summary(results)
        assert saved(results) == expected

        name, label = names[k], str((int(given[names[k]]) + 1) % 4)
        write_csv(tmp_path / "fix.csv", ["id", "label"], [(name, label)])
        code = killed((*CORRECT, "fix.csv"), tmp_path, draw.uniform(0.5, 1.2) * seconds)
        summary(results)
        now = saved(results)
        assert now in (expected, {**expected, name: label})
        assert code != 0 or name in now
        expected = now

        pipes = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE, "text": True}
        review = subprocess.Popen([*COMMAND, "review", "results", "--no-open"], cwd=tmp_path, **pipes)
        link = review.stdout.readline().strip()
        address, token = link.split("/?token=")
        headers = {"X-Siis-Token": token, "Origin": address, "Content-Type": "application/json"}
        for other in names[20 + 2 * k : 22 + 2 * k]:
            decision = {"id": other, "decision": "chosen", "label": "3"}
            with urlopen(Request(f"{address}/decisions", json.dumps(decision).encode(), headers)) as answer:
                assert answer.status == 200
            expected[other] = "3"  # confirmed: it must be there from now on
        time.sleep(draw.uniform(0.0, 3.0))
        review.kill()
        _, said = review.communicate()
        assert "Traceback" not in said
        summary(results)
        assert saved(results) == expected
    SIIS.ok(*FIT)
    rows = read_csv(results / "checked_labels.csv")
    assert {row["id"]: row["label"] for row in rows} == expected
    assert all(row["given"] == given[row["id"]] for row in rows)
    assert not [path.name for path in results.iterdir() if path.name.startswith(".siis")]
    assert len((results / JOURNAL).read_text().splitlines()) == len(expected)
