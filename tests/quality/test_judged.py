"""Constants and rules of judgement: each has a case that turns on it."""

import numpy as np
import pytest

from siis.labels import read_labels
from siis.model.link import ExpectedAccuracy
from siis.quality import Calibration, LabelAgreement, NoiseModel, assess_labels, label_agreement
from siis.quality.noise import LEAST_RATE
from siis.quality.sets import coverage_levels


def judged(scores, given, verified=None):
    """Labels of examples that are vertices of their own, each held out with its reading."""
    labels = read_labels(given, None, verified)
    at = np.arange(len(given))
    return assess_labels(at, scores, labels, at, scores)


def known_noise(rate):
    """Scores of sharpness 5, and wrong labels of either class."""
    matrix = np.array([[1 - rate, rate], [rate, 1 - rate]])
    calibration = Calibration(np.array([5.0]), np.ones(1))
    return NoiseModel(rate, (rate, rate), rate, calibration, matrix, np.full(2, rate))


@pytest.fixture
def lopsided(monkeypatch):
    """Two classes, one of them common, a quarter of the labels known to be wrong; 30 of the common class doubtful."""
    noise = known_noise(0.25)
    monkeypatch.setattr("siis.quality.assess.fit_noise", lambda *anything: noise)
    margin = np.concatenate([np.full(80, 0.6), np.full(20, -0.6), np.linspace(-0.15, 0.1, 30)])
    return np.column_stack([margin, -margin]), np.concatenate(
        [np.zeros(80, int), np.ones(20, int), np.zeros(30, int)]
    )


def test_a_doubted_label_is_not_its_own_suggestion(monkeypatch):
    """Of three classes, the given one is the likeliest and still likelier wrong than right."""
    matrix = 0.4 * np.eye(3) + 0.2
    noise = NoiseModel(0.4, (0.4, 0.4), 0.4, Calibration(np.ones(1), np.ones(1)), matrix, np.zeros(3))
    monkeypatch.setattr("siis.quality.assess.fit_noise", lambda *anything: noise)
    codes = np.tile([0, 1, 2, 0], 20)
    found = judged(np.tile([*(9 * np.eye(3)), [0.0, 1.0, 1.0]], (20, 1)), codes)
    assert found.quality[3] == pytest.approx(0.3 / (0.3 + np.e * 0.2), rel=0.01)
    assert 0.3 > np.e * 0.1 > 0.2, "each other class is less likely than the given one, both together are likelier"
    assert (found.suggested[3::4] > 0).all()


def test_suspects_are_those_whose_answer_is_another(lopsided):
    scores, given = lopsided
    found = judged(scores, given)
    posterior = found.noise.posterior(scores, np.eye(2)[given])
    np.testing.assert_allclose(found.quality, posterior[np.arange(130), given])
    assert 0 < np.count_nonzero(found.quality < 0.5) < 30
    np.testing.assert_array_equal(found.quality < 0.5, np.argmax(found.probabilities, axis=1) != given)
    np.testing.assert_array_equal(found.quality < 0.5, found.suggested != given)


def test_a_label_is_doubted_by_bayes_rule_with_the_noise_matrix():
    scores, label = np.array([[0.3, -0.3]]), np.eye(2)[[1]]
    p = np.exp(3.0) / (1 + np.exp(3.0))  # of class 0
    for rate in (0.05, 0.3):
        wrong = (1 - LEAST_RATE) * rate + LEAST_RATE / 2  # the least rate keeps every label uncertain
        expected = p * wrong / (p * wrong + (1 - p) * (1 - wrong))
        np.testing.assert_allclose(known_noise(rate).posterior(scores, label)[0, 0], expected)


def test_wrong_labels_are_doubted_where_their_class_is_the_noisy_one():
    """Half of the second class is given the first label: of the same scores, only labels of the first are doubted."""
    matrix = np.array([[1.0, 0.5], [0.0, 0.5]])
    noise = NoiseModel(0.25, (0.2, 0.3), 0.25, Calibration(np.array([5.0]), np.ones(1)), matrix, np.zeros(2))
    scores = np.array([[-0.15, 0.15], [0.15, -0.15]])
    quality = np.diagonal(noise.posterior(scores, np.eye(2)))
    assert quality[0] < 0.5 < 0.99 < quality[1]


def test_a_verified_label_is_its_own_suggestion_whatever_the_scores_are(lopsided):
    scores, given = lopsided
    verified = np.arange(130) % 2 == 0
    found = judged(scores, given, verified)
    assert (found.quality[verified] == 1.0).all()
    np.testing.assert_array_equal(found.suggested[verified], given[verified])
    assert (found.suggested != given).any()


