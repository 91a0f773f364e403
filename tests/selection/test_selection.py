import sys
import warnings
from dataclasses import replace
from types import SimpleNamespace

import numpy as np
import pytest
import scipy.sparse as sp
from sklearn.datasets import make_blobs

from digits_case import noisy_digits
from siis import SIISClassifier
from siis.engine import NUMPY
from siis.errors import NumericalError, UnreachedWarning
from siis.evidence import kernel_scores, read, softmax
from siis.graph import distinct_rows, embed
from siis.graph.rough import graph_weights
from siis.labels import Supervision, gather, one_hot
from siis.selection import Candidate, Constraints, deal_folds, final_program, final_readings, join_scores, smoothed
from siis.selection.candidate import compare, expected_hits
from siis.selection.part import searched_part
from siis.selection.programs import program_candidates

pytestmark = pytest.mark.slow

search_module = sys.modules["siis.selection.search"]
race_module = sys.modules["siis.selection.race"]
programs_module = sys.modules["siis.selection.programs"]
final_module = sys.modules["siis.selection.final"]
smoother_module = sys.modules["siis.evidence.smoother"]
types_module = sys.modules["siis._types"]


def test_folds_never_hold_out_a_whole_class():
    codes = np.array([0, 0, 1, 1, 1, 1, 1, 1, 1, 2, 3, 3])
    folds = deal_folds(one_hot(codes, 4), 0)
    assert folds[9] == -1, "the only label of its class stays"
    assert set(folds[codes == 1]) == {0, 1, 2, 3, 4}
    for fold in range(5):
        assert set(codes[folds != fold]) == {0, 1, 2, 3}
    np.testing.assert_array_equal(folds, deal_folds(one_hot(codes, 4), 0))


def test_comparison_is_paired_and_prefers_the_simpler():
    hits = np.array([[1.0, 1, 1, 1, 0, 0, 0, 0], [1, 1, 1, 0, 0, 0, 0, 0], [0, 0, 0, 0, 0, 0, 0, 0]])
    judged = compare(hits, np.ones(8))
    np.testing.assert_allclose(judged.accuracy, [0.5, 0.375, 0])
    np.testing.assert_allclose(judged.behind_error[1], np.sqrt(np.var([0, 0, 0, 1, 0, 0, 0, 0]) / 8 + 4 / 64))
    assert judged.level(0.6).tolist() == [True, True, False]
    assert judged.winner([(2.0,), (1.0,), (0.0,)], 0.6) == 1
    assert judged.winner([(2.0,), (1.0,), (0.0,)], 0.4) == 0
    heavy = compare(hits, np.array([1.0, 1, 1, 1e-9, 1, 1, 1, 1]))
    assert heavy.behind[1] < 1e-6, "weights count"


def test_a_useless_feature_of_large_scale_is_scaled_down():
    X, truth = make_blobs(300, 4, centers=3, cluster_std=1.0, random_state=0)
    X = np.column_stack([X, 1000 * np.random.default_rng(0).standard_normal(300)])
    y = np.where(np.arange(300) % 5 == 0, truth, -1)
    model = SIISClassifier().fit(X, y)
    assert model.chosen_.space == "unit variance"
    assert np.mean(model.transduction_ == truth) > 0.95
    table = model.selection_
    assert set(table["stage"]) == {"space", "graph", "reading", "program"}
    assert sum(table["chosen"]) == 4
    best = {row["stage"]: row for row in table.rows() if row["chosen"]}
    assert best["space"]["space"] == "unit variance"
    assert best["reading"]["n_held_out"] == 60
    assert "held-out given labels" in model.selection_reason_


