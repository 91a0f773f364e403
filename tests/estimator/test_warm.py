"""Warm refits: other labels on the examples of a previous fit."""

import numpy as np
import pytest
import scipy.sparse as sp
from sklearn.datasets import make_blobs

import siis
from digits_case import noisy_digits
from plain import PlainSIIS
from siis import SIISClassifier, load, save
from siis.estimators import warm as warm_module

pytestmark = pytest.mark.slow


@pytest.fixture(scope="module")
def fitted(tmp_path_factory):
    """A model in a file: every test warms a copy of its own."""
    X, y, truth = noisy_digits(600, per_class=15, rate=0.3)
    path = tmp_path_factory.mktemp("warm") / "m.siis"
    siis.save(SIISClassifier().fit(X, y), path)
    return X, y, truth, path


def corrected(model, y, truth, n):
    y, verified = y.copy(), np.zeros(y.size, dtype=bool)
    worst = model.label_ranking()["index"][:n]
    y[worst], verified[worst] = truth[worst], True
    return y, verified


def counted(monkeypatch):
    """How often everything is tried."""
    runs = []
    search = siis.estimators.default_fit.choose_members
    monkeypatch.setattr(siis.estimators.default_fit, "choose_members", lambda *a: runs.append(1) or search(*a))
    return runs


def test_corrections_keep_the_choices_and_give_nearly_the_answers_of_a_new_fit(fitted, monkeypatch):
    X, y, truth, path = fitted
    model = siis.load(path)
    program, quality = model.program_, model.label_quality_
    labels, verified = corrected(model, y, truth, 10)
    runs = counted(monkeypatch)
    model.set_params(warm_start=True).fit(X, labels, verified=verified)
    assert not runs
    assert model.program_ == program
    assert model.average_summary_.count("previous fit were kept") == 1
    np.testing.assert_array_equal(model.transduction_[verified], truth[verified])
    assert (model.label_quality_[verified] == 1).all()
    assert model.dual_gap_ <= 1e-4
    anew = SIISClassifier().fit(X, labels, verified=verified)
    assert runs
    assert np.mean(model.transduction_ == anew.transduction_) > 0.97
    assert abs(model.noise_rate_ - anew.noise_rate_) < 0.12
    others = ~np.isnan(quality) & ~verified
    assert np.corrcoef(model.label_quality_[others], anew.label_quality_[others])[0, 1] > 0.95


def test_the_same_labels_give_the_same_answers_again(fitted):
    X, y, _, path = fitted
    model = siis.load(path)
    before, quality = model.label_distributions_.copy(), model.label_quality_.copy()
    model.set_params(warm_start=True).fit(X, y)
    np.testing.assert_allclose(model.label_distributions_, before, atol=0.02)
    np.testing.assert_allclose(model.label_quality_, quality, atol=0.05)
    model.set_params(warm_start=True).fit(X, y)
    assert model.average_summary_.count("previous fit were kept") == 1


def test_a_new_label_is_judged_without_itself(fitted):
    """A wrong label at an example that was clear: it is no evidence for itself."""
    X, y, truth, path = fitted
    model = siis.load(path)
    clear = int(np.argmax(np.where(y < 0, model.label_distributions_.max(axis=1), 0)))
    assert model.transduction_[clear] == truth[clear]
    labels = y.copy()
    labels[clear] = (truth[clear] + 1) % 10
    model.set_params(warm_start=True).fit(X, labels)
    assert model.held_out_distributions_[clear].argmax() == truth[clear]
    assert model.label_quality_[clear] < 0.5
    assert clear in model.label_issues()["index"]


@pytest.mark.parametrize("what", ["parameters", "seed", "examples", "order", "copies", "classes", "labels", "other"])
def test_the_search_is_run_again_where_choices_may_not_hold(fitted, what, monkeypatch, capfd):
    X, y, truth, path = fitted
    model, labels = siis.load(path).set_params(verbose=1), y.copy()
    if what == "parameters":
        model.set_params(n_neighbors=10)
    elif what == "seed":
        model.set_params(random_state=1)
    elif what == "order":
        X, labels = X[::-1], labels[::-1]
    elif what == "copies":  # the distinct examples and their number are the same
        X, labels, truth = np.vstack([X, X[:20]]), np.r_[y, y[:20]], np.r_[truth, truth[:20]]
        model.fit(X, labels)
        X = np.vstack([X[:-20], X[20:40]])
    elif what == "examples":
        X = X + 1e-3 * np.random.default_rng(0).standard_normal(X.shape)
    elif what == "classes":
        labels[np.flatnonzero(y < 0)[:2]] = 77
    elif what == "labels":
        labels[np.flatnonzero(y < 0)[:100]] = truth[np.flatnonzero(y < 0)[:100]]
    else:
        labels = np.where(y >= 0, 9 - y, -1)
    runs = counted(monkeypatch)
    capfd.readouterr()
    model.set_params(warm_start=True).fit(X, labels)
    assert runs == [1]
    assert "everything is tried anew: " in capfd.readouterr().err
    assert "previous fit" not in model.average_summary_


