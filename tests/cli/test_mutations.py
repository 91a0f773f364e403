"""Model files with one thing changed are refused in a sentence or answer as they did; none ends the process."""

import json
import subprocess
import sys
from collections import Counter
from pathlib import Path

import pytest

from mutations import bases, is_fine, mutated, outcome

pytestmark = pytest.mark.slow

SCRIPT = Path(__file__).parents[2] / "benchmarks" / "mutations.py"


@pytest.fixture(scope="module")
def sound(tmp_path_factory):
    found = bases(tmp_path_factory.mktemp("bases"))
    for base in found:
        assert base.answers
    return found


@pytest.mark.parametrize("fresh", [False, True], ids=["old digest", "new digest"])
def test_mutations(sound, tmp_path, fresh):
    wrong, counts = [], Counter()
    for seed in range(240):
        base = sound[seed % len(sound)]
        content, said = mutated(base, 100_000 + seed, fresh)
        end = outcome(tmp_path / "model.siis", base, content)
        counts[end.split(":")[0]] += 1
        if not is_fine(end, base, fresh):
            wrong.append((seed, base.name, said, end))
    assert wrong == []
    assert counts["refused"] > 100


def test_an_unchanged_file_answers_as_it_did(sound, tmp_path):
    """The other half of the truth: not everything is refused."""
    for base in sound:
        assert outcome(tmp_path / "model.siis", base, base.content) == "same answers"


def test_an_old_digest_is_seen_whatever_was_changed(sound, tmp_path):
    """Only the wrapping of the archive is not part of the content."""
    for seed in range(300):
        base = sound[seed % 5]
        content, said = mutated(base, seed, False)
        if not said.startswith("raw_bytes"):
            assert outcome(tmp_path / "model.siis", base, content) == "refused", (seed, base.name, said)


def test_a_batch_in_its_own_process(tmp_path):
    out = tmp_path / "found.json"
    command = [sys.executable, str(SCRIPT), "--n", "60", "--batch", "40", "--out", str(out)]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    found = json.loads(out.read_text())
    assert sum(found["outcomes"].values()) == 60
    assert found["wrong"] == []