def test_a_label_does_not_vouch_for_itself(monkeypatch):
    """Flip one label: what is read where it was held out stays the same, everything else fixed."""
    X, y, _ = noisy_digits(400)
    rows = np.flatnonzero(y >= 0)
    distinct = distinct_rows(X)
    given = gather(distinct.vertex[rows], one_hot(y[rows], 10), np.ones(rows.size)).merged()
    folds = deal_folds(given.Y, 0)
    place = search_module.prepare_space(module_spaces(distinct.X)[0], distinct.X, given, 10)
    heard = [Candidate("as given", w, 10, "mutual", 0.1, 1e-4, "standardized") for w in (1.0, 0.0)]
    i = 5
    flipped = Supervision(given.rows, given.Y.copy(), given.weights)
    flipped.Y[i] = np.roll(given.Y[i], 1)

    def readings(labels):
        graphs_of = search_module.fold_graphs(place, heard, Constraints())
        return search_module._choose_reading(heard, labels, folds, (1e-4,), graphs_of, NUMPY)[2].readings

    monkeypatch.setattr(search_module, "READINGS", ("standardized",))
    assert (folds >= 0).all()

    before, after = readings(given), readings(flipped)
    np.testing.assert_array_equal(before[i], after[i])
    assert not np.array_equal(before, after)


def module_spaces(X):
    return search_module.spaces(X, "euclidean", 0)


def test_what_the_user_fixes_is_kept():
    X, y, _ = noisy_digits(400)
    model = SIISClassifier(n_neighbors=7, graph="union", metric="cosine", alpha=3.0, beta=2.0, n_components=40).fit(
        X, y
    )
    assert (model.chosen_.n_neighbors, model.chosen_.graph, model.chosen_.space) == (7, "union", "unit length")
    assert model.basis_.shape[1] == 40
    assert set(model.selection_["n_neighbors"][model.selection_["stage"] == "graph"]) == {7}
    assert model.solution_.dual.labels.max() <= 3.0 + 1e-9
    wide = SIISClassifier(bandwidth=30.0, metric="euclidean", n_neighbors=7, graph="union").fit(X, y)
    assert wide.bandwidth_ == 30.0


def test_one_label_for_each_class_cannot_choose():
    X, truth = make_blobs(60, 3, centers=3, cluster_std=0.3, random_state=0)
    y = np.full(60, -1)
    for k in range(3):
        y[np.flatnonzero(truth == k)[0]] = k
    with pytest.warns(UserWarning, match="nothing could be chosen.*two examples or more"):
        model = SIISClassifier().fit(X, y)
    assert np.isnan(model.noise_rate_)
    assert model.selection_.n_rows == 0
    assert np.mean(model.transduction_ == truth) > 0.9


def test_a_ready_made_graph_is_smoothed_by_choice():
    X, y, truth = noisy_digits(500)
    placed = embed(X, 10, kind="mutual")
    graph = placed.graph.weights[placed.vertex][:, placed.vertex]
    model = SIISClassifier(affinity="precomputed").fit(graph, y)
    assert set(model.selection_["stage"]) == {"smoothing", "reading", "program"}
    assert np.mean(model.transduction_ == truth) > 0.85
    np.testing.assert_array_equal(model.predict(graph), model.transduction_)


def test_a_large_set_is_searched_in_part(monkeypatch):
    X, y, truth = noisy_digits(700)
    monkeypatch.setattr("siis.selection.part.MOST_VERTICES", 300)
    monkeypatch.setattr("siis.selection.part.SEARCHED", 300)
    monkeypatch.setattr("siis.selection.part.MOST_LABELS", 80)
    model = SIISClassifier().fit(X, y)
    assert model.graph_.n_vertices == 700
    assert max(model.selection_["n_held_out"]) <= 80
    assert not np.isnan(model.label_quality_[y >= 0]).any()
    assert np.mean(model.transduction_ == truth) > 0.85


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
    part = searched_part(X, Supervision(np.flatnonzero(y >= 0), np.eye(c)[y[y >= 0]], np.ones((y >= 0).sum())), 0)
    assert 64 <= part.classes.size <= 160
    assert part.given.n_classes == part.classes.size
    assert set(part.classes[part.given.codes]) <= set(y[y >= 0][part.labels])
    assert part.X.shape[0] < n
    model = SIISClassifier(n_components=50).fit(X, y)
    assert model.classes_.size == c
    assert max(model.selection_["n_held_out"]) < (y >= 0).sum()
    assert np.isfinite(model.label_quality_[y >= 0]).all()
    assert np.isfinite(model.held_out_distributions_[y >= 0]).all(), "every label is held out on the finished graph"
    assert np.mean(model.transduction_ == truth) > (0.9 if kind == "dense" else 0.6)