def test_scores_as_clear_as_can_be_make_no_label_verified():
    codes = np.repeat([0, 1], 20)
    verified = np.arange(40) % 20 == 0
    found = judged(1000.0 * np.eye(2)[codes], codes, verified)
    assert found.quality.min() > 1 - 1e-15, "else the case is not there"
    np.testing.assert_array_equal(found.quality == 1.0, verified)


@pytest.mark.parametrize("rate", [0.0, 1e-6])
def test_an_estimate_of_no_noise_makes_no_label_certain(rate):
    scores = np.array([[1.0, -1.0]] * 5 + [[-1.0, 1.0]] * 5)
    given = np.array([0] * 5 + [0] + [1] * 4)  # the sixth has the label of the other heap
    posterior = known_noise(rate).posterior(scores, np.eye(2)[given])
    quality = posterior[np.arange(10), given]
    assert quality[5] < 0.05
    assert (np.delete(quality, 5) > 0.99).all()


def test_no_noise_in_the_data_still_lets_one_label_be_doubted():
    scores = np.repeat([[1.0, -1.0], [-1.0, 1.0]], 50, axis=0)
    given = np.repeat([0, 1], 50)
    given[50] = 0
    found = judged(scores, given)
    assert found.noise.rate < 0.03
    assert np.flatnonzero(found.quality < 0.5).tolist() == [50]


@pytest.mark.parametrize(
    ("score", "error", "is_weak"),
    [
        (0.04, 0.0, True),  # next to nothing, however exactly that is known
        (0.10, 0.05, True),  # two standard errors above chance: the best of many candidates by luck
        (0.10, 0.03, False),
        (0.14, 0.50, True),
        (0.16, 0.50, False),  # clear enough, however few labels have said so
    ],
)
def test_luck_is_not_taken_for_a_graph_that_carries_labels(score, error, is_weak):
    assert LabelAgreement(score, error).is_weak is is_weak


def test_few_labels_that_agree_by_luck_are_weak():
    codes = np.repeat([0, 1], 20)
    correct = np.tile([True] * 11 + [False] * 9, 2)  # 55 % where chance meets half
    lucky = label_agreement(np.eye(2)[np.where(correct, codes, 1 - codes)], codes, np.ones(40))
    assert lucky.score == pytest.approx(0.1)
    assert lucky.is_weak
    predicted = np.tile(np.where(correct, codes, 1 - codes), 50)
    many = label_agreement(np.eye(2)[predicted], np.tile(codes, 50), np.ones(2000))
    assert many.score == pytest.approx(0.1)
    assert not many.is_weak


def loosely(seed):
    """Every other label is predicted where chance predicts a third: wrong labels or blunt scores, who knows."""
    rng = np.random.default_rng(seed)
    codes = np.repeat([0, 1, 2], 60)
    predicted = np.where(rng.uniform(size=180) < 0.7, codes, rng.integers(0, 3, 180))
    return 0.9 * np.eye(3)[predicted] + rng.normal(0, 1, (180, 3)), codes


@pytest.mark.parametrize("seed", range(4))
def test_labels_that_follow_loosely_leave_the_rate_open(seed):
    """No label is wrong, and the interval reaches from next to none to a third and more of them."""
    scores, codes = loosely(seed)
    agreement = label_agreement(scores, codes, np.ones(180))
    assert 0.1 < agreement.score < 0.4
    assert not agreement.is_weak
    found = judged(scores, codes)
    low, high = found.noise.interval
    assert low < 0.05
    assert high > 0.25
    assert np.mean(found.quality > 0.5) > 0.6


@pytest.mark.parametrize("seed", range(4))
def test_a_low_expected_accuracy_doubts_fewer_labels(seed):
    scores, codes = loosely(seed)
    labels, at = read_labels(codes), np.arange(180)
    low, high = (
        assess_labels(at, scores, labels, at, scores, estimated=(scores, ExpectedAccuracy(accuracy, 0.08)))
        for accuracy in (0.45, 0.9)
    )
    assert low.noise.rate < high.noise.rate
    assert np.mean(low.quality < 0.5) < np.mean(high.quality < 0.5)
    assert low.held_out.max(axis=1).mean() < high.held_out.max(axis=1).mean()


