"""The pages say what the code does: parameters, public names, code that runs, links that lead somewhere."""

import importlib
import inspect
import re
from pathlib import Path

import numpy as np
import pytest
from sklearn.datasets import load_digits

import siis
from programs import random_program
from siis import SIISClassifier

pytestmark = pytest.mark.slow

ROOT = Path(__file__).parent.parent.parent
DOCS = ROOT / "docs"
PACKAGES = [
    "baselines",
    "cluster",
    "datasets",
    "encode",
    "engine",
    "graph",
    "labels",
    "quality",
    "report",
    "solvers",
    "spectral",
    "tables",
    "validation",
]
INSIDE = [
    "cli",
    "estimators",
    "evidence",
    "experiments",
    "experts",
    "review",
    "saved",
    "selection",
    "shards",
    "workflow",
]  # only the house uses them


def test_every_parameter_has_its_entry():
    """One entry each, and none for what does not exist."""
    found = re.findall(r"^`(\w+)`\n: ", (DOCS / "parameters.md").read_text(), re.MULTILINE)
    assert sorted(found) == sorted(inspect.signature(SIISClassifier).parameters)


def _listed(page):
    section = re.search(r"\.\. autosummary::\n(.*?)```", (DOCS / "api" / page).read_text(), re.DOTALL)[1]
    return sorted(re.findall(r"^   (\w+)$", section, re.MULTILINE))


@pytest.mark.parametrize("package", PACKAGES)
def test_the_reference_lists_every_public_name(package):
    public = importlib.import_module(f"siis.{package}").__all__
    assert _listed(f"{package}.md") == sorted(public), f"list the names of siis.{package} in docs/api/{package}.md"


def test_the_reference_lists_what_siis_itself_offers():
    assert _listed("classifier.md") == sorted(set(siis.__all__) - {"__version__"}), (
        "list it in docs/api/classifier.md"
    )


def test_every_package_is_in_the_reference():
    found = {path.parent.name for path in Path(siis.__file__).parent.glob("*/__init__.py")}
    assert found <= {*PACKAGES, *INSIDE}, "add the package to docs/api, or to those that only the house uses"


def _code(page, part):
    return re.findall(r"^```python\n(.*?)^```", (DOCS / page).read_text(), re.MULTILINE | re.DOTALL)[part]


def test_the_rival_of_the_page_classifies():
    names = {}
    exec(_code("extending.md", 0), names)
    X, truth = load_digits(return_X_y=True)
    X, truth = X[:500], truth[:500]
    y = np.where(np.arange(500) < 100, truth, -1)
    model = names["AveragingClassifier"]().fit(X, y)
    assert np.mean(model.transduction_[100:] == truth[100:]) > 0.7
    with pytest.raises(ValueError, match="rounds"):
        names["AveragingClassifier"](rounds=0).fit(X, y)


@pytest.mark.parametrize("seed", [3, 4, 8, 10])
def test_the_solver_of_the_page_reaches_its_gap(seed):
    names = {}
    exec(_code("extending.md", 1), names)
    program = random_program(seed)
    assert program.gamma > 0
    assert program.beta > 0
    solution = names["solve_reweighted"](program)
    assert solution.status == "certified"
    assert program.relative_gap(program.value(solution.coefficients), solution.dual.value) <= 1e-2


def test_the_ten_lines_run(capsys):
    exec(_code("index.md", 0), {})
    assert float(re.search(r"correct: ([\d.]+)", capsys.readouterr().out)[1]) > 0.8


def test_the_encoder_of_the_page_classifies(capsys, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    exec(_code("encoders.md", 0), {})
    assert float(re.search(r"correct: ([\d.]+)", capsys.readouterr().out)[1]) > 0.9


def _pages():
    return sorted([*DOCS.glob("*.md"), *(DOCS / "api").glob("*.md"), *(DOCS / "decisions").glob("*.md")])


@pytest.mark.parametrize("page", _pages(), ids=lambda page: str(page.relative_to(DOCS)))
def test_links_between_pages_lead_somewhere(page):
    """Also where a page is read as it is, outside of the site. Pages of the gallery stand for their scripts."""
    for target in re.findall(r"\]\(([^)#\s]+)", page.read_text()):
        if target.startswith("gallery/"):
            name = Path(target).stem
            assert name == "index" or (ROOT / "examples" / "gallery" / f"{name}.py").exists(), target
        elif "://" not in target:
            assert (page.parent / target).exists(), target