def many_classes(n_labels):
    rng = np.random.default_rng(0)
    truth = np.arange(700) % 70
    X = 1.5 * rng.normal(size=(70, 10))[truth] + rng.normal(size=(700, 10))
    y = np.where(np.arange(700) < 70 * n_labels, truth, -1)
    return X, y, truth


def test_many_classes_of_one_label_each_are_not_searched():
    X, y, truth = many_classes(1)
    with pytest.warns(UserWarning, match="fewer than 4 labels can be held out"):
        model = SIISClassifier(n_components=80).fit(X, y)
    assert np.mean(model.transduction_ == truth) > 0.3


def test_where_classes_are_too_many_for_a_program_the_evidence_speaks_and_says_why(monkeypatch):
    for module in (final_module, programs_module):
        monkeypatch.setattr(module, "MOST_COLUMNS", 60)
    X, y, truth = many_classes(3)
    model = SIISClassifier().fit(X, y)
    assert model._evidence.selection.answer == "evidence"
    assert model.solution_.coefficients.shape[1] == final_module.FEW_COLUMNS
    assert model.dual_gap_ <= model.tol
    assert model.chosen_.score_weight == 0
    assert "the program has fewer columns than there are classes" in model.selection_reason_
    assert "meets more of them" not in model.selection_reason_, "nobody has compared it"
    again = SIISClassifier(selection=None).fit(X, y)
    assert np.mean(model.transduction_ == truth) > np.mean(again.transduction_ == truth) - 0.02


def test_too_many_classes_of_one_label_each_are_answered_by_the_evidence(monkeypatch):
    for module in (final_module, programs_module):
        monkeypatch.setattr(module, "MOST_COLUMNS", 60)
    X, y, truth = many_classes(1)
    with pytest.warns(UserWarning, match="fewer than 4 labels can be held out"):
        model = SIISClassifier().fit(X, y)
    assert np.mean(model.transduction_ == truth) > 0.3


def test_few_columns_keep_the_norms_of_rows_and_of_differences():
    Y = np.random.default_rng(0).dirichlet(np.full(2000, 0.01), size=300)
    Z = final_module.few_columns(Y)
    assert Z.shape == (300, final_module.FEW_COLUMNS)
    for many, few in ((Y, Z), (Y[1:] - Y[:-1], Z[1:] - Z[:-1])):
        ratio = np.linalg.norm(few, axis=1) / np.linalg.norm(many, axis=1)
        assert abs(ratio.mean() - 1) < 0.02
        assert ratio.std() < 1.5 / np.sqrt(2 * final_module.FEW_COLUMNS)
    assert final_module.few_columns(Y[:, :200]).shape == (300, 200)


def test_answers_of_very_many_examples_and_classes_are_held_in_single_precision(monkeypatch):
    for module in (final_module, programs_module):
        monkeypatch.setattr(module, "MOST_COLUMNS", 60)
    X, y, _ = many_classes(3)
    double = SIISClassifier(random_state=0).fit(X, y)
    monkeypatch.setattr(types_module, "MOST_IN_DOUBLE", 1000)
    monkeypatch.setattr(smoother_module, "MOST_AT_ONCE", 1000)
    monkeypatch.setattr(smoother_module, "LEAST_COLUMNS", 8)
    single = SIISClassifier(random_state=0).fit(X, y)
    for name in ("label_distributions_", "held_out_distributions_"):
        assert getattr(double, name).dtype == np.float64
        assert getattr(single, name).dtype == np.float32, name
    assert single._answers.dtype == np.float32
    assert np.mean(single.transduction_ == double.transduction_) > 0.98
    assert np.allclose(single.label_distributions_.sum(axis=1), 1, atol=1e-5)
    assert np.allclose(single.label_quality_[y >= 0], double.label_quality_[y >= 0], atol=0.05)


