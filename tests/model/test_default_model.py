"""The graph and the program of a fit: what the user fixes, parts of large sets, many classes, programs that fail."""

import re
import sys
import warnings

import numpy as np
import pytest
import scipy.sparse as sp
from sklearn.datasets import make_blobs

from digits_case import noisy_digits
from plain import PlainSIIS
from siis import SIISClassifier
from siis.errors import NumericalError, UnreachedWarning
from siis.estimators.default_fit import constraints_of
from siis.graph import build_neighbor_graph
from siis.labels import VertexLabels
from siis.model.constraints import Constraints
from siis.model.programs import ProgramConfig, build_program, program_configs
from siis.model.sample import draw_sample

pytestmark = pytest.mark.slow

programs_module = sys.modules["siis.model.programs"]
sample_module = sys.modules["siis.model.sample"]
choose_module = sys.modules["siis.model.choose"]
smoothing_module = sys.modules["siis.model.smoothing"]
kernels_module = sys.modules["siis.model.kernels"]
types_module = sys.modules["siis._types"]


def test_a_useless_feature_of_large_scale_is_scaled_down():
    X, truth = make_blobs(300, 4, centers=3, cluster_std=1.0, random_state=0)
    X = np.column_stack([X, 1000 * np.random.default_rng(0).standard_normal(300)])
    y = np.where(np.arange(300) % 5 == 0, truth, -1)
    model = SIISClassifier().fit(X, y)
    assert model.leading_graph_.space == "unit variance"
    assert np.mean(model.transduction_ == truth) > 0.95
    table = model.members_
    assert set(table["member"]) == {
        "graph",
        "kernel",
        "graph and kernel",
        "forest, random splits",
        "forest, best splits",
    }
    assert {"as given", "unit variance", "unit length", "features"} <= set(table["space"])
    assert (np.diff(table["log_likelihood"]) <= 0).all(), "best first"
    assert table["weight"].sum() == pytest.approx(1)
    np.testing.assert_array_equal(table["weight"] > 0, table["chosen"])
    by_space = {name: table["weight"][table["space"] == name].sum() for name in ("unit variance", "as given")}
    assert by_space["unit variance"] > 3 * by_space["as given"]
    assert "held-out given labels" in model.average_summary_


def test_what_the_user_fixes_is_kept():
    X, y, _ = noisy_digits(400)
    model = SIISClassifier(
        n_neighbors=7, connectivity="union", metric="cosine", alpha=3.0, beta=2.0, n_components=40
    ).fit(X, y)
    assert (model.leading_graph_.n_neighbors, model.leading_graph_.connectivity, model.leading_graph_.space) == (
        7,
        "union",
        "unit length",
    )
    assert model.basis_.shape[1] == 40
    has_graph = model.members_["connectivity"] != ""
    graphs = has_graph & np.char.startswith(model.members_["member"].astype(str), "graph")
    assert set(model.members_["n_neighbors"][graphs]) == {7}
    assert set(model.members_["connectivity"][graphs]) == {"union"}
    assert set(model.members_["space"]) <= {"unit length", "features"}
    assert model.solution_.dual.labels.max() <= 3.0 + 1e-9
    wide = SIISClassifier(bandwidth=30.0, metric="euclidean", n_neighbors=7, connectivity="union").fit(X, y)
    assert wide.bandwidth_ == 30.0


def test_one_label_for_each_class_cannot_choose():
    X, truth = make_blobs(60, 3, centers=3, cluster_std=0.3, random_state=0)
    y = np.full(60, -1)
    for k in range(3):
        y[np.flatnonzero(truth == k)[0]] = k
    with pytest.warns(UserWarning, match="nothing could be chosen.*two examples or more"):
        model = SIISClassifier().fit(X, y)
    assert np.isnan(model.noise_rate_)
    assert np.mean(model.transduction_ == truth) > 0.9


