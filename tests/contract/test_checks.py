"""What is run here and in a fork: the Makefile's targets, the quick tests among all."""

import re
import tomllib
from pathlib import Path

import pytest
import yaml

ROOT = Path(__file__).parent.parent.parent
WORKFLOWS = sorted((ROOT / ".github" / "workflows").glob("*.yml"))
TARGETS = re.findall(r"^([a-z]+):", (ROOT / "Makefile").read_text(), re.MULTILINE)


JOBS = [pair for path in WORKFLOWS for pair in yaml.safe_load(path.read_text())["jobs"].items()]


def test_a_fork_is_checked_throughout():
    assert {"lint", "test", "lowest", "docs"} <= {name for name, _ in JOBS}


@pytest.mark.parametrize(("name", "job"), JOBS, ids=[name for name, _ in JOBS])
def test_every_job_calls_a_target_that_exists(name, job):
    commands = [step["run"] for step in job["steps"] if "run" in step]
    assert commands
    for command in commands:
        target = re.fullmatch(r"make ([a-z]+)", command)
        assert target, f"{name} runs {command!r}"
        assert target[1] in TARGETS
    for step in job["steps"]:
        assert re.fullmatch(r"actions/[a-z-]+@v\d+", step.get("uses", "actions/none@v1"))


def test_the_oldest_python_that_is_allowed_and_its_followers_are_tested():
    versions = next(job["strategy"]["matrix"]["python-version"] for name, job in JOBS if name == "test")
    lowest = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["requires-python"].removeprefix(">=")
    assert all(isinstance(version, str) for version in versions), "3.10 without quotes is 3.1"
    assert versions == [f"3.{int(lowest.split('.')[1]) + k}" for k in range(len(versions))]
    assert len(versions) > 1


def test_targets_are_no_files():
    phony = re.search(r"^\.PHONY: (.*)$", (ROOT / "Makefile").read_text(), re.MULTILINE)[1].split()
    assert sorted(phony) == sorted(TARGETS)


def test_every_area_has_quick_tests_and_the_marker_is_written_one_way():
    """Only what runs a browser, the site, whole jobs or experiments is slow throughout."""
    modules = [path for path in (ROOT / "tests").rglob("test_*.py") if path != Path(__file__)]
    slow = {
        path for path in modules if re.search(r"^pytestmark = pytest\.mark\.slow$", path.read_text(), re.MULTILINE)
    }
    assert slow == {path for path in modules if "mark.slow" in path.read_text()}
    areas = {path.parent.name for path in modules}
    assert areas - {path.parent.name for path in set(modules) - slow} <= {
        "browser",
        "docs",
        "end_to_end",
        "reproduction",
    }
