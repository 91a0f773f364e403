"""What is run here and in a fork: the Makefile's targets and what they install, the quick tests among all."""

import re
import shutil
import subprocess
import tomllib
from pathlib import Path

import pytest
import yaml

ROOT = Path(__file__).parent.parent.parent
WORKFLOWS = sorted((ROOT / ".github" / "workflows").glob("*.yml"))
MAKEFILE = (ROOT / "Makefile").read_text()
TARGETS = re.findall(r"^([a-z]+):", MAKEFILE, re.MULTILINE)
JOBS = dict(pair for path in WORKFLOWS for pair in yaml.safe_load(path.read_text())["jobs"].items())
SLOW_AREAS = {"browser", "docs", "end_to_end", "reproduction"}  # a browser, the site, whole jobs, experiments


def test_a_fork_is_checked_throughout():
    assert {"lint", "test", "lowest", "docs"} <= set(JOBS)


@pytest.mark.parametrize("name", JOBS)
def test_every_job_calls_a_target_that_exists(name):
    steps = JOBS[name]["steps"]
    commands = [step["run"] for step in steps if "run" in step]
    assert commands
    for command in commands:
        target = re.fullmatch(r"make ([a-z]+)", command)
        assert target, f"{name} runs {command!r}"
        assert target[1] in TARGETS
    for step in steps:
        assert re.fullmatch(r"actions/[a-z-]+@v\d+", step.get("uses", "actions/none@v1"))


def test_the_oldest_python_that_is_allowed_and_its_followers_are_tested():
    versions = JOBS["test"]["strategy"]["matrix"]["python-version"]
    lowest = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["requires-python"].removeprefix(">=")
    assert all(isinstance(version, str) for version in versions), "3.10 without quotes is 3.1"
    assert versions == [f"3.{int(lowest.split('.')[1]) + k}" for k in range(len(versions))]
    assert len(versions) > 1


def test_targets_are_no_files():
    phony = re.search(r"^\.PHONY: (.*)$", MAKEFILE, re.MULTILINE)[1].split()
    assert sorted(phony) == sorted(TARGETS)


def test_every_area_has_quick_tests_and_the_marker_is_written_one_way():
    texts = {path: path.read_text() for path in (ROOT / "tests").rglob("test_*.py") if path != Path(__file__)}
    slow = {
        path for path, text in texts.items() if re.search(r"^pytestmark = pytest\.mark\.slow$", text, re.MULTILINE)
    }
    assert slow == {path for path, text in texts.items() if "mark.slow" in text}
    assert {path.parent.name for path in texts} - {path.parent.name for path in set(texts) - slow} <= SLOW_AREAS


@pytest.mark.skipif(shutil.which("make") is None, reason="make is not installed")
@pytest.mark.parametrize(
    ("target", "stamps", "installed"),
    [
        ("demo", [], "."),  # the package alone: no extra
        ("demo", [".installed", ".package"], None),
        ("test", [".package"], "'.[dev]'"),  # also after a demo
    ],
)
def test_what_make_installs(tmp_path, target, stamps, installed):
    """Read from a dry run in a fresh copy."""
    for name in ("Makefile", "pyproject.toml"):
        shutil.copy2(ROOT / name, tmp_path)  # with its time of change: older than a stamp made here
    (tmp_path / ".venv").mkdir()
    for name in stamps:
        (tmp_path / ".venv" / name).touch()
    quiet = ["make", "--no-print-directory", "-n", target]  # under another make, it would name its folders
    printed = subprocess.run(quiet, check=True, cwd=tmp_path, capture_output=True, text=True).stdout
    assert re.findall(r"--editable (\S+)$", printed, re.MULTILINE) == ([installed] if installed else [])
    assert installed or "pip install" not in printed
