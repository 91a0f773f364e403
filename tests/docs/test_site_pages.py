"""The pages say what the code does: parameters, public names, code that runs, links that lead somewhere."""

import importlib
import inspect
import re
import runpy
import sys
from contextlib import suppress
from pathlib import Path
from unittest import SkipTest

import numpy as np
import pytest
from sklearn.datasets import load_digits
from sklearn.utils.estimator_checks import estimator_checks_generator

import siis
from programs import random_program
from siis import SIISClassifier

pytestmark = pytest.mark.slow

ROOT = Path(__file__).parent.parent.parent
DOCS = ROOT / "docs"
PACKAGES = [
    "baselines",
    "datasets",
    "distributed",
    "encode",
    "engine",
    "graph",
    "labels",
    "report",
    "solvers",
    "spectral",
    "tables",
    "validation",
]
INSIDE = [
    "cli",
    "estimators",
    "experiments",
    "model",
    "quality",
    "review",
    "saved",
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


def _tests(path):
    """Functions of a test module, to be called on what a page defines."""
    return runpy.run_path(str(ROOT / "tests" / path))


def _module(name, part, tmp_path, monkeypatch):
    """A file of docs/extending.md as a module, as it would be in the package."""
    (tmp_path / f"{name}.py").write_text(_code("extending.md", part))
    monkeypatch.syspath_prepend(tmp_path)
    monkeypatch.delitem(sys.modules, name, raising=False)
    return importlib.import_module(name)


@pytest.fixture
def baseline(tmp_path, monkeypatch):
    return _module("averaging_of_the_page", 0, tmp_path, monkeypatch).AveragingClassifier


@pytest.fixture
def solver(tmp_path, monkeypatch):
    return _module("reweighted_of_the_page", 1, tmp_path, monkeypatch)


def test_the_baseline_of_the_page_classifies(baseline):
    X, truth = load_digits(return_X_y=True)
    X, truth = X[:500], truth[:500]
    y = np.where(np.arange(500) < 100, truth, -1)
    model = baseline().fit(X, y)
    assert np.mean(model.transduction_[100:] == truth[100:]) > 0.7
    with pytest.raises(ValueError, match="rounds"):
        baseline(rounds=0).fit(X, y)


@pytest.mark.parametrize(
    ("module", "test"),
    [
        ("contract/test_keywords.py", "test_parameters_of_classifiers_are_keywords"),
        ("contract/test_docstrings.py", "test_every_parameter_has_its_own_entry_with_its_default"),
        ("contract/test_docstrings.py", "test_see_also_names_what_there_is"),
        ("contract/test_docstrings.py", "test_references_are_cited_and_name_the_paper"),
        ("baselines/test_baselines.py", "test_far_from_the_origin"),
        ("baselines/test_baselines.py", "test_faces_are_alike"),
    ],
)
def test_the_baseline_of_the_page_passes_the_tests_of_baselines(module, test, baseline):
    _tests(module)[test](baseline)


@pytest.mark.filterwarnings("ignore:n_neighbors=:UserWarning", "ignore:every example:UserWarning")
@pytest.mark.filterwarnings("ignore:y holds only -1:UserWarning", "ignore:.*connected to no label:UserWarning")
@pytest.mark.filterwarnings("ignore:Can't check dok sparse matrix:UserWarning")
def test_the_baseline_of_the_page_passes_the_checks_of_scikit_learn(baseline):
    for estimator, check in estimator_checks_generator(baseline()):
        with suppress(SkipTest):
            check(estimator)


@pytest.mark.parametrize("seed", [3, 4, 8, 10])
def test_the_solver_of_the_page_reaches_its_gap(seed, solver):
    program = random_program(seed)
    assert program.gamma > 0
    assert program.beta > 0
    solution = solver.solve_reweighted(program)
    assert solution.status == "certified"
    assert program.relative_gap(program.value(solution.coefficients), solution.dual.value) <= 1e-2


def test_the_solver_of_the_page_opens_with_its_program_and_stays_small(solver):
    assert "minimise over A" in solver.__doc__
    assert "(M1)" in solver.__doc__
    memory = _tests("contract/test_memory.py")
    memory["check_solver"](solver.solve_reweighted, memory["random_cloud"]())


def test_the_ten_lines_run(capsys):
    exec(_code("index.md", 0), {})
    assert float(re.search(r"correct: ([\d.]+)", capsys.readouterr().out)[1]) > 0.8


def test_the_encoder_of_the_page_classifies(capsys, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    exec(_code("encoders.md", 0), {})
    assert float(re.search(r"correct: ([\d.]+)", capsys.readouterr().out)[1]) > 0.9


@pytest.mark.parametrize(
    ("page", "words"),
    [
        ("when-not.md", "siis.SIISMultilabelClassifier"),
        ("when-not.md", "scale.md#more-than-one-machine"),
        ("fully-labelled.md", "siis.SIISMultilabelClassifier"),
        ("index.md", "write a report"),
        ("math.md", "approximately (`neighbor_recall_`"),
        ("math.md", 'with `method="auto"` as at least a tenth'),
        ("how-it-works.md", "`dual_gap_` certifies that part only"),
        ("trust.md", "were chosen on the data of the first four rows"),
        ("../README.md", "`dual_gap_` then certifies the graph program only"),
    ],
)
def test_pages_state_what_the_product_does(page, words):
    """Each of these pages once said otherwise."""
    assert words in " ".join((DOCS / page).read_text().split())


def test_predict_proba_states_that_models_of_features_take_part():
    assert "families_" in SIISClassifier.predict_proba.__doc__


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
