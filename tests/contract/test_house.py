"""The house: imports point downwards, and `import siis` stays light."""

import ast
import subprocess
import sys
from pathlib import Path

import pytest

import siis
from imports import imported_units

ROOT = Path(siis.__file__).parent
FLOORS = {  # a module may import from floors below its own, and from its own package
    "_types": -1,
    "forecast": -1,
    "errors": -1,
    "engine": 0,
    "progress": 0,
    "files": 0,
    "results": 0,
    "parameters": 0,
    "plain_data": 0,
    "result_table": 0,
    "texts": 0,
    "decisions": 1,
    "encode": 1,
    "graph": 1,
    "labels": 1,
    "spectral": 2,
    "model": 5,
    "quality": 6,
    "program": 3,
    "solvers": 4,
    "estimators": 8,
    "report": 10,
    "validation": 2,
    "baselines": 9,
    "findings": 9,
    "datasets": 7,
    "tables": 7,
    "experiments": 10,
    "saved": 10,
    "workflow": 11,
    "review": 11,
    "distributed": 12,
    "cli": 13,
    "__main__": 14,
    "__init__": 11,
}


def imports():
    for path in sorted(ROOT.rglob("*.py")):
        parts = path.relative_to(ROOT).with_suffix("").parts
        for line, target in imported_units(path.read_text(), ".".join(["siis", *parts]), FLOORS):
            yield f"{path}:{line}", parts[0], target


def test_imports_point_downwards():
    found = list(imports())
    assert len(found) > 20
    for where, unit, target in found:
        assert unit == target or FLOORS[target] < FLOORS[unit], f"{where} imports siis.{target}"


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


@pytest.mark.parametrize("form", FORMS.strip().splitlines())
def test_every_form_of_import_is_seen(form):
    found = [unit for _, unit in imported_units(form, "siis.graph.weights", FLOORS)]
    assert set(found) - {"graph"} == {"estimators"}


@pytest.mark.parametrize("form", ["import siis", "from siis import SIISClassifier", "from .. import load"])
def test_the_face_of_the_package_is_a_floor_of_its_own(form):
    assert [unit for _, unit in imported_units(form, "siis.graph.weights", FLOORS)] == ["__init__"]


def test_a_module_whose_name_is_put_together_has_no_floor():
    ((_, unit),) = imported_units('import_module(f"siis.{name}")', "siis.graph.weights", FLOORS)
    assert unit not in FLOORS


def test_what_is_no_import_of_a_unit_is_not_taken_for_one():
    for text in ("from . import weights", "from .order import x", "from siis import __version__", "import siisx.cli"):
        assert {unit for _, unit in imported_units(text, "siis.graph.neighbor_graph", FLOORS)} <= {"graph"}
    assert not list(
        imported_units("raise ValueError(f'siis {x}: see siis.cli for more')", "siis.graph.neighbor_graph", FLOORS)
    )


def test_the_core_knows_no_array_library_but_by_its_engine():
    """Compiled loops and NumPy's blocks are fast paths of one engine; ``tests/engine`` runs the core without them."""
    core = [*(ROOT / "spectral").glob("*.py"), *(ROOT / "solvers").glob("*.py"), ROOT / "program.py"]
    for path in [*core, ROOT / "model" / "smoothing.py"]:
        for node in ast.walk(ast.parse(path.read_text())):
            if isinstance(node, ast.ImportFrom | ast.Import):
                names = [node.module or ""] if isinstance(node, ast.ImportFrom) else [a.name for a in node.names]
                for name in names:
                    assert not name.startswith(
                        ("numba", "torch", "dask", "siis.engine.loops", "siis.engine.blocks")
                    ), path


def test_import_is_light():
    """`import siis` brings nothing in; the classifier brings in what scikit-learn does, and Numba, and no more."""
    heavy = "{'sklearn', 'scipy', 'matplotlib', 'pandas', 'polars', 'torch', 'dask', 'faiss', 'numba', 'cvxpy'}"
    code = f"import sys, siis; print(sorted({heavy} & set(sys.modules)))"
    assert _run(code) == "[]"
    code = f"import sys, sklearn.neighbors, scipy.sparse.csgraph; before = {heavy} & set(sys.modules);"
    code += f"from siis import SIISClassifier; print(sorted(({heavy} & set(sys.modules)) - before))"
    assert _run(code) == "['numba']"
    assert (
        _run("import sys; from siis.distributed import DaskSIISClassifier; print('dask' in sys.modules)") == "False"
    )


def _run(code):
    return subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout.strip()