def test_a_ready_made_graph_is_smoothed_with_several_strengths():
    X, y, truth = noisy_digits(500)
    placed = build_neighbor_graph(X, 10, kind="mutual")
    graph = placed.graph.weights[placed.vertex][:, placed.vertex]
    model = SIISClassifier(affinity="precomputed").fit(graph, y)
    assert set(model.members_["member"]) == {"graph"}
    assert set(model.members_["fidelity"]) == {0.01, 0.1, 1.0}
    assert np.mean(model.transduction_ == truth) > 0.85
    np.testing.assert_array_equal(model.predict(graph), model.transduction_)


@pytest.mark.parametrize("most_dense", [10_000, 500], ids=["dense", "by conjugate gradients"])
def test_a_large_set_is_searched_in_part(monkeypatch, most_dense):
    """Members are chosen on a sample and fitted to all examples."""
    X, y, truth = noisy_digits(700)
    monkeypatch.setattr(choose_module, "MOST_TRIED", 300)
    monkeypatch.setattr(choose_module, "MOST_DENSE", most_dense)
    monkeypatch.setattr(sample_module, "MOST_VERTICES", 300)
    monkeypatch.setattr(sample_module, "LEAST_LABELS", 80)
    monkeypatch.setattr(sample_module, "MOST_LABELS", 80)
    sizes = []
    search = kernels_module.candidate_neighbors
    monkeypatch.setattr(
        kernels_module,
        "candidate_neighbors",
        lambda points, *rest: sizes.append(len(points)) or search(points, *rest),
    )
    model = SIISClassifier().fit(X, y)
    assert model.graph_.n_vertices == 700
    assert set(sizes) == ({300, 700} if most_dense > 700 else {300})
    assert not np.isnan(model.label_quality_[y >= 0]).any()
    assert np.isfinite(model.held_out_distributions_[y >= 0]).all()
    assert np.mean(model.transduction_ == truth) > 0.85


def test_the_part_that_is_searched_has_labels_as_thinly_spread(monkeypatch):
    monkeypatch.setattr(sample_module, "MOST_VERTICES", 300)
    monkeypatch.setattr(sample_module, "LEAST_LABELS", 10)
    X = np.random.default_rng(0).standard_normal((3000, 2))
    given = VertexLabels(np.arange(0, 3000, 10), np.eye(2)[np.arange(300) % 2], np.ones(300))
    part = draw_sample(X, given, 0)
    assert part.X.shape == (300, 2)
    assert part.given.rows.size == 30
    np.testing.assert_array_equal(part.X[part.given.rows], X[given.rows[part.labels]])
    np.testing.assert_array_equal(part.given.Y, given.Y[part.labels])
    whole = draw_sample(X[:250], given.subset(np.arange(25)), 0)
    np.testing.assert_array_equal(whole.X, X[:250])
    assert whole.labels.size == 25


@pytest.mark.parametrize("kind", ["dense", "sparse"])
def test_many_classes_are_searched_in_groups_of_near_ones(kind):
    """The search sees classes next to each other and the examples around them; the answer is on all."""
    rng = np.random.default_rng(0)
    n, c = 3000, 150
    truth = rng.integers(0, c, n)
    centers = rng.normal(size=(c, 12))
    X = centers[truth] + 0.3 * rng.normal(size=(n, 12))
    X = sp.csr_array(np.where(np.abs(X) > 0.5, np.abs(X), 0.0)) if kind == "sparse" else 5 + 100 * X
    y = np.full(n, -1)
    for k in range(c):
        y[np.flatnonzero(truth == k)[:6]] = k
    part = draw_sample(X, VertexLabels(np.flatnonzero(y >= 0), np.eye(c)[y[y >= 0]], np.ones((y >= 0).sum())), 0)
    assert 64 <= part.classes.size <= 160
    assert part.given.n_classes == part.classes.size
    assert set(part.classes[part.given.codes]) <= set(y[y >= 0][part.labels])
    assert part.X.shape[0] < n
    model = SIISClassifier(n_components=50).fit(X, y)
    assert model.classes_.size == c
    assert np.isfinite(model.label_quality_[y >= 0]).all()
    assert np.isfinite(model.held_out_distributions_[y >= 0]).all(), "every label is held out on the finished graph"
    assert np.mean(model.transduction_ == truth) > (0.9 if kind == "dense" else 0.6)


