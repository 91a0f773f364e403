"""The house: imports point downwards, `import siis` stays light, and nothing large is formed."""

import ast
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

import siis
from memory import peak
from siis.graph import Graph, gaussian_weights, median_bandwidth, neighbors_within
from siis.program import Program
from siis.solvers import solve_certified, solve_paper
from siis.spectral import smooth_basis

ROOT = Path(siis.__file__).parent
FLOORS = {  # a module may import from floors below its own, and from its own package
    "_types": -1,
    "errors": -1,
    "engine": 0,
    "progress": 0,
    "files": 0,
    "results": 0,
    "parameters": 0,
    "table": 0,
    "graph": 1,
    "labels": 1,
    "spectral": 2,
    "evidence": 2,
    "selection": 5,
    "trust": 3,
    "program": 3,
    "solvers": 4,
    "transductive": 5,
    "automatic": 6,
    "classifier": 7,
    "report": 8,
    "validation": 2,
    "baselines": 6,
    "datasets": 6,
    "tables": 6,
    "experiments": 8,
    "saved": 8,
    "job": 9,
    "cli": 10,
    "__main__": 11,
    "__init__": 9,
}


def imports():
    for path in sorted(ROOT.rglob("*.py")):
        unit = path.relative_to(ROOT).parts[0].removesuffix(".py")
        for node in ast.walk(ast.parse(path.read_text())):
            names = []
            if isinstance(node, ast.ImportFrom) and node.module:
                names = [node.module]
            elif isinstance(node, ast.Import):
                names = [alias.name for alias in node.names]
            for name in names:
                if name.startswith("siis."):
                    yield path, unit, name.split(".")[1]


def test_imports_point_downwards():
    found = list(imports())
    assert len(found) > 20
    for path, unit, target in found:
        assert unit == target or FLOORS[target] < FLOORS[unit], f"{path} imports siis.{target}"


def test_the_core_knows_no_array_library_but_by_its_engine():
    """Compiled loops and NumPy's blocks are fast paths of one engine; ``tests/engine`` runs the core without them."""
    core = [*(ROOT / "spectral").glob("*.py"), *(ROOT / "solvers").glob("*.py"), ROOT / "program.py"]
    for path in [*core, ROOT / "evidence" / "smoother.py"]:
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


def _run(code):
    return subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout.strip()


@pytest.fixture
def cloud():
    rng = np.random.default_rng(0)
    near = neighbors_within(rng.standard_normal((3000, 12)), 10)
    return Graph.from_neighbors(near, gaussian_weights(near, median_bandwidth(near)))


def test_nothing_of_size_n_by_n_or_edges_by_m_is_formed(cloud):
    n, m, c = cloud.n_vertices, 120, 3
    basis, used = peak(lambda: smooth_basis(cloud, m))
    assert used < 8 * n * n / 1.5
    rows = np.arange(0, n, 20)
    program = Program(cloud, basis, rows, np.eye(c)[rows % c], 100.0, 1.0)
    for solve in (solve_certified, solve_paper):
        _, used = peak(lambda solve=solve: solve(program))
        assert used < 8 * cloud.n_edges * m / 1.5