def test_the_search_is_run_again_where_clearly_fewer_labels_are_predicted(fitted, monkeypatch):
    X, y, truth, path = fitted
    model, labels = siis.load(path), y.copy()
    monkeypatch.setattr(warm_module, "CHANGED", 1.0)
    right = np.flatnonzero(y == truth)
    most = right[np.arange(right.size) % 4 > 0]
    labels[most] = (truth[most] + 1) % 10  # what is left of the labels follows them no more
    runs = counted(monkeypatch)
    model.set_params(warm_start=True).fit(X, labels)
    assert runs == [1]


def test_where_no_label_could_be_held_out_the_search_is_run_again(fitted):
    X, _, truth, _ = fitted
    alone = np.full(truth.size, -1)
    for k in range(10):
        alone[np.flatnonzero(truth == k)[0]] = k
    with pytest.warns(UserWarning, match="no label can be held out"):
        model = SIISClassifier(n_components=20).fit(X, alone)
    more = alone.copy()
    more[np.flatnonzero(truth == 0)[1:3]] = 0
    model.set_params(warm_start=True).fit(X, more)
    assert "previous fit" not in model.average_summary_


def test_a_warm_start_without_a_former_fit_is_a_fit(fitted):
    X, y, _, path = fitted
    model = SIISClassifier(warm_start=True).fit(X, y)
    assert model.transduction_.tobytes() == siis.load(path).transduction_.tobytes()
    plain = PlainSIIS().fit(X, y)
    assert plain.set_params(warm_start=True).fit(X, y).transduction_.tobytes() == plain.transduction_.tobytes()


def test_a_ready_made_graph_and_sparse_examples_are_warmed_too(fitted, monkeypatch):
    X, y, _, path = fitted
    W = siis.load(path).graph_.weights
    vertex = siis.load(path).vertex_
    on_graph = np.full(W.shape[0], -1)
    on_graph[vertex] = y
    for model, examples, labels in (
        (SIISClassifier(affinity="precomputed"), W, on_graph),
        (SIISClassifier(), sp.csr_array(X), y),
    ):
        model.fit(examples, labels)
        runs = counted(monkeypatch)
        verified = np.zeros(labels.size, dtype=bool)
        verified[np.flatnonzero(labels >= 0)[0]] = True
        model.set_params(warm_start=True).fit(examples, labels, verified=verified)
        assert not runs
        monkeypatch.undo()


def blobs(seed=0):
    X, truth = make_blobs(600, centers=4, cluster_std=2.0, random_state=seed, n_features=6)
    rng = np.random.default_rng(seed)
    labelled = rng.permutation(600)[:150]
    y = np.full(600, -1)
    y[labelled] = truth[labelled]
    wrong = labelled[:40]
    y[wrong] = (truth[wrong] + rng.integers(1, 4, 40)) % 4
    return X, truth, y


def test_wrong_labels_that_are_left_are_found_when_the_worst_are_put_right(tmp_path):
    X, truth, y = blobs()
    model = SIISClassifier().fit(X, y)
    worst = model.label_ranking()["index"]
    for n_checked in (10, 20):  # two rounds, through a file
        verified = np.zeros(600, dtype=bool)
        verified[worst[:n_checked]] = True
        now = np.where(verified, truth, y)
        save(model, tmp_path / "model.siis")
        model = load(tmp_path / "model.siis").set_params(warm_start=True).fit(X, now, verified=verified)
        left = np.flatnonzero((now >= 0) & (now != truth))
        found = model.label_issues()["index"]
        assert np.isin(left, found).mean() > 0.9
        assert np.isin(found, left).mean() > 0.9
        assert model.noise_rate_ == pytest.approx(left.size / (150 - n_checked), abs=0.05)


def test_verified_labels_do_not_drown_the_others_in_models_of_the_features():
    """Three columns of fifteen separate eight classes by thresholds; twenty right labels are marked as checked."""
    rng = np.random.default_rng(2)
    X = rng.uniform(size=(500, 15))
    truth = (X[:, :3] > 0.5) @ [1, 2, 4]
    y = np.full(500, -1)
    y[:160] = truth[:160]
    y[:32] = (truth[:32] + rng.integers(1, 8, 32)) % 8
    verified = np.zeros(500, dtype=bool)
    verified[100:120] = True
    right = [
        np.mean(SIISClassifier().fit(X, y, verified=mask).transduction_[160:] == truth[160:])
        for mask in (None, verified)
    ]
    assert right[1] > right[0] - 0.04


def test_corrections_do_not_lower_the_accuracy_of_the_other_examples():
    change = []
    for rate in (0.2, 0.4):
        for seed in (0, 1):
            X, y, truth = noisy_digits(500, rate=rate, seed=seed)
            others = y < 0
            model = SIISClassifier().fit(X, y)
            before = np.mean(model.transduction_[others] == truth[others])
            labels, verified = corrected(model, y, truth, 10)
            model.set_params(warm_start=True).fit(X, labels, verified=verified)
            change.append(np.mean(model.transduction_[others] == truth[others]) - before)
    assert np.mean(change) > -0.002
