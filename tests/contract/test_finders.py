"""Published ways to find wrong labels, as the benchmarks have them, on cases with known answers."""

import sys
from pathlib import Path

import numpy as np
import pytest
from scipy.optimize import check_grad
from sklearn.datasets import make_blobs

BENCHMARKS = Path(__file__).parents[2] / "benchmarks"


@pytest.fixture(scope="module")
def modules():
    names = ("finders", "protocol", "other_methods", "trust", "accuracy")
    before = {name: sys.modules.pop(name, None) for name in names}
    sys.path.insert(0, str(BENCHMARKS))
    import finders  # noqa: PLC0415
    import protocol  # noqa: PLC0415

    yield finders, protocol
    sys.path.remove(str(BENCHMARKS))
    for name in names:
        sys.modules.pop(name, None)
    sys.modules.update({name: module for name, module in before.items() if module is not None})


def exact_consensus(T, p):
    third = np.einsum("k,ka,kb,kc->abc", p, T, T, T)
    return third.sum(axis=(1, 2)), third.sum(axis=2), third


def test_hoc_finds_the_matrix_behind_exact_frequencies(modules):
    finders, _ = modules
    T = np.array([[0.7, 0.2, 0.1], [0.05, 0.9, 0.05], [0.3, 0.0, 0.7]])
    p = np.array([0.5, 0.3, 0.2])
    found, shares = finders.fit_consensus(*exact_consensus(T, p))
    np.testing.assert_allclose(found, T, atol=0.02)
    np.testing.assert_allclose(shares, p, atol=0.02)


def test_hoc_follows_its_gradient(modules, monkeypatch):
    finders, _ = modules
    kept = {}

    def remember(loss, start, **options):
        kept["loss"], kept["start"] = loss, start
        return type("Found", (), {"x": start})

    monkeypatch.setattr(finders, "minimize", remember)
    rng = np.random.default_rng(0)
    third = rng.dirichlet(np.ones(64)).reshape(4, 4, 4)
    finders.fit_consensus(third.sum(axis=(1, 2)), third.sum(axis=2), third)
    x = kept["start"] + 0.3 * rng.standard_normal(kept["start"].size)
    assert check_grad(lambda v: kept["loss"](v)[0], lambda v: kept["loss"](v)[1], x) < 1e-6


RANKINGS = ("SimiFeat, vote", "SimiFeat, rank", "in-sample margin", "cleanlab, best of three")


@pytest.mark.parametrize("name", RANKINGS)
def test_a_ranking_puts_wrong_labels_first(modules, name):
    finders, _ = modules
    assert tuple(finders.RANKINGS) == RANKINGS
    if name.startswith("cleanlab"):
        pytest.importorskip("cleanlab", reason="cleanlab is of the extra [bench], which tests do not install")
    X, codes, wrong = mislabelled()
    worst = np.argsort(finders.RANKINGS[name](X, codes, 3), kind="stable")[:40]
    assert np.isin(worst, wrong).mean() > 0.9


def test_hoc_estimates_the_share_of_wrong_labels(modules):
    finders, _ = modules
    X, codes, _ = mislabelled()
    T, p = finders.hoc(X, codes, 3)
    assert abs(1 - p @ np.diagonal(T) - 40 / 300) < 0.05


def mislabelled():
    X, truth = make_blobs(300, 5, centers=3, cluster_std=1.0, random_state=3)
    codes, wrong = truth.copy(), np.random.default_rng(0).permutation(300)[:40]
    codes[wrong] = (codes[wrong] + 1) % 3
    return X, codes, wrong


def test_noise_of_each_kind_is_what_it_says(modules):
    _, protocol = modules
    X, truth = make_blobs(300, 5, centers=4, cluster_std=2.0, random_state=3)
    for kind in protocol.NOISE_KINDS:
        given = protocol.make_wrong(X, truth, 0.3, kind, 0)
        assert np.count_nonzero(given != truth) == 90, kind
        np.testing.assert_array_equal(given, protocol.make_wrong(X, truth, 0.3, kind, 0))
    pair = protocol.make_wrong(X, truth, 0.3, "pair", 0)
    assert (pair[pair != truth] == (truth[pair != truth] + 1) % 4).all()
    near = protocol.make_wrong(X, truth, 0.3, "instance", 0)
    other, ease = protocol.nearest_other(X, truth)
    assert (near[near != truth] == other[near != truth]).all()
    assert ease[near != truth].mean() > ease[near == truth].mean()