def many_classes(n_labels):
    rng = np.random.default_rng(0)
    truth = np.arange(700) % 70
    X = 1.5 * rng.normal(size=(70, 10))[truth] + rng.normal(size=(700, 10))
    y = np.where(np.arange(700) < 70 * n_labels, truth, -1)
    return X, y, truth


def test_many_classes_of_one_label_each_are_answered():
    X, y, truth = many_classes(1)
    with pytest.warns(UserWarning, match="nothing could be chosen.*two examples or more"):
        model = SIISClassifier(n_components=80).fit(X, y)
    assert np.mean(model.transduction_ == truth) > 0.3


def test_where_classes_are_too_many_for_a_program_the_average_answers(monkeypatch):
    monkeypatch.setattr(programs_module, "MOST_COLUMNS", 60)
    X, y, truth = many_classes(3)
    model = SIISClassifier().fit(X, y)
    assert model.solution_.coefficients.shape[1] == programs_module.FEW_COLUMNS
    assert model.dual_gap_ <= model.tol
    again = PlainSIIS().fit(X, y)
    assert np.mean(model.transduction_ == truth) > np.mean(again.transduction_ == truth) - 0.02


def test_a_program_with_fewer_columns_than_classes_has_no_weight(monkeypatch):
    monkeypatch.setattr(programs_module, "MOST_COLUMNS", 60)
    X, y, _ = many_classes(3)
    families = SIISClassifier().fit(X, y).families_
    assert dict(zip(families["family"], families["weight"], strict=True)).get("program", 0.0) == 0


def test_answers_of_very_many_examples_and_classes_are_held_in_single_precision(monkeypatch):
    monkeypatch.setattr(programs_module, "MOST_COLUMNS", 60)
    X, y, _ = many_classes(3)
    double = SIISClassifier(random_state=0).fit(X, y)
    monkeypatch.setattr(types_module, "MOST_IN_DOUBLE", 1000)
    monkeypatch.setattr(smoothing_module, "MOST_AT_ONCE", 1000)
    monkeypatch.setattr(smoothing_module, "LEAST_COLUMNS", 8)
    single = SIISClassifier(random_state=0).fit(X, y)
    for name in ("label_distributions_", "held_out_distributions_"):
        assert getattr(double, name).dtype == np.float64
        assert getattr(single, name).dtype == np.float32, name
    assert single.result_.vertex_distributions.dtype == np.float32
    assert np.mean(single.transduction_ == double.transduction_) > 0.98
    assert np.allclose(single.label_distributions_.sum(axis=1), 1, atol=1e-5)
    assert np.allclose(single.label_quality_[y >= 0], double.label_quality_[y >= 0], atol=0.05)


def test_the_names_of_many_classes_do_not_matter():
    X, y, _ = many_classes(3)
    names = np.random.default_rng(1).permutation(70)
    one = SIISClassifier(n_components=80).fit(X, y)
    other = SIISClassifier(n_components=80).fit(X, np.where(y >= 0, names[y], -1))
    assert (other.leading_graph_, other.program_) == (one.leading_graph_, one.program_)
    assert np.mean(other.transduction_ == names[one.transduction_]) > 0.995


def test_few_different_examples_are_answered():
    X = np.repeat([[0.0], [1.0]], 50, axis=0)
    y = np.full(100, -1)
    y[[0, 1, 2, 50, 51, 52]] = [0, 0, 0, 1, 1, 1]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        model = SIISClassifier().fit(X, y)
    np.testing.assert_array_equal(model.transduction_, X[:, 0])


def test_progress_names_the_stages(capfd):
    X, y, _ = noisy_digits(300)
    SIISClassifier(verbose=1).fit(X, y)
    err = capfd.readouterr().err
    stages = [line.split(" ", 1)[1].rsplit(":", 1)[0] for line in err.splitlines()]
    assert [re.sub(r"\d+", "k", stage) for stage in stages] == [
        "members: k spaces",
        "average",
        "graph",
        "basis",
        "solve",
    ]


