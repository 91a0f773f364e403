"""Experts are weighed by what they know of held-out labels."""

import numpy as np
import pytest

from siis.experts import Pool, fit_pool
from siis.labels import Supervision

RNG_SIZE = (400, 4)


@pytest.fixture
def case(rng):
    """400 labels of 4 classes, a quarter of them wrong; one expert knows the true classes, another knows nothing."""
    truth = rng.integers(0, 4, 400)
    given = np.where(rng.uniform(size=400) < 0.25, rng.integers(0, 4, 400), truth)
    knows = np.eye(4)[truth] + 0.5 * rng.standard_normal(RNG_SIZE)
    noise = rng.standard_normal(RNG_SIZE)
    return truth, Supervision(np.arange(400), np.eye(4)[given], np.ones(400)), knows, noise


def in_units(pool, scores):
    """Weights on scores of deviation 1."""
    return pool.weights * [np.sqrt(np.mean((s - s.mean(axis=1, keepdims=True)) ** 2)) for s in scores]


@pytest.mark.parametrize("is_first", [True, False])
def test_who_knows_more_weighs_more(case, is_first):
    truth, given, knows, noise = case
    scores = [knows, noise] if is_first else [noise, knows]
    pool = fit_pool(("a", "b"), scores, scores, given, given.votes)
    weight = in_units(pool, scores)
    informed, other = weight if is_first else weight[::-1]
    assert other < 0.15 * informed
    alone = np.mean(np.argmax(knows, axis=1) == truth)
    assert np.mean(np.argmax(pool(scores), axis=1) == truth) > alone - 0.01


def test_the_unit_of_an_expert_does_not_matter(case):
    _, given, knows, noise = case
    one = fit_pool(("a", "b"), [knows, noise], [knows, noise], given, given.votes)
    scaled = [1000.0 * knows + 7.0, noise]
    two = fit_pool(("a", "b"), scaled, scaled, given, given.votes)
    np.testing.assert_allclose(two([scaled[0], noise]), one([knows, noise]), rtol=1e-3, atol=1e-4)


def test_two_that_know_different_things_are_both_heard(rng):
    truth = rng.integers(0, 4, 400)
    given = Supervision(np.arange(400), np.eye(4)[truth], np.ones(400))
    Y = np.eye(4)[truth]
    scores = [Y * [3, 3, 0, 0] + rng.standard_normal(RNG_SIZE), Y * [0, 0, 3, 3] + rng.standard_normal(RNG_SIZE)]
    pool = fit_pool(("a", "b"), scores, scores, given, given.votes)
    weights = in_units(pool, scores)
    assert 0.6 < weights[0] / weights[1] < 1.7
    together = np.mean(np.argmax(pool(scores), axis=1) == truth)
    assert together > max(np.mean(np.argmax(s, axis=1) == truth) for s in scores) + 0.1


def test_wrong_labels_do_not_make_an_expert_unsure(case):
    """The weights are those of the true classes: noise is a matter of its own."""
    truth, given, knows, noise = case
    clean = Supervision(given.rows, np.eye(4)[truth], given.weights)
    noisy_weight = fit_pool(("a", "b"), [knows, noise], [knows, noise], given, given.votes).weights[0]
    clean_weight = fit_pool(("a", "b"), [knows, noise], [knows, noise], clean, clean.votes).weights[0]
    assert 0.6 < noisy_weight / clean_weight < 1.4


def test_few_labels_leave_the_experts_equal(case):
    _, given, knows, noise = case
    few = given.picked(np.arange(1))
    pool = fit_pool(("a", "b"), [knows[:1], noise[:1]], [knows, noise], few, few.votes)
    weights = in_units(pool, [knows, noise])
    assert 0.5 < weights[0] / weights[1] < 2
    none = given.picked(np.zeros(0, dtype=int))
    nobody = fit_pool(("a", "b"), [knows[:0], noise[:0]], [knows, noise], none, none.votes)
    weights = in_units(nobody, [knows, noise])
    np.testing.assert_allclose(weights[0], weights[1], rtol=1e-3)


def test_names_of_classes_do_not_matter(case):
    _, given, knows, noise = case
    order = np.array([2, 0, 3, 1])
    one = fit_pool(("a", "b"), [knows, noise], [knows, noise], given, given.votes)
    moved = Supervision(given.rows, given.Y[:, order], given.weights)
    others = [knows[:, order], noise[:, order]]
    two = fit_pool(("a", "b"), others, others, moved, moved.votes)
    np.testing.assert_allclose(two(others), one([knows, noise])[:, order], rtol=1e-3, atol=1e-4)


def test_a_label_of_weight_two_counts_as_two(case):
    _, given, knows, noise = case
    twice = np.where(np.arange(400) < 100, 2.0, 1.0)
    index = np.repeat(np.arange(400), twice.astype(int))
    one = fit_pool(("a", "b"), [knows, noise], [knows, noise], given, twice)
    two = fit_pool(("a", "b"), [knows[index], noise[index]], [knows, noise], given.picked(index), np.ones(index.size))
    np.testing.assert_allclose(one.weights, two.weights, rtol=1e-3)


def test_the_same_labels_give_the_same_weights(case):
    _, given, knows, noise = case
    one, two = (fit_pool(("a", "b"), [knows, noise], [knows, noise], given, given.votes) for _ in range(2))
    assert one.weights.tobytes() == two.weights.tobytes()


def test_an_expert_who_says_nothing_is_no_harm(case):
    _, given, knows, _ = case
    silent = np.zeros(RNG_SIZE)
    pool = fit_pool(("a", "b"), [knows, silent], [knows, silent], given, given.votes)
    assert np.isfinite(pool.weights).all()
    np.testing.assert_array_equal(np.argmax(pool([knows, silent]), axis=1), np.argmax(knows, axis=1))


def test_those_who_are_not_heard_have_no_weight():
    pool = Pool(("a", "c"), np.array([2.0, 3.0])).among(("a", "b", "c"))
    assert pool.names == ("a", "b", "c")
    np.testing.assert_array_equal(pool.weights, [2.0, 0.0, 3.0])
    np.testing.assert_allclose(
        pool([np.array([[1.0, 0.0]]), np.array([[9.0, 0.0]]), np.array([[0.0, 1.0]])]), [[-0.5, 0.5]]
    )


def test_one_expert_alone_has_a_deviation_of_one(case):
    _, given, knows, _ = case
    pool = fit_pool(("a",), [knows], [3.0 * knows], given, given.votes)
    pooled = pool([3.0 * knows])
    np.testing.assert_allclose(np.sqrt(np.mean(pooled**2)), 1.0)