def test_the_names_of_many_classes_do_not_matter():
    X, y, _ = many_classes(3)
    names = np.random.default_rng(1).permutation(70)
    one = SIISClassifier(n_components=80).fit(X, y)
    other = SIISClassifier(n_components=80).fit(X, np.where(y >= 0, names[y], -1))
    assert other.chosen_ == one.chosen_
    assert np.mean(other.transduction_ == names[one.transduction_]) > 0.995


def test_few_different_examples_are_called_so():
    X = np.repeat([[0.0], [1.0]], 50, axis=0)
    y = np.full(100, -1)
    y[[0, 1, 2, 50, 51, 52]] = [0, 0, 0, 1, 1, 1]
    with pytest.warns(UserWarning, match="there are fewer than 3 different examples"):
        model = SIISClassifier().fit(X, y)
    np.testing.assert_array_equal(model.transduction_, X[:, 0])


def test_progress_names_the_stages(capfd):
    X, y, _ = noisy_digits(300)
    SIISClassifier(verbose=1).fit(X, y)
    err = capfd.readouterr().err
    assert all(word in err for word in ("spaces:", "graphs and smoothings:", "reading:", "evidence:", "solve:"))


def test_the_program_is_chosen_and_what_the_user_sets_is_kept():
    X, y, _ = noisy_digits(500)
    model = SIISClassifier().fit(X, y)
    tried = [row for row in model.selection_.rows() if row["stage"] == "program"]
    assert {row["laplacian"] for row in tried} == {"normalized", "unnormalized"}
    assert {row["n_components"] for row in tried} == {150, 60}
    assert len({row["beta"] for row in tried}) == 3
    winner = next(row for row in tried if row["chosen"])
    chosen = model.chosen_
    assert (chosen.n_components, chosen.beta, chosen.alpha) == tuple(
        winner[k] for k in ("n_components", "beta", "alpha")
    )
    assert model.basis_.shape[1] == chosen.n_components
    assert model.basis_.laplacian == chosen.laplacian
    fixed = SIISClassifier(alpha=7.0, beta=2.0, n_components=40, laplacian="unnormalized").fit(X, y)
    assert fixed.basis_.shape[1] == 40
    assert fixed.basis_.laplacian == "unnormalized"
    assert (fixed.chosen_.alpha, fixed.chosen_.beta) == (None, None)
    program = final_program(
        fixed.graph_, fixed.basis_, fixed._evidence.distributions, fixed.chosen_, fixed._constraints()
    )
    assert set(program.alpha) == {7.0}
    assert program.beta == 2.0
    assert program.value(fixed.solution_.coefficients) == pytest.approx(fixed.objective_)
    assert list(fixed.selection_["stage"]).count("program") == 1, "nothing was left to choose but who answers"


def test_names_of_classes_do_not_matter():
    X, y, _ = noisy_digits(400)
    other = np.where(y >= 0, 9 - y, -1)
    one, two = SIISClassifier().fit(X, y), SIISClassifier().fit(X, other)
    assert one.chosen_ == two.chosen_
    np.testing.assert_array_equal(one.transduction_, 9 - two.transduction_)
    np.testing.assert_allclose(one.label_quality_, two.label_quality_, atol=1e-5)  # smoothing stops at a tolerance


def lost(*args, **kwargs):
    raise NumericalError("lost on purpose")


def small_problem():
    X, truth = make_blobs(200, 3, centers=3, cluster_std=1.0, random_state=0)
    return X, np.where(np.arange(200) % 5 == 0, truth, -1), truth