def test_the_usual_program_is_solved_and_what_the_user_sets_is_kept():
    X, y, _ = noisy_digits(500)
    model = SIISClassifier().fit(X, y)
    usual = program_configs(Constraints(), 10)[0]
    assert model.program_ == usual
    assert (usual.n_components, usual.beta, usual.alpha, usual.laplacian) == (60, 30.0, 1.0, "normalized")
    assert model.basis_.shape[1] == 60
    assert model.basis_.laplacian == "normalized"
    fixed = SIISClassifier(alpha=7.0, beta=2.0, n_components=40, laplacian="unnormalized").fit(X, y)
    assert fixed.basis_.shape[1] == 40
    assert fixed.basis_.laplacian == "unnormalized"
    assert (fixed.program_.alpha, fixed.program_.beta) == (None, None)
    P = np.full((fixed.graph_.n_vertices, 10), 0.1)
    program = build_program(fixed.graph_, fixed.basis_, P, fixed.program_, constraints_of(fixed))
    assert set(program.alpha) == {7.0}
    assert program.beta == 2.0


def test_programs_to_try_keep_what_the_user_fixes():
    free = program_configs(Constraints(), 10)
    assert free[0] == ProgramConfig(60, 30.0, 1.0, "normalized")
    assert {c.laplacian for c in free} == {"normalized", "unnormalized"}
    assert len(set(free)) == len(free) == 3
    assert program_configs(Constraints(), 100)[0].n_components == 120
    fixed = program_configs(Constraints(alpha=2.0, beta=1.0, n_components=30, laplacian="unnormalized"), 10)
    assert fixed == [ProgramConfig(30, None, None, "unnormalized")]


def test_names_of_classes_do_not_matter():
    X, y, _ = noisy_digits(400)
    other = np.where(y >= 0, 9 - y, -1)
    one, two = SIISClassifier().fit(X, y), SIISClassifier().fit(X, other)
    assert (one.leading_graph_, one.program_) == (two.leading_graph_, two.program_)
    np.testing.assert_array_equal(one.transduction_, 9 - two.transduction_)
    np.testing.assert_allclose(one.label_quality_, two.label_quality_, atol=1e-5)  # smoothing stops at a tolerance


def lost(*args, **kwargs):
    raise NumericalError("lost on purpose")


def small_problem():
    X, truth = make_blobs(200, 3, centers=3, cluster_std=1.0, random_state=0)
    return X, np.where(np.arange(200) % 5 == 0, truth, -1), truth


def test_a_program_that_fails_on_all_examples_gives_way_to_the_next(monkeypatch):
    X, y, truth = small_problem()
    first = SIISClassifier().fit(X, y)
    solved, build = [], programs_module.build_program

    def fails_once(graph, basis, evidence, candidate, constraints):
        if candidate == first.program_:
            lost()
        solved.append(candidate)
        return build(graph, basis, evidence, candidate, constraints)

    monkeypatch.setattr(programs_module, "build_program", fails_once)
    model = SIISClassifier().fit(X, y)
    assert model.program_ == solved[-1] != first.program_
    assert np.mean(model.transduction_ == truth) > 0.9
    assert "1 failed on all examples, and the next was taken" in model.average_summary_
    monkeypatch.setattr(programs_module, "build_program", lost)
    with pytest.raises(NumericalError, match=r"none of the \d+ programs .* lost on purpose.*n_neighbors"):
        model.fit(X, y)
    assert model.program_ == solved[-1], "an earlier fit stays"


def test_many_rows_without_evidence_on_the_small_graphs_are_answered():
    """Six near-equal rows of each kind: with five neighbours every kind is alone, and few kinds have labels."""
    rng = np.random.default_rng(0)
    kinds = rng.standard_normal((150, 2))
    X = np.repeat(kinds, 6, axis=0) + 1e-6 * rng.standard_normal((900, 2))
    truth = np.repeat((kinds[:, 0] > 0).astype(int), 6)
    y = np.full(900, -1)
    rows = np.concatenate([np.arange(6 * k, 6 * k + 5) for k in range(0, 150, 10)])
    y[rows] = truth[rows]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UnreachedWarning)  # a kind or two may stay alone
        model = SIISClassifier().fit(X, y)
    assert np.mean(model.transduction_ == truth) > 0.8
