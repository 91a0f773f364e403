"""Answers of several annotators: never worse than the majority vote, in a wide or a long table."""

import os
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from sklearn.datasets import load_digits

from plain import PlainSIIS
from siis.labels import from_annotators

DATA = os.environ.get("SIIS_DATA")


def accuracy(P, truth, answers):
    """Share of right answers where somebody answered; a tie counts by its share."""
    best = P.max(axis=1, keepdims=True) - 1e-9 <= P
    right = best[np.arange(truth.size), truth] / best.sum(axis=1)
    return right[(answers >= 0).any(axis=1)].mean()


def vote(answers, c):
    return np.stack([(answers == k).sum(axis=1) for k in range(c)], axis=1).astype(float)


def keyword_functions(seed, n=3000, c=6):
    """Twelve functions that answer one class each, as keywords do: some of it found, a part of that wrong."""
    rng = np.random.default_rng(seed)
    truth = rng.choice(c, n, p=[0.22, 0.23, 0.22, 0.16, 0.15, 0.02])
    answers = np.full((n, 12), -1)
    for r in range(12):
        fires = (truth == r % c) & (rng.random(n) < rng.uniform(0.1, 0.4))
        precision = rng.uniform(0.3, 0.95)
        wrong = np.flatnonzero(truth != r % c)
        n_wrong = min(int(fires.sum() * (1 - precision) / precision), wrong.size)
        fires[rng.choice(wrong, n_wrong, replace=False)] = True
        answers[fires, r] = r % c
    return truth, answers


def specialists(seed, n=2000, c=10):
    rng = np.random.default_rng(seed)
    truth = rng.integers(0, c, n)
    answers = np.full((n, 2 * c), -1)
    for r in range(2 * c):
        answers[rng.random(n) < np.where(truth == r % c, 0.6, 0.08), r] = r % c
    return truth, answers


def specialists_of_two(seed, n=1000, c=6):
    """Each finds examples of two classes, and takes some others for them."""
    rng = np.random.default_rng(seed)
    truth = rng.integers(0, c, n)
    answers = np.full((n, 8), -1)
    for r in range(8):
        for k in (r % c, (3 * r + 1) % c):
            answers[rng.random(n) < np.where(truth == k, 0.6, 0.08), r] = k
    return truth, answers