def test_a_candidate_that_fails_is_dropped_and_listed(monkeypatch):
    X, y, truth = small_problem()
    race_module, final_module = sys.modules["siis.selection.race"], sys.modules["siis.selection.final"]
    weights_of, basis_of = race_module.graph_weights, final_module.smooth_basis
    settled = search_module.prepare_space

    def fails_at_20(near, K, kind, bandwidth="median"):
        return lost() if (K, kind) == (20, "mutual") else weights_of(near, K, kind, bandwidth)

    def fails_unnormalized(graph, m, laplacian, *args, **kwargs):
        return lost() if laplacian == "unnormalized" else basis_of(graph, m, laplacian, *args, **kwargs)

    monkeypatch.setattr(race_module, "graph_weights", fails_at_20)
    monkeypatch.setattr(final_module, "smooth_basis", fails_unnormalized)
    monkeypatch.setattr(
        search_module, "prepare_space", lambda s, *args: lost() if s.name == "unit variance" else settled(s, *args)
    )
    model = SIISClassifier().fit(X, y)
    assert np.mean(model.transduction_ == truth) > 0.9
    failed = [row for row in model.selection_.rows() if row["failed"]]
    assert {row["stage"] for row in failed} == {"space", "graph", "program"}
    assert {row["failed"] for row in failed} == {"lost on purpose"}
    assert all((row["n_neighbors"], row["graph"]) == (20, "mutual") for row in failed if row["stage"] == "graph")
    assert {row["laplacian"] for row in failed if row["stage"] == "program"} == {"unnormalized"}
    assert not any(row["chosen"] or row["accuracy"] >= 0 for row in failed)
    assert "candidates that reached the end" in model.selection_reason_


def test_where_every_graph_fails_stated_defaults_answer(monkeypatch):
    X, y, truth = small_problem()
    monkeypatch.setattr(sys.modules["siis.selection.race"], "graph_weights", lost)
    monkeypatch.setattr(search_module, "probe", lambda place, given, folds, constraints: np.ones(given.rows.size))
    with pytest.warns(UserWarning, match="every graph that was tried has failed; stated defaults were used"):
        model = SIISClassifier().fit(X, y)
    assert (model.chosen_.n_neighbors, model.chosen_.graph) == (10, "mutual")
    assert np.mean(model.transduction_ == truth) > 0.9


def test_a_program_that_fails_on_all_examples_gives_way_to_the_next(monkeypatch):
    X, y, truth = small_problem()
    first = SIISClassifier().fit(X, y)
    final_module, solved = sys.modules["siis.selection.final"], []
    build = final_module.final_program

    def fails_once(graph, basis, evidence, candidate, constraints):
        if graph.n_vertices == 200 and basis.dtype == np.float64 and candidate == first.chosen_:
            lost()
        solved.append(candidate)
        return build(graph, basis, evidence, candidate, constraints)

    monkeypatch.setattr(final_module, "final_program", fails_once)
    model = SIISClassifier().fit(X, y)
    assert model.chosen_ == solved[-1] != first.chosen_
    assert np.mean(model.transduction_ == truth) > 0.9
    assert "1 failed on all examples, and the next was taken" in model.selection_reason_
    programs = [row for row in model.selection_.rows() if row["stage"] == "program"]
    assert [row["failed"] for row in programs if row["failed"]] == ["lost on purpose"]
    assert sum(row["chosen"] for row in programs) == 1
    monkeypatch.setattr(final_module, "final_program", lost)
    with pytest.raises(NumericalError, match=r"none of the \d+ programs .* lost on purpose.*n_neighbors"):
        model.fit(X, y)
    assert model.chosen_ == solved[-1], "an earlier fit stays"


def test_vertices_without_evidence_count_as_guesses():
    Y, prior = np.eye(2)[[0, 0, 1]], np.array([0.75, 0.25])
    met = expected_hits(np.array([1.0, 1.0, 1.0]), Y, prior, np.array([True, False, True]), 0.5)
    np.testing.assert_allclose(met, [0.5 + 0.375, 0.75, 0.5 + 0.125])


def test_a_graph_that_leaves_most_rows_without_evidence_is_not_chosen():
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
    assert np.mean(model.is_reached_) > 0.9
    assert np.mean(model.transduction_ == truth) > 0.8
    shares = {row["n_neighbors"]: row["unreached"] for row in model.selection_.rows() if row["stage"] == "graph"}
    assert shares[model.chosen_.n_neighbors] < 0.1


