"""Sets of classes, and the share of wrong labels."""

import numpy as np
import pytest
from sklearn.datasets import load_digits

from digits_case import labelled_digits
from siis import SIISClassifier
from siis.model.link import ExpectedAccuracy
from siis.model.scores import softmax
from siis.quality import Calibration, fit_noise
from siis.quality.sets import class_sets, coverage_levels
from siis.saved import load_all, saved_bytes

pytestmark = pytest.mark.slow


def drawn(n, c, rate, confusion=0.0, seed=0, sharpness=3.0):
    """Scores whose softmax is the truth's distribution; a share of the wrong labels is what the scores allow."""
    rng = np.random.default_rng(seed)
    Z = rng.standard_normal((n, c))
    truth = np.array([rng.choice(c, p=p) for p in softmax(Z, sharpness)])
    given = truth.copy()
    for i in np.flatnonzero(rng.uniform(size=n) < rate):
        p = softmax(Z[i : i + 1])[0] if rng.uniform() < confusion else np.ones(c)
        p[truth[i]] = 0
        given[i] = rng.choice(c, p=p / p.sum())
    return Z, truth, given


def intervals(rate, confusion, is_estimated):
    """Of twelve draws: whether the interval holds the share of wrong labels, its width, and the error of the rate."""
    found = []
    for seed in range(12):
        Z, truth, given = drawn(300, 4, rate, confusion, seed, 8.0)
        rows, unlabelled, _ = drawn(300, 4, 0.0, 0.0, seed + 100, 8.0)
        accuracy = float(np.mean(np.argmax(rows, axis=1) == unlabelled))
        known = {"rows": rows, "estimated": ExpectedAccuracy(accuracy, 0.08)} if is_estimated else {}
        noise = fit_noise(Z, given, np.ones(300), **known)
        low, high = noise.interval
        wrong = np.mean(given != truth)
        found.append((low - 0.005 <= wrong <= high + 0.005, high - low, noise.rate - wrong))
    return np.array(found).T


@pytest.mark.parametrize("is_estimated", [False, True])
@pytest.mark.parametrize("rate", [0.0, 0.1, 0.3, 0.5])
def test_the_interval_holds_the_share_of_wrong_labels(rate, is_estimated):
    """Of any class, in nearly all of twelve draws, and it is not the whole range."""
    held, widths, errors = intervals(rate, 0.0, is_estimated)
    assert held.mean() >= 0.9
    assert widths.mean() < 0.2
    assert abs(errors.mean()) < 0.03


@pytest.mark.parametrize("rate", [0.1, 0.3, 0.5])
def test_mistakes_that_follow_the_scores_are_underestimated_less_where_the_accuracy_is_estimated(rate):
    """Half of the wrong labels are what the scores allow: by labels alone these look like blunt scores."""
    held, _, errors = intervals(rate, 0.5, True)
    blind, _, more = intervals(rate, 0.5, False)
    assert held.mean() >= max(0.6, blind.mean())
    assert -0.1 < errors.mean() <= 0
    assert more.mean() <= errors.mean() + 0.005


@pytest.mark.parametrize("weight", [1.0, 1000.0])
def test_the_scale_of_weights_does_not_matter(weight):
    Z, _, given = drawn(300, 4, 0.2, sharpness=8.0)
    one, scaled = fit_noise(Z, given, np.ones(300)), fit_noise(Z, given, np.full(300, weight))
    np.testing.assert_allclose(scaled.rate, one.rate)
    assert one.interval[0] <= one.rate <= one.interval[1]
    heavy = fit_noise(Z, given, np.where(np.arange(300) == 7, 1e6, 1.0))
    assert heavy.interval[0] <= heavy.rate <= heavy.interval[1] + 0.001  # rates are on a grid


def test_where_nothing_is_clear_the_interval_is_wide():
    """Scores that say little: their bluntness and wrong labels explain the same."""
    Z, _, given = drawn(200, 2, 0.0, sharpness=0.5)
    blunt = fit_noise(Z, given, np.ones(200))
    Z, _, given = drawn(200, 2, 0.0, sharpness=20.0)
    clear = fit_noise(Z, given, np.ones(200))
    assert blunt.interval[0] < 0.05
    assert blunt.interval[1] - blunt.interval[0] > 3 * (clear.interval[1] - clear.interval[0])


def test_classes_that_overlap_are_not_taken_for_wrong_labels():
    """No label is wrong, and more than a tenth is not predicted: the scores are known to be blunt."""
    Z, truth, given = drawn(400, 2, 0.0, sharpness=2.0)
    np.testing.assert_array_equal(truth, given)
    noise = fit_noise(Z, given, np.ones(400))
    assert np.mean(np.argmax(Z, axis=1) != given) > 0.1
    assert noise.interval[0] == 0
    assert noise.rate < 0.05
    assert noise.interval[1] > 0.1, "so many may be wrong where mistakes follow borders"


