"""Established terms in README, documentation, help texts, messages and code."""

import ast
import re
from pathlib import Path

import pytest
from typer.testing import CliRunner

import siis
from siis.app.cli.program import app

ROOT = Path(__file__).parent.parent.parent
SOURCE = Path(siis.__file__).parent
WORDS = (
    *("told", "tells?", "heard", "hears?", "voices?", "spoken", "speaks?", r"vouch\w*", "asked", "asking", "met"),
    *("meets", "besides?", "the house", "rooms?", "doors?", "rivals?", "pulls?", "(?<!Hugging )face", "own say"),
)
RETIRED = re.compile(rf"(?<![^\W_])({'|'.join(WORDS)})(?![^\W_])", re.IGNORECASE)
FILES = [path for path in SOURCE.rglob("*") if path.suffix in (".py", ".js", ".html", ".css", ".md")]
PAGES = [path for part in (".", "api", "decisions") for path in (ROOT / "docs" / part).glob("*.md")]
COMMANDS = [command.name or command.callback.__name__ for command in app.registered_commands]


def retired(text):
    """Lines with a retired word."""
    return [f"line {k}: {line.strip()}" for k, line in enumerate(text.splitlines(), 1) if RETIRED.search(line)]


@pytest.mark.parametrize(
    "word", ["told", "is_told", "Voices", "beside", "a_room", "no rivals", "its face", "its own say"]
)
def test_retired_words_are_found(word):
    assert retired(f"x {word} y")


@pytest.mark.parametrize("text", ["a toldo", "surface", "Hugging Face", "mushroom", "metric", "bedroom"])
def test_other_words_are_not(text):
    assert not retired(text)


def test_source():
    """Identifiers, comments and docstrings, too."""
    found = [f"{path.relative_to(SOURCE)}, {line}" for path in FILES for line in retired(path.read_text())]
    assert not found, "\n".join(found)


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_documentation(page):
    """What commands write into a page is theirs."""
    found = retired(re.sub(r"<!-- fill: .*?<!-- end -->", "", page.read_text(), flags=re.DOTALL))
    assert not found, "\n".join(found)


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
    page = (SOURCE / "app" / "report" / "static" / "page.html").read_text()
    assert not RETIRED.findall(re.sub(r"<[^>]*>|\{[%{].*?[%}]\}", " ", page))