def test_with_too_few_labels_the_search_is_not_quadratic_in_the_examples(monkeypatch):
    prepared_module, sizes = sys.modules["siis.selection.prepared"], []
    find = prepared_module.nearest
    monkeypatch.setattr("siis.selection.part.MOST_VERTICES", 300)
    monkeypatch.setattr("siis.selection.part.SEARCHED", 300)
    monkeypatch.setattr(prepared_module, "nearest", lambda *args: sizes.append(len(args[0])) or find(*args))
    X, _ = make_blobs(1000, 3, centers=2, random_state=0)
    y = np.full(1000, -1)
    y[:3] = [0, 1, 1]
    with pytest.warns(UserWarning, match="fewer than 4 labels can be held out"):
        SIISClassifier().fit(X, y)
    assert sizes == [300]


@pytest.mark.parametrize(
    ("by_program", "by_evidence", "answer"), [(40, 40, "program"), (39, 40, "program"), (10, 40, "evidence")]
)
def test_the_program_speaks_unless_something_is_clearly_better(by_program, by_evidence, answer, monkeypatch):
    """Of 50 labels each meets so many; within half a standard error the program is heard."""
    given = Supervision(np.arange(50), np.eye(2)[np.arange(50) % 2], np.ones(50))
    folds = np.repeat(np.arange(5), 10)
    W = sp.csr_array(np.ones((50, 50)) - np.eye(50))

    def saying(n_right):
        return 2.0 * np.where(np.arange(50)[:, None] < n_right, given.Y, 1 - given.Y) - 1

    held = programs_module.Held(folds, np.full(2, 0.5), [(W, np.zeros((50, 2)))] * 5, saying(by_evidence))
    monkeypatch.setattr(programs_module, "final_readings", lambda program, A, c, reading: saying(by_program))
    candidates = programs_module.program_candidates(
        Candidate("as given", 0.0, 10, "mutual", 0.1, 1e-4, "standardized"), Constraints(n_components=3), 2
    )
    found = programs_module.choose_program(candidates[:1], given, held, Constraints(n_components=3), 0)
    assert found[2] == answer


def test_scores_are_tried_on_the_best_and_the_usual_graph_before_all_others(monkeypatch):
    X, y, _ = noisy_digits(400)
    tried = []
    run = race_module._Race.run

    def recorded(field, heats):
        tried.append([(heat.weight, heat.graphs, len(heat.parts)) for heat in heats])
        run(field, heats)

    monkeypatch.setattr(race_module._Race, "run", recorded)
    model = SIISClassifier(metric="euclidean", n_components=20).fit(X, y)
    ((weight, graphs, n_folds),) = tried[0]
    assert (weight, len(graphs), n_folds) == (0.0, 6, race_module.EARLY_FOLDS), "folds without scores go together"
    assert {weight for weight, _, _ in tried[1]} == set(race_module.SCORE_WEIGHTS[1:])
    assert all((10, "mutual") in graphs and len(graphs) <= 2 for _, graphs, _ in tried[1])
    kept = {row["score_weight"] for row in model.selection_.rows() if row["stage"] == "graph"}
    assert 0.0 in kept


def test_what_is_far_behind_on_some_folds_is_not_tried_on_the_others(monkeypatch):
    """It stays in the table, with the labels that it was judged by; what is left is judged by all of them."""
    X, y, _ = noisy_digits(900, per_class=40)
    spoiled = (5, "mutual")
    real = race_module.graph_weights

    def weights(near, n_neighbors, kind, bandwidth):
        W = real(near, n_neighbors, kind, bandwidth)
        if (n_neighbors, kind) == spoiled:
            order = np.random.default_rng(0).permutation(W.shape[0])
            W = W[order][:, order]  # another graph's edges: it knows nothing
        return W

    monkeypatch.setattr(race_module, "graph_weights", weights)
    model = SIISClassifier(metric="euclidean", n_components=20).fit(X, y)
    rows = [row for row in model.selection_.rows() if row["stage"] == "graph"]
    most = max(row["n_held_out"] for row in rows)
    judged = {(row["n_neighbors"], row["graph"]): row["n_held_out"] for row in rows if row["score_weight"] == 0}
    assert len(judged) == 6
    assert judged[spoiled] < most / 2
    assert not any(row["chosen"] for row in rows if row["n_held_out"] < most)
    assert sum(row["chosen"] for row in rows) == 1


