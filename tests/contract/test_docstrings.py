"""Estimators say what they are in numpydoc's form: every parameter with its default, See Also, References."""

import inspect
import re
from importlib import import_module
from pathlib import Path

import pytest

import siis
from siis import SIISClassifier, baselines
from siis.distributed import DaskSIISClassifier
from siis.tables import TableEncoder

BASELINES = [getattr(baselines, name) for name in baselines.__all__]
SOLVERS = sorted((Path(siis.__file__).parent / "solvers").glob("[a-z]*.py"))


def section(estimator, title):
    """Lines of a section of the docstring."""
    pattern = rf"^{title}\n-+\n(.*?)(?=^\S[^\n]*\n-+\n|\Z)"
    found = re.search(pattern, inspect.getdoc(estimator), re.MULTILINE | re.DOTALL)
    assert found, f"{estimator.__name__} has no section {title}"
    return found[1]


@pytest.mark.parametrize("estimator", [SIISClassifier, TableEncoder, *BASELINES])
def test_every_parameter_has_its_own_entry_with_its_default(estimator):
    entries = dict(re.findall(r"^(\w+) : (.*)$", section(estimator, "Parameters"), re.MULTILINE))
    defaults = {name: p.default for name, p in inspect.signature(estimator).parameters.items()}
    assert list(entries) == list(defaults)
    for name, default in defaults.items():
        said = f'"{default}"' if isinstance(default, str) else repr(default)
        assert entries[name].endswith(f", default={said}"), f"{name} : {entries[name]}"


@pytest.mark.parametrize("estimator", [SIISClassifier, DaskSIISClassifier, TableEncoder, *BASELINES])
def test_see_also_names_what_there_is(estimator):
    named = re.findall(r"^(siis[\w.]+) : \S", section(estimator, "See Also"), re.MULTILINE)
    assert named
    for name in named:
        home, _, last = name.rpartition(".")
        assert hasattr(import_module(home), last), name


@pytest.mark.parametrize("estimator", [SIISClassifier, DaskSIISClassifier, *BASELINES])
def test_references_are_cited_and_name_the_paper(estimator):
    references = section(estimator, "References")
    assert "Learning with Inadequate and Incorrect Supervision" in " ".join(references.split())
    numbers = re.findall(r"^\.\. \[(\d+)\] ", references, re.MULTILINE)
    cited = re.findall(r"\[(\d+)\]_", inspect.getdoc(estimator))
    assert numbers == [str(k) for k in range(1, len(numbers) + 1)]
    assert set(cited) == set(numbers)  # Sphinx refuses one that nothing refers to


@pytest.mark.parametrize("path", [path for path in SOLVERS if path.stem != "solution"], ids=lambda path: path.stem)
def test_solvers_name_the_program_that_they_solve(path):
    assert "minimise over A" in inspect.getdoc(import_module("siis.program"))
    assert "(M1)" in inspect.getdoc(import_module(f"siis.solvers.{path.stem}"))
