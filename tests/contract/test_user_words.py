"""What users read uses established terms: README, help texts, messages."""

import ast
import re
from pathlib import Path

import pytest
from typer.testing import CliRunner

import siis
from siis.cli import app

ROOT = Path(__file__).parent.parent.parent
SOURCE = Path(siis.__file__).parent
RETIRED = re.compile(
    r"\b(told|tells?|heard|voices?|spoken|speaks?|vouch\w*|asked|asking|met|meets|besides?|the house|rooms?|doors?"
    r"|rivals?)\b",
    re.IGNORECASE,
)
COMMANDS = [command.name or command.callback.__name__ for command in app.registered_commands]


def test_the_readme():
    assert not RETIRED.findall((ROOT / "README.md").read_text())


@pytest.mark.parametrize("command", [None, *COMMANDS])
def test_help(command):
    done = CliRunner().invoke(app, [*([command] if command else []), "--help"])
    assert done.exit_code == 0
    assert not RETIRED.findall(done.output)


def _texts(path):
    """Strings of several words that are no docstrings."""
    tree = ast.parse(path.read_text())
    bodies = [node.body for node in ast.walk(tree) if hasattr(node, "body") and isinstance(node.body, list)]
    docs = {id(body[0].value) for body in bodies if body and isinstance(body[0], ast.Expr)}
    for node in ast.walk(tree):
        if (
            isinstance(node, ast.Constant)
            and isinstance(node.value, str)
            and id(node) not in docs
            and " " in node.value
        ):
            yield node.lineno, node.value


@pytest.mark.parametrize("path", sorted(SOURCE.rglob("*.py")), ids=lambda path: str(path.relative_to(SOURCE)))
def test_messages(path):
    found = [f"line {line}: {text!r}" for line, text in _texts(path) if RETIRED.search(text)]
    assert not found, "\n".join(found)


def test_the_page_of_the_report():
    page = (SOURCE / "report" / "static" / "page.html").read_text()
    assert not RETIRED.findall(re.sub(r"<[^>]*>|\{[%{].*?[%}]\}", " ", page))
