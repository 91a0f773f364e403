"""CONTRIBUTING.md names what is there, and imports point downwards through the layers of its table."""

import ast
import re
import runpy
import subprocess
import sys
from pathlib import Path

import pytest

import siis
from imports import imported_units, unit_of

ROOT = Path(__file__).parent.parent.parent
SOURCE = Path(siis.__file__).parent
PAGE = (ROOT / "CONTRIBUTING.md").read_text()
NAMED = r"`([\w.-]*/[\w./-]*|[\w-]+\.(?:py|md|toml))`|\]\(([\w./-]+)\)"  # code that is a path, and links
PATHS = sorted({one or other for one, other in re.findall(NAMED, PAGE)})
CHANGES = PAGE.split("| to change |")[1].splitlines()[2:]
TABLE = {  # a module may import from layers below its own, and from its own package
    name.removesuffix("/").removesuffix(".py").replace("/", "."): int(layer)
    for layer, units in re.findall(r"^\| (\d+) \| (.*?) \|", PAGE, re.MULTILINE)
    for name in re.findall(r"`([\w./]+)`", units)
}
LAYERS = {**TABLE, "_types": -1, "errors": -1, "__init__": 11, "__main__": 14}


@pytest.mark.parametrize("path", PATHS)
def test_every_path_exists(path):
    """Relative to the repository, or to the package."""
    assert (ROOT / path).exists() or (SOURCE / path).exists()


def test_paths_are_found():
    """In code and in links, files and folders."""
    assert {"docs/math.md", "labels/", "tests/contract", "pyproject.toml", "decisions.py"} <= set(PATHS)
    assert len(PATHS) > 60
    assert len(CHANGES) >= 12


@pytest.mark.parametrize("row", CHANGES, ids=lambda row: row.split("|")[1].strip())
def test_every_change_names_a_file_and_a_test(row):
    _, _, opened, guards, _ = row.split("|")
    assert [path for path in PATHS if f"`{path}`" in opened]
    assert re.fullmatch(r"(`tests/\w+/test_\w+\.py`[ ,]*)+", guards.strip())


def test_the_table_of_imports_is_of_the_source():
    """As ``python docs/layers.py`` writes it and ``docs/fill.py`` puts it into the page."""
    found = runpy.run_path(str(ROOT / "docs" / "layers.py"))["diagram"]()
    assert (ROOT / "docs" / "layers.txt").read_text() == found
    assert found in PAGE
    assert "estimators    quality, model, program" in found


def test_every_unit_has_its_layer():
    units = {path.stem for path in SOURCE.iterdir() if path.suffix == ".py" or (path / "__init__.py").exists()}
    assert {name.partition(".")[0] for name in TABLE} == units - {"__init__", "__main__", "_types"}


def test_imports_point_downwards():
    n_imports = 0
    for path in sorted(SOURCE.rglob("*.py")):
        module = ".".join(["siis", *path.relative_to(SOURCE).with_suffix("").parts])
        unit = unit_of(module, LAYERS)
        for line, target in imported_units(path.read_text(), module, LAYERS):
            assert unit == target or LAYERS[target] < LAYERS[unit], f"{path}:{line} imports siis.{target}"
            n_imports += 1
    assert n_imports > 20


FORMS = """
import siis.estimators
import numpy, siis.estimators as c
from siis.estimators import SIISClassifier
from siis import estimators
from siis import graph, estimators as c
from .. import estimators
from ..estimators import SIISClassifier
def f(): from siis import estimators
def f(): import siis.estimators
class A: from siis.estimators import SIISClassifier
if TYPE_CHECKING: from siis.estimators import SIISClassifier
if TYPE_CHECKING: from siis import estimators
import_module("siis.estimators")
importlib.import_module("..estimators", __package__)
__import__("siis.estimators")
HOMES = {"SIISClassifier": "siis.estimators"}; import_module(HOMES[name])
import_module(f"siis.estimators.{name}")
"""


def units_of(text):
    return {unit for _, unit in imported_units(text, "siis.graph.weights", LAYERS)}


@pytest.mark.parametrize("form", FORMS.strip().splitlines())
def test_every_form_of_import_is_seen(form):
    assert units_of(form) - {"graph"} == {"estimators"}


@pytest.mark.parametrize("form", ["import siis", "from siis import SIISClassifier", "from .. import load"])
def test_the_names_of_the_package_itself_are_a_layer(form):
    assert units_of(form) == {"__init__"}


def test_a_module_whose_name_is_put_together_has_no_layer():
    (unit,) = units_of('import_module(f"siis.{name}")')
    assert unit not in LAYERS


def test_what_is_no_import_of_a_unit_is_not_taken_for_one():
    for text in ("from . import weights", "from .order import x", "from siis import __version__", "import siisx.cli"):
        assert units_of(text) <= {"graph"}
    assert not units_of("raise ValueError(f'siis {x}: see siis.cli for more')")


def test_the_core_knows_no_array_library_but_by_its_engine():
    """Compiled loops and NumPy's blocks are fast paths of one engine; ``tests/engine`` runs the core without them."""
    foreign = ("numba", "torch", "dask", "siis.engine.loops", "siis.engine.blocks")
    core = {"program", "smoothing.py"}
    for path in (path for path in SOURCE.rglob("*.py") if core & set(path.relative_to(SOURCE).parts)):
        for node in ast.walk(ast.parse(path.read_text())):
            if isinstance(node, ast.ImportFrom | ast.Import):
                names = [node.module or ""] if isinstance(node, ast.ImportFrom) else [a.name for a in node.names]
                assert not any(name.startswith(foreign) for name in names), path


def test_import_is_light():
    """`import siis` brings nothing in; the classifier brings in what scikit-learn does, and Numba, and no more."""
    heavy = "{'sklearn', 'scipy', 'matplotlib', 'pandas', 'polars', 'torch', 'dask', 'faiss', 'numba', 'cvxpy'}"
    code = f"import sys, siis; print(sorted({heavy} & set(sys.modules)))"
    assert _printed(code) == "[]"
    code = f"import sys, sklearn.neighbors, scipy.sparse.csgraph; before = {heavy} & set(sys.modules);"
    code += f"from siis import SIISClassifier; print(sorted(({heavy} & set(sys.modules)) - before))"
    assert _printed(code) == "['numba']"


def _printed(code):
    return subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout.strip()