def people_and_functions(seed, n=500, c=2):
    """Two people who answer with all classes, and six functions of one class, five of them of the same."""
    rng = np.random.default_rng(seed)
    truth = rng.integers(0, c, n)
    answers = np.full((n, 8), -1)
    for r in range(2):
        seen = rng.random(n) < 0.5
        answers[seen, r] = np.where(rng.random(n) < 0.8, truth, rng.integers(0, c, n))[seen]
    for r in range(2, 8):
        answers[rng.random(n) < np.where(truth == r // 7, 0.6, 0.15), r] = r // 7
    return truth, answers


def crowd(seed, n=1500, c=4, a=40, each=3, confused=False):
    """Forty people of unlike skill, three answers for each example."""
    rng = np.random.default_rng(seed)
    truth, skill = rng.choice(c, n, p=rng.dirichlet(np.full(c, 5.0))), rng.uniform(0.4, 0.95, a)
    answers = np.full((n, a), -1)
    for i in range(n):
        for r in rng.choice(a, each, replace=False):
            shift = 1 if confused and rng.random() < 0.8 else rng.integers(1, c)
            answers[i, r] = truth[i] if rng.random() < skill[r] else (truth[i] + shift) % c
    return truth, answers


@pytest.mark.parametrize("seed", [0, 1, 2])
@pytest.mark.parametrize("make", [keyword_functions, specialists, specialists_of_two, people_and_functions])
def test_annotators_of_few_classes_are_no_worse_than_the_majority_vote(make, seed):
    truth, answers = make(seed)
    found = from_annotators(answers)
    assert accuracy(found.Y, truth, answers) >= accuracy(vote(answers, truth.max() + 1), truth, answers) - 1e-9


def test_two_people_with_one_class_each():
    answers = np.full((200, 2), -1)
    answers[:80, 0], answers[80:160, 1], answers[160:180] = 0, 1, [0, 1]
    found = from_annotators(answers)
    assert (found.Y[:80, 0] > 0.6).all()
    assert (found.Y[80:160, 1] > 0.6).all()
    np.testing.assert_allclose(found.Y[160:180], 0.5)
    assert not found.Y[180:].any()


@pytest.mark.parametrize("seed", [0, 1, 2])
def test_one_coin_where_confusions_cannot_be_estimated(seed):
    truth, answers = crowd(seed)
    found = from_annotators(answers)
    assert accuracy(found.Y, truth, answers) > accuracy(vote(answers, 4), truth, answers) + 0.01


@pytest.mark.parametrize("seed", [0, 1])
def test_confusions_where_they_can_be_estimated(seed):
    truth, answers = crowd(seed, c=6, each=7, confused=True)
    found = from_annotators(answers)
    assert accuracy(found.Y, truth, answers) > accuracy(vote(answers, 6), truth, answers) + 0.05


def test_people_who_always_give_the_same_answer_do_not_spoil_the_others():
    rng = np.random.default_rng(0)
    truth = rng.integers(0, 4, 1000)
    answers = np.where(rng.random((1000, 5)) < 0.7, truth[:, None], rng.integers(0, 4, (1000, 5)))
    answers[:, 3], answers[:, 4] = 0, 1
    found = from_annotators(answers)
    assert accuracy(found.Y, truth, answers) > accuracy(vote(answers, 4), truth, answers) + 0.03


@pytest.mark.skipif(DATA is None, reason="SIIS_DATA names no folder with labelme.npz")
def test_labelme():
    file = np.load(Path(DATA) / "labelme.npz")
    answers = file["answers"].astype(int)
    truth = file["y"][file["split"] == 0].astype(int)
    found = from_annotators(answers)
    assert accuracy(found.Y, truth, answers) > accuracy(vote(answers, 8), truth, answers) + 0.02


def long_table(answers, names, workers):
    example, annotator = np.nonzero(answers >= 0)
    order = np.random.default_rng(0).permutation(example.size)
    return example[order], workers[annotator[order]], names[answers[example, annotator][order]]


@pytest.mark.parametrize("kind", ["frame", "numbers", "texts"])
def test_a_long_table_is_read_as_one(kind):
    _, answers = crowd(0, n=400)
    words = kind != "numbers"
    names = np.array(["ant", "bee", "cat", "dog"]) if words else np.arange(4)
    workers = np.array([f"w{r:02}" for r in range(40)]) if words else np.arange(40)
    columns = long_table(answers, names, workers)
    if kind == "frame":
        table = pd.DataFrame(dict(zip(("task", "worker", "label"), columns, strict=True)))
    else:
        table = np.stack([column.astype(str) if words else column for column in columns], axis=1)
    wide, long = from_annotators(answers), from_annotators(table)
    assert long.classes.tolist() == names.tolist()
    assert long.annotators.tolist() == workers.tolist()
    assert long.tasks.size == 400
    np.testing.assert_allclose(long.Y[np.argsort(long.tasks.astype(int))], wide.Y, atol=1e-9)


def test_three_annotators_are_no_long_table_and_the_user_has_the_last_word():
    truth = np.random.default_rng(0).integers(0, 3, 100)
    assert from_annotators(np.stack([truth, truth, truth], axis=1)).Y.shape == (100, 3)
    rows = [[0, 0, 1], [0, 1, 1], [1, 0, 0]]
    assert from_annotators(rows, long=True).Y.shape == (2, 2)
    assert from_annotators(rows, long=False).Y.shape == (3, 2)
    with pytest.raises(ValueError, match="three columns, task, worker and label; found 2"):
        from_annotators([[0, 1], [1, 0]], long=True)
    with pytest.raises(ValueError, match="long must be"):
        from_annotators(rows, long="yes")


def test_a_classifier_takes_annotated_labels_and_keeps_the_names():
    X, digit = load_digits(return_X_y=True)
    X, digit = X[:300], digit[:300]
    names = np.array([f"digit {k}" for k in range(10)], dtype=object)
    rng = np.random.default_rng(0)
    wrong = rng.random((300, 3)) < 0.2
    answers = names[np.where(wrong, rng.integers(0, 10, (300, 3)), digit[:, None])]
    answers[100:] = None
    found = from_annotators(answers)
    model = PlainSIIS().fit(X, found)
    assert model.classes_.tolist() == names.tolist()
    same = PlainSIIS().fit(X, found.Y, sample_weight=found.weights)
    np.testing.assert_array_equal(model.label_distributions_, same.label_distributions_)
    assert np.mean(model.transduction_ == names[digit]) > 0.85


def test_one_answer_each_is_followed():
    found = from_annotators([[0], [1], [2], [-1], [1]])
    assert np.argmax(found.Y, axis=1)[[0, 1, 2, 4]].tolist() == [0, 1, 2, 1]
    assert found.weights[0] > 0.1
    truth, answers = crowd(0, n=200, c=10, a=5, each=1)
    answers = np.where(answers >= 0, truth[:, None], -1)
    assert np.mean(np.argmax(from_annotators(answers).Y, axis=1) == truth) > 0.98
    masked = np.ma.array([[0, 7], [1, 1]], mask=[[0, 1], [0, 0]])
    assert from_annotators(masked).classes.tolist() == [0, 1]
    with pytest.raises(ValueError, match="two classes or more"):
        from_annotators([[0, -1], [0, 0]])
    with pytest.raises(ValueError, match="at least one answer"):
        from_annotators(np.zeros((3, 0)))


def test_annotators_may_answer_in_words():
    found = from_annotators(pd.DataFrame({"ann": ["a", None, "b"], "bob": ["a", "b", None]}))
    assert found.classes.tolist() == ["a", "b"]
    assert np.argmax(found.Y, axis=1).tolist() == [0, 1, 1]
    with pytest.raises(ValueError, match="one column for each annotator"):
        from_annotators([0, 1, 1])
