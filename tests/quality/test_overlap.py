"""Classes that overlap, and annotators who are often wrong, are found where they were planted."""

import numpy as np
import pytest

from siis import SIISClassifier
from siis.quality import annotator_table, overlap_table

pytestmark = pytest.mark.slow

NAMES = np.array(["ant", "bee", "cow", "dog"], dtype=object)


def heaps(gap=0.8, seed=0):
    """Four classes of 80; ant and bee lie close to each other, the others far off. 200 are labelled."""
    rng = np.random.default_rng(seed)
    truth = np.arange(320) % 4
    centers = np.array([[0, 0], [gap, 0], [12, 0], [0, 12]])
    X = rng.normal(0, 0.5, size=(320, 2)) + centers[truth]
    y = np.full(320, None, dtype=object)
    y[:200] = NAMES[truth[:200]]
    return X, y, truth


@pytest.fixture(scope="module")
def fitted():
    X, y, truth = heaps()
    wrong = np.flatnonzero(truth[:200] == 2)[:8]
    y[wrong] = "dog"  # labels of cows, whose examples look like no dog
    return truth, SIISClassifier(n_neighbors=10, metric="euclidean", connectivity="union").fit(X, y)


def test_classes_that_overlap_come_first(fitted):
    _, model = fitted
    table = model.class_overlap()
    assert list(table) == ["first", "second", "overlap", "low", "high", "mislabelled"]
    assert (table["first"][0], table["second"][0]) == ("ant", "bee")
    assert (np.diff(table["overlap"]) <= 0).all()
    best = 0.212  # the share that no rule can put right: beyond 0.4, of a normal distribution of deviation 0.5
    assert table["overlap"][0] == pytest.approx(best, abs=0.07)
    assert table["low"][0] <= best <= table["high"][0]
    rest = table["overlap"][1:]
    assert (rest < table["overlap"][0] / 2).all()


def test_labels_and_examples_are_kept_apart(fitted):
    _, model = fitted
    noise = model.noise_matrix_
    table = overlap_table(np.array([0, 1, 2, 3] * 5), np.tile(np.eye(4), (5, 1)), np.ones(20), noise, NAMES, 0)
    assert table.n_rows == 0, "no example is taken for another class"
    assert noise[3, 2] > noise[0, 2], "but labels of cows say dog"
    answers, truth = np.array([0] * 8 + [1] * 12), np.repeat(np.eye(2), 10, axis=0)
    table = overlap_table(answers, truth, np.ones(20), np.array([[0.9, 0.2], [0.1, 0.8]]), NAMES[:2], 0)
    assert table["overlap"][0] == pytest.approx(2 / 20)
    assert table["mislabelled"][0] == pytest.approx(0.15)
    assert 0 <= table["low"][0] < 0.1 < table["high"][0] <= 0.35


def labelled_by(skills, truth, n_each, rng, c=4):
    """Labels of annotators, each right with a probability of theirs; the last one always says bee for ant."""
    rows, who, codes = [], [], []
    for name, skill in skills.items():
        index = rng.choice(truth.size, n_each, replace=False)
        right = rng.random(n_each) < skill
        other = (truth[index] + rng.integers(1, c, n_each)) % c
        rows += index.tolist()
        who += [name] * n_each
        codes += np.where(right, truth[index], other).tolist()
    return np.array(rows), np.array(who), np.array(codes)


def test_annotators_are_ranked(fitted):
    X, y, truth = heaps(gap=4.0)
    skills = {"eve": 0.55, "bob": 0.8, "ann": 0.97}
    example, who, codes = labelled_by(skills, truth, 160, np.random.default_rng(0))
    model = SIISClassifier(n_neighbors=10, metric="euclidean", connectivity="union").fit(X, y)
    table = model.rank_annotators(example, who, NAMES[codes])
    assert table["annotator"].tolist() == ["eve", "bob", "ann"], "worst first"
    assert table["labels"].tolist() == [160] * 3
    for row in table.rows():
        share = np.mean(codes[who == row["annotator"]] == truth[example[who == row["annotator"]]])
        assert row["low"] <= share <= row["high"]
        assert row["right"] == pytest.approx(share, abs=0.05)
        assert row["agreement"] == pytest.approx(share, abs=0.05)
    order = np.random.default_rng(1).permutation(example.size)
    again = model.rank_annotators(example[order], who[order], NAMES[codes][order])
    np.testing.assert_allclose(again["right"], table["right"], rtol=1e-9)


def test_a_habit_is_named():
    P = np.full((90, 3), 0.01) + 0.97 * np.eye(3)[np.arange(90) % 3]
    codes = np.arange(90) % 3
    codes[::3][:12] = 1  # bee for ant
    table = annotator_table(np.arange(90), np.full(90, "kim"), codes, P, NAMES[:3])
    assert (table["said"][0], table["instead_of"][0]) == ("bee", "ant")
    assert table["times"][0] == pytest.approx(12, abs=2)
    table = annotator_table(np.arange(90), np.full(90, "kim"), np.arange(90) % 3, P, NAMES[:3])
    assert (table["said"][0], table["times"][0]) == (None, 0.0)


def test_others_show_where_the_graph_knows_nothing():
    rng = np.random.default_rng(3)
    truth = rng.integers(0, 3, 150)
    example, who, codes = labelled_by({"a": 0.9, "b": 0.9, "c": 0.9, "d": 0.3}, truth, 150, rng, c=3)
    table = annotator_table(example, who, codes, np.full((150, 3), 1 / 3), NAMES[:3])
    assert table["annotator"][0] == "d"
    assert table["right"][0] == pytest.approx(0.3, abs=0.12)
    assert (table["right"][1:] > 0.8).all()


def test_what_is_no_label_is_refused(fitted):
    _, model = fitted
    with pytest.raises(ValueError, match="classes of the model, ant, bee, cow, dog; found 'emu'"):
        model.rank_annotators([0], ["ann"], ["emu"])
    with pytest.raises(ValueError, match="classes of the model, ant, bee, cow, dog; found None"):
        model.rank_annotators([0], ["ann"], [None])
    with pytest.raises(ValueError, match="0 to 319; found 600"):
        model.rank_annotators([600], ["ann"], ["ant"])
    with pytest.raises(ValueError, match="found 1, 2 and 1"):
        model.rank_annotators([0], ["ann", "bob"], ["ant"])


def test_no_label_is_evidence_for_itself():
    table = annotator_table(np.arange(60), np.full(60, "kim"), np.arange(60) % 3, np.full((60, 3), 1 / 3), NAMES[:3])
    assert table["right"][0] == pytest.approx(0.5), "nothing is known of one who is alone, without a graph"
    assert table["high"][0] - table["low"][0] > 0.9
    twice = annotator_table(
        np.repeat(np.arange(60), 2),
        np.full(120, "kim"),
        np.repeat(np.arange(60) % 3, 2),
        np.full((60, 3), 1 / 3),
        NAMES[:3],
    )
    assert twice["right"][0] == pytest.approx(0.5), "not even by answering twice"
