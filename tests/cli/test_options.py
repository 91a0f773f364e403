"""Messages of the classifier, in the words of the command line."""

import ast
import re
from pathlib import Path

import pytest

import siis
from siis.estimators.classifier import SIISClassifier
from siis.parameters import check_parameters
from siis.workflow.options import OPTIONS, in_options

ROOT = Path(siis.__file__).parent
SPEAKERS = (
    "estimators/classifier.py",
    "estimators/base.py",
    "estimators/solving.py",
    "quality/assess.py",
    "graph/neighbors.py",
    "graph/approximate.py",
    "graph/neighbor_graph.py",
    "graph/weights.py",
    "engine/factor.py",
    "selection/final.py",
    "spectral/smooth.py",
)
KEPT = {"label_issues.csv", "make_pipeline"}  # a file, and what Python users are told; tables are encoded


def texts(node):
    """The text of an f-string, with 7 in place of its values."""
    if isinstance(node, ast.Constant) and isinstance(node.value, str):
        return node.value
    if isinstance(node, ast.JoinedStr):
        return "".join(texts(part) if isinstance(part, ast.Constant) else "7" for part in node.values)
    return "7"


def messages():
    for name in SPEAKERS:
        for node in ast.walk(ast.parse((ROOT / name).read_text())):
            if isinstance(node, ast.Call) and node.args:
                called = ast.unparse(node.func)
                if called in ("warnings.warn", "ValueError", "RuntimeError", "NumericalError"):
                    yield name, texts(node.args[0])


def test_no_message_names_a_python_identifier():
    found = list(messages())
    assert len(found) > 20
    for name, message in found:
        said = in_options(message)
        names = set(re.findall(r"[\w.]*[a-zA-Z]_[\w.]*", said)) - KEPT
        assert not names, f"{name}: {said}"
        assert not re.search(r"\w=['\w]", said), f"{name}: {said}"


@pytest.mark.parametrize(
    "name", sorted(set(SIISClassifier._rules) - {"verbose", "affinity", "class_prior", "warm_start"})
)
def test_every_parameter_is_refused_by_the_name_of_its_option(name):
    with pytest.raises(ValueError, match=name) as caught:
        check_parameters(SIISClassifier(**{name: object()}), SIISClassifier._rules)
    assert in_options(str(caught.value)).startswith(f"{OPTIONS[name]} must be ")


@pytest.mark.parametrize(
    ("message", "said"),
    [
        ("Raise max_iter or tol.", "Raise --max-iter or --tol."),
        ("(raise alpha) or smooth less (lower beta), where", "(raise --alpha) or smooth less (lower --beta), where"),
        ("after max_iter=9 iterations, above tol=0.001.", "after --max-iter 9 iterations, above --tol 0.001."),
        ("Use another search, or neighbor_search='exact'.", "Use another search, or --neighbor-search exact."),
        ("use method='paper'", "use --method paper"),
        ("more than n_components=3: Raise n_neighbors, or", "more than --n-components 3: Raise --n-neighbors, or"),
        ("these classes: alpha (80%), beta, tol. The graph", "these classes: alpha (80%), beta, tol. The graph"),
        ("each of the graph or metric is a word", "each of the graph or metric is a word"),
    ],
)
def test_words(message, said):
    assert in_options(message) == said


@pytest.mark.parametrize("command", [("fit", "data.csv"), ("demo",)])
def test_an_empty_output_folder_is_refused(siis, tmp_path, monkeypatch, command):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "data.csv").write_text("a,label\n" + "".join(f"{i},{'xy'[i % 2]}\n" for i in range(20)))
    done = siis(*command, "--out", "")
    assert done.exit_code != 0
    assert "must name a folder" in done.stderr
    assert [path.name for path in tmp_path.iterdir()] == ["data.csv"]