def test_the_interval_of_clean_labels_holds_the_rate():
    Z, truth, given = drawn(300, 4, 0.0, sharpness=8.0)
    np.testing.assert_array_equal(truth, given)
    noise = fit_noise(Z, given, np.ones(300))
    assert noise.interval[0] <= noise.rate <= noise.interval[1]


def test_labels_against_scores_that_are_clear_everywhere_are_wrong():
    """Every margin is full, and a tenth of the labels differs."""
    rng = np.random.default_rng(0)
    truth = rng.integers(0, 10, 1500)
    Z = (np.eye(10)[truth] - 0.1) / 0.3 + 0.02 * rng.standard_normal((1500, 10))
    given = np.where(rng.uniform(size=1500) < 0.1, (truth + rng.integers(1, 10, 1500)) % 10, truth)
    noise = fit_noise(Z, given, np.ones(1500))
    assert noise.interval[0] > 0.02
    quality = noise.posterior(Z, np.eye(10)[given])[np.arange(1500), given]
    np.testing.assert_array_equal(quality < 0.5, given != truth)


def test_probabilities_and_quality_mean_what_they_say():
    Z, truth, given = drawn(3000, 3, 0.25)
    noise = fit_noise(Z, given, np.ones(3000))
    P, post = noise.probabilities(Z), noise.posterior(Z, np.eye(3)[given])
    for said in (P, post):
        np.testing.assert_allclose(said.sum(axis=1), 1)
        confidence, right = said.max(axis=1), np.argmax(said, axis=1) == truth
        for low in (0.4, 0.6, 0.8):
            part = (confidence >= low) & (confidence < low + 0.2)
            assert abs(right[part].mean() - confidence[part].mean()) < 0.05
    quality = post[np.arange(3000), given]
    assert np.mean(given[quality < 0.1] != truth[quality < 0.1]) > 0.85
    assert np.mean(given[quality > 0.9] != truth[quality > 0.9]) < 0.15


def test_a_calibration_is_a_mean_of_softmaxes():
    Z = np.random.default_rng(0).standard_normal((5, 3))
    found = Calibration.of(np.array([1.0, 4.0, 1.0, 9.0]), np.array([0.2, 0.5, 0.3, 1e-9]))
    np.testing.assert_array_equal(found.sharpness, [1.0, 4.0])
    np.testing.assert_allclose(found(Z), 0.5 * softmax(Z, 1.0) + 0.5 * softmax(Z, 4.0), atol=1e-12)


@pytest.mark.parametrize("coverage", [0.8, 0.9, 0.97])
def test_sets_hold_the_true_class_at_the_wanted_rate(coverage):
    Z, truth, given = drawn(4000, 5, 0.3)
    noise = fit_noise(Z[:2000], given[:2000], np.ones(2000))
    P = noise.probabilities(Z)
    by_labels = coverage_levels(P[:2000], noise.posterior(Z[:2000], np.eye(5)[given[:2000]]), np.ones(2000))
    by_answers = coverage_levels(P[2000:], P[2000:], np.ones(2000))
    for levels in (by_labels, by_answers):
        sets = class_sets(P[2000:], levels, coverage, allow_empty=True)
        assert abs(np.mean(sets[np.arange(2000), truth[2000:]]) - coverage) < 0.05


def test_sets_are_empty_where_answers_are_right_more_often_than_wanted():
    P = np.array([[0.99, 0.01]] * 95 + [[0.6, 0.4]] * 5)
    levels = coverage_levels(P, P, np.ones(100))
    np.testing.assert_array_equal(class_sets(P, levels, 0.9, allow_empty=True).sum(axis=1), [1] * 95 + [0] * 5)
    assert (class_sets(P, levels, 0.9, allow_empty=False).sum(axis=1) == 1).all()


def test_sets_of_new_examples_reach_their_coverage_and_are_empty_only_where_that_is_allowed():
    X, truth = load_digits(return_X_y=True)
    covered, allowed = [], []
    for seed in range(3):
        rng = np.random.default_rng(seed)
        order = rng.permutation(len(X))
        old, new = order[:700], order[700:]
        y = np.full(700, -1)
        y[:80] = truth[old[:80]]
        wrong = np.arange(32)
        y[wrong] = (y[wrong] + rng.integers(1, 10, wrong.size)) % 10
        model = SIISClassifier().fit(X[old], y)
        sets, empty = model.predict_sets(X[new]), model.predict_sets(X[new], 0.5, allow_empty=True)
        assert sets.any(axis=1).all()
        assert model.predict_sets(X[new], 0.5).any(axis=1).all()
        allowed.append(empty.any(axis=1).mean())
        covered.append(sets[np.arange(len(new)), truth[new]].mean())
    assert np.mean(covered) > 0.89
    assert min(allowed) < 1