def test_graphs_that_cannot_be_told_apart_are_heard_together():
    """The evidence is the mean over the winner's graph and the next best; each is what it would be alone."""
    X, y, _ = noisy_digits(400)
    model = SIISClassifier(metric="euclidean", n_components=20).fit(X, y)
    selection = model._evidence.selection
    heard = [selection.chosen, *selection.beside]
    assert 1 < len(heard) <= race_module.MOST_HEARD
    assert len({c.graph_key for c in heard}) == len(heard)
    assert {(c.pull, c.reading) for c in heard} == {(selection.chosen.pull, selection.chosen.reading)}
    graphs = [row for row in model.selection_.rows() if row["stage"] == "graph"]
    for other in selection.beside:
        row = next(r for r in graphs if (r["score_weight"], r["n_neighbors"], r["graph"]) == other.graph_key)
        assert row["behind"] <= race_module.RACE_MARGIN * row["behind_error"] + 1e-12
    assert f"the mean over {len(heard)} graphs" in model.selection_reason_
    said, at = [], np.empty((model.graph_.n_vertices, X.shape[1]))
    at[model.vertex_] = X
    for candidate in heard:
        Z = selection.space(at)
        given = model._evidence.given
        scores = kernel_scores(Z, given, selection.kernel)[0]
        points = join_scores(Z, scores, candidate.score_weight * selection.unit)
        W = graph_weights(points, candidate.n_neighbors, candidate.graph)
        said.append(read(smoothed(W, given, candidate.fidelity, candidate.pull, scores, 1e-6), candidate.reading))
    expected = softmax(np.mean(said, axis=0))
    np.testing.assert_allclose(model._evidence.distributions, expected, atol=0.02)


def test_a_program_is_read_as_it_is_where_classes_are_of_unlike_size(monkeypatch):
    """Its distributions have been read already; unless classes are even, or the unnormalised Laplacian floods."""
    asked = []
    monkeypatch.setattr("siis.selection.final.read", lambda F, reading: asked.append(reading) or F)
    program = SimpleNamespace(engine=SimpleNamespace(numpy=np.asarray), basis=SimpleNamespace(synthesize=lambda A: A))
    plain = Candidate("as given", 0.0, 10, "mutual", 0.1, 1e-4, "balanced")
    for reading in ("balanced", "standardized", "centered"):
        final_readings(program, np.eye(3), 3, replace(plain, reading=reading))
    final_readings(program, np.eye(3), 3, replace(plain, laplacian="unnormalized"))
    assert asked == ["centered", "standardized", "centered", "balanced"]


@pytest.mark.parametrize(("reading", "n_components"), [("standardized", 60), ("balanced", 150)])
def test_of_programs_that_meet_the_same_labels_uneven_classes_take_the_largest_basis(
    reading, n_components, monkeypatch
):
    given = Supervision(np.arange(50), np.eye(2)[np.arange(50) % 2], np.ones(50))
    W = sp.csr_array(np.ones((50, 50)) - np.eye(50))
    said = 2.0 * given.Y - 1
    held = programs_module.Held(np.repeat(np.arange(5), 10), np.full(2, 0.5), [(W, np.zeros((50, 2)))] * 5, said)
    monkeypatch.setattr(programs_module, "final_readings", lambda program, A, c, chosen: said)
    candidates = program_candidates(Candidate("as given", 0.0, 10, "mutual", 0.1, 1e-4, reading), Constraints(), 2)
    assert {c.laplacian for c in candidates} >= {"normalized"}
    assert any(c.laplacian == "unnormalized" for c in candidates) == (reading == "standardized")
    assert programs_module.choose_program(candidates, given, held, Constraints(), 0)[1].n_components == n_components
