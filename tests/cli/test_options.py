"""Messages of the library in the names of the command line."""

import ast
import re
from pathlib import Path

import pytest

import siis
from siis.app.messages import NAMES, OPTIONS, worded
from siis.errors import Message
from siis.estimators.classifier import SIISClassifier
from siis.parameters import check_parameters

ROOT = Path(siis.__file__).parent
SOURCES = (
    "estimators/classifier.py",
    "engine/choice.py",
    "graph/precomputed.py",
    "parameters.py",
    "estimators/base.py",
    "estimators/inputs.py",
    "estimators/solving.py",
    "quality/assess.py",
    "graph/neighbors.py",
    "graph/approximate.py",
    "graph/neighbor_graph.py",
    "graph/weights.py",
    "engine/linear_systems.py",
    "model/programs.py",
    "program/basis/smooth.py",
)
KEPT = {"label_issues.csv", "make_pipeline"}  # a file, and advice to Python users; tables are encoded


def texts(node):
    """The text of an f-string, with 7 in place of its values; of a Message, its template."""
    if isinstance(node, ast.Constant) and isinstance(node.value, str):
        return node.value
    if isinstance(node, ast.JoinedStr):
        return "".join(texts(part) if isinstance(part, ast.Constant) else "7" for part in node.values)
    return "7"


def messages():
    for name in SOURCES:
        for node in ast.walk(ast.parse((ROOT / name).read_text())):
            if isinstance(node, ast.Call) and node.args:
                called = ast.unparse(node.func)
                if called in ("warnings.warn", "ValueError", "RuntimeError", "NumericalError"):
                    yield name, texts(node.args[0])
                elif called == "Message" and "7" not in texts(node.args[0]):
                    yield name, in_options(texts(node.args[0]))


def in_options(template):
    return re.sub(r"{[^{}]*({\w+[^{}]*})?}", lambda field: NAMES.get(re.match(r"{(\w+)", field[0])[1], "7"), template)


def test_no_message_names_a_python_identifier():
    found = list(messages())
    assert len(found) > 30
    for name, message in found:
        names = set(re.findall(r"[\w.]*[a-zA-Z]_[\w.]*", message)) - KEPT
        assert not names, f"{name}: {message}"
        assert not re.search(r"\w=['\w]", message), f"{name}: {message}"


@pytest.mark.parametrize(
    "name", sorted(set(SIISClassifier._rules) - {"verbose", "affinity", "class_prior", "warm_start"})
)
def test_every_parameter_is_refused_by_the_name_of_its_option(name):
    with pytest.raises(ValueError, match=f"{name} of SIISClassifier must be ") as caught:
        check_parameters(SIISClassifier(**{name: object()}))
    assert worded(caught.value).startswith(f"{OPTIONS[name]} must be ")


@pytest.mark.parametrize(
    ("message", "python", "options"),
    [
        (Message("Raise {max_iter} or {tol}."), "Raise max_iter or tol.", "Raise --max-iter or --tol."),
        (
            Message("after {max_iter:{n}} iterations, {gap:.1e} above {tol:{t:g}}.", n=9, gap=0.5, t=1e-3),
            "after max_iter=9 iterations, 5.0e-01 above tol=0.001.",
            "after --max-iter 9 iterations, 5.0e-01 above --tol 0.001.",
        ),
        (Message("Use {metric:cosine}."), "Use metric='cosine'.", "Use --metric cosine."),
        (
            Message("{y} must hold {{}} {name}", name="{tol} alpha"),
            "y must hold {} {tol} alpha",
            "the labels must hold {} {tol} alpha",
        ),
        (
            Message("{metric}{owner} must be {rule}", owner=" of K", rule=Message("1 ({precomputed})")),
            "metric of K must be 1 (affinity='precomputed')",
            "--metric must be 1 (--graph)",
        ),
        ("alpha and beta are classes", "alpha and beta are classes", "alpha and beta are classes"),
    ],
)
def test_a_message_in_the_names_of_python_and_of_the_command_line(message, python, options):
    assert message == str(ValueError(message)) == python
    assert worded(ValueError(message)) == options


@pytest.mark.parametrize("command", [("fit", "data.csv"), ("demo",)])
def test_an_empty_output_folder_is_refused(siis, tmp_path, monkeypatch, command):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "data.csv").write_text("a,label\n" + "".join(f"{i},{'xy'[i % 2]}\n" for i in range(20)))
    done = siis(*command, "--out", "")
    assert done.exit_code != 0
    assert "must name a folder" in done.stderr
    assert [path.name for path in tmp_path.iterdir()] == ["data.csv"]
