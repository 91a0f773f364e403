"""What `make` installs, read from a dry run in a fresh copy."""

import shutil
import subprocess
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent.parent
pytestmark = pytest.mark.skipif(shutil.which("make") is None, reason="make is not installed")


def commands(target, folder):
    for name in ("Makefile", "pyproject.toml"):
        shutil.copy2(ROOT / name, folder)  # with its time of change: older than a stamp made here
    quiet = ["make", "--no-print-directory", "-n", target]  # under another make, it would name its folders
    done = subprocess.run(quiet, check=True, cwd=folder, capture_output=True, text=True)
    return done.stdout


def test_demo_installs_the_package_alone(tmp_path):
    printed = commands("demo", tmp_path)
    assert "--editable .\n" in printed
    assert "[" not in printed.partition("--editable")[2], "make demo needs no extra of pyproject.toml"


def test_tests_install_the_development_tools_also_after_a_demo(tmp_path):
    stamps = tmp_path / ".venv"
    stamps.mkdir()
    (stamps / ".package").touch()
    assert "--editable '.[dev]'" in commands("test", tmp_path)


def test_after_a_set_up_for_development_the_demo_installs_nothing(tmp_path):
    (tmp_path / ".venv").mkdir()
    for name in (".installed", ".package"):
        (tmp_path / ".venv" / name).touch()
    assert "pip install" not in commands("demo", tmp_path)