def test_sets_are_promised_for_the_true_class_not_for_the_label(lopsided):
    scores, given = lopsided
    found = judged(scores, given)
    truth = found.noise.posterior(scores, np.eye(2)[given])
    np.testing.assert_allclose(found.levels, coverage_levels(found.held_out, truth, np.ones(130)))
    verified = np.arange(130) < 10
    sure = judged(scores, given, verified)
    truth[verified] = np.eye(2)[given[verified]]
    np.testing.assert_allclose(sure.levels, coverage_levels(sure.held_out, truth, np.ones(130)))


def test_where_nothing_predicts_the_labels_nothing_is_certain_and_no_label_a_suspect():
    """Clear scores that have nothing to do with the labels."""
    rng = np.random.default_rng(0)
    codes = rng.integers(0, 2, 300)
    clear = np.where(rng.integers(0, 2, 300)[:, None] == np.arange(2), 1.0, -1.0)
    found = judged(clear + 0.1 * rng.standard_normal((300, 2)), codes)
    assert found.agreement.is_weak
    assert np.isnan(found.noise.rate)
    assert found.noise.interval == (0.0, 1.0)
    assert found.held_out.max(axis=1).mean() < 0.65
    assert np.mean(found.quality < 0.5) < 0.1


def test_a_label_that_a_checked_equal_one_contradicts_is_a_suspect():
    codes = np.array([0, 1] * 20)
    scores = np.where(np.eye(2)[codes] > 0, 1.0, -1.0)
    given, verified = codes.copy(), np.zeros(40, dtype=bool)
    vertex = np.arange(40)
    vertex[1], verified[1] = 0, True  # the second example equals the first, and its other label was checked
    labels = read_labels(given, None, verified)
    found = assess_labels(np.arange(40), scores, labels, vertex, scores)
    assert found.quality[0] <= 0.01
    assert found.suggested[0] == 1
    assert found.quality[1] == 1.0
    assert (found.quality[2:] > 0.5).all()


def test_labels_that_may_all_be_right_stay():
    """Two of 200 differ, at scores that are no clearer than elsewhere: nobody can say that any label is wrong."""
    rng = np.random.default_rng(0)
    codes = rng.integers(0, 4, 200)
    scores = (np.eye(4)[codes] - 0.25) * 4 + 0.3 * rng.standard_normal((200, 4))
    scores[:2] = scores[:2][:, [1, 2, 3, 0]] / 3  # hardly for another class
    found = judged(scores, codes)
    assert found.noise.interval[0] == 0
    np.testing.assert_array_equal(np.argmax(found.own, axis=1), codes)
    assert found.quality.min() > 0.5


def test_the_only_label_of_its_class_is_its_answer():
    """It is not held out, and only the share of wrong labels counts against it."""
    codes = np.r_[np.repeat([0, 1], 30), 2]
    labels, which = read_labels(codes), np.arange(60)
    final = (np.eye(3)[codes] - 1 / 3) * 4
    final[60] = [3.0, -1.0, -2.0]
    found = assess_labels(which, final[:60], labels, np.arange(61), final)
    assert np.argmax(found.own[60]) == np.argmax(found.probabilities[60]) == 2
    np.testing.assert_allclose(found.own[60].sum(), 1)
    np.testing.assert_allclose(found.quality[60], 1 - found.noise.rate)


def test_a_label_of_next_to_no_weight_has_next_to_no_influence():
    codes = np.repeat([0, 1, 2], 20)
    scores = (np.eye(3)[codes] - 1 / 3) * 4
    given = codes.copy()
    given[[0, 20, 40]] = [1, 2, 0]
    weights = np.ones(60)
    weights[[0, 20, 40]] = 1e-9
    found = assess_labels(np.arange(60), scores, read_labels(given, weights), np.arange(60), scores)
    np.testing.assert_array_equal(np.argmax(found.own, axis=1), codes)
    assert (found.quality[[0, 20, 40]] < 0.5).all()


@pytest.mark.parametrize("n_wrong", [8, 20, 40])
def test_a_few_wrong_labels_among_clear_ones_are_found(n_wrong):
    """Of 400 labels at scores that are nearly always clear."""
    rng = np.random.default_rng(0)
    truth = rng.integers(0, 10, 400)
    scores = (np.eye(10)[truth] - 0.1) * 3.3 + 0.25 * rng.standard_normal((400, 10))
    given = truth.copy()
    given[:n_wrong] = (truth[:n_wrong] + rng.integers(1, 10, n_wrong)) % 10
    found = judged(scores, given)
    np.testing.assert_array_equal(found.quality < 0.5, given != truth)