def test_levels_count_one_more_label_as_missed():
    P, truth = np.array([[0.9, 0.1], [0.6, 0.4], [0.3, 0.7]]), np.eye(2)[[0, 0, 0]]
    np.testing.assert_allclose(
        coverage_levels(P, truth, np.ones(3)),
        [[0.9, 0.25], [0.7, 0.25], [0.6, 0.5], [0.4, 0.5], [0.3, 0.75], [0.1, 0.75]],
    )
    levels = coverage_levels(P, truth, np.ones(3))
    np.testing.assert_array_equal(
        class_sets(P, levels, 0.5, allow_empty=False), [[True, False], [True, False], [False, True]]
    )
    assert class_sets(P, levels, 0.8, allow_empty=False).all(), "three labels cannot prove so much: every class is in"
    np.testing.assert_array_equal(coverage_levels(P[:0], truth[:0], np.ones(0)), [[0, 0]])
    assert class_sets(P, np.zeros((1, 2)), 0.5, allow_empty=True).all()


def test_a_model_gives_sets_and_keeps_them_in_its_file(tmp_path):
    X, truth = load_digits(return_X_y=True)
    _, y, *_ = labelled_digits(1000, 200, 60)
    settings = {"n_neighbors": 10, "metric": "euclidean", "connectivity": "mutual", "n_components": 60}
    model = SIISClassifier(**settings).fit(X[:1000], y)
    few, many = model.predict_sets(X[1000:], 0.8), model.predict_sets(X[1000:], coverage=0.99)
    assert few.shape == (797, 10)
    assert (few <= many).all()
    assert few.sum() < many.sum()
    assert np.mean(many[np.arange(797), truth[1000:]]) > 0.95
    (tmp_path / "m.siis").write_bytes(saved_bytes(model))
    again = load_all(tmp_path / "m.siis").model
    np.testing.assert_array_equal(again.predict_sets(X[1000:], 0.8), few)
    np.testing.assert_array_equal(model.predict_sets(X[1000:], np.float32(0.8)), few)
    with pytest.raises(ValueError, match="coverage must be a number between 0 and 1; found 1"):
        model.predict_sets(X, coverage=1)


def left_over(seed=0, n=300, n_checked=30):
    """Scores of four clear classes, 20 % of the labels wrong; the worst of these are checked and put right."""
    rng = np.random.default_rng(seed)
    truth = rng.integers(0, 4, n)
    Z = 2.3 * np.eye(4)[truth] + 0.45 * rng.standard_normal((n, 4))
    given = truth.copy()
    wrong = rng.permutation(n)[: n // 5]
    given[wrong] = (truth[wrong] + rng.integers(1, 4, wrong.size)) % 4
    margin = Z.max(axis=1) - Z[np.arange(n), given]
    is_verified = np.zeros(n, dtype=bool)
    is_verified[np.argsort(-margin)[:n_checked]] = True
    return Z, truth, given, is_verified


def test_what_checked_labels_were_shows_of_the_others():
    Z, truth, given, is_verified = left_over()
    now = np.where(is_verified, truth, given)
    still = np.flatnonzero(now != truth)
    share = still.size / np.count_nonzero(~is_verified)
    blind = fit_noise(Z, now, np.ones(300), False, is_verified)
    knowing = fit_noise(Z, now, np.ones(300), False, is_verified, np.where(is_verified, given, now))
    assert knowing.rate == pytest.approx(share, abs=0.03)
    assert knowing.interval[0] < share < knowing.interval[1]
    assert abs(knowing.rate - share) <= abs(blind.rate - share) + 0.005
    quality = knowing.posterior(Z, np.eye(4)[now])[np.arange(300), now]
    assert np.mean(quality[still] < 0.5) > 0.9


def test_labels_that_were_confirmed_are_no_wrong_ones():
    Z, truth, _, is_verified = left_over()
    found = fit_noise(Z, truth, np.ones(300), False, is_verified, truth)
    assert found.rate < 0.02
    unknown = fit_noise(Z, truth, np.ones(300), False, is_verified, np.full(300, -1))
    assert unknown.rate < 0.03


def test_labels_of_classes_that_are_never_predicted_may_be_right():
    """Scores that do not know a small class miss its labels: that does not raise the lower end of the interval."""
    rng = np.random.default_rng(0)
    truth = np.repeat([0, 1, 2], [200, 150, 50])
    known = np.where(truth == 2, rng.integers(0, 2, 400), truth)
    Z = 4.0 * np.eye(3)[known] + 0.3 * rng.standard_normal((400, 3))
    wrong = np.where(rng.random(400) < 0.3, (known + 1) % 2, known)  # mistakes among classes that are predicted
    expected = {"rows": Z, "estimated": ExpectedAccuracy(0.99, 0.03)}
    assert fit_noise(Z, truth, np.ones(400), **expected).interval[0] == 0.0
    assert fit_noise(Z, wrong, np.ones(400), **expected).interval[0] > 0.2
