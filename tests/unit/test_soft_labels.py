import numpy as np
import pandas as pd
import pytest

from siis.labels import from_annotators, gather, one_hot, read_labels


def test_soft_rows_are_read_and_checked():
    Y = np.array([[0.2, 0.8, 0.0], [0, 0, 0], [1, 0, 0]])
    labels = read_labels(pd.DataFrame(Y, columns=["cat", "dog", "eel"]), [1.0, 1.0, 0.0])
    assert labels.classes.tolist() == ["cat", "dog"], "nothing was given for the third"
    assert labels.used.tolist() == [True, False, False]
    assert labels.absent.tolist() == [False, False, True]
    np.testing.assert_array_equal(labels.Y, Y[:1, :2])
    assert read_labels(Y).classes.tolist() == [0, 1]
    with pytest.raises(ValueError, match=r"2 rows do not, the first at index 0, with sum 1\.5"):
        read_labels([[0.5, 1.0], [0.5, 0.5], [-0.5, 1.5]])
    with pytest.raises(ValueError, match="all 2 rows are 0"):
        read_labels(np.zeros((2, 3)))


def test_labels_merge_at_a_vertex():
    given = gather(np.array([3, 3, 1, 3]), one_hot(np.array([0, 1, 1, 0]), 2), np.array([1.0, 1.0, 2.0, 2.0]))
    assert given.rows.tolist() == [1, 3, 3]
    merged = given.aggregate()
    assert merged.rows.tolist() == [1, 3]
    np.testing.assert_allclose(merged.Y, [[0, 1], [0.75, 0.25]])
    np.testing.assert_allclose(merged.weights, [2, 4])
    np.testing.assert_allclose(merged.prior, [0.5, 0.5])
    np.testing.assert_allclose(merged.coded, [[1], [-0.5]])


def crowd(seed=0, n=400, c=3):
    """Two good annotators, one that confuses 1 and 2, three that guess; each answers half of the time."""
    rng = np.random.default_rng(seed)
    truth = rng.integers(0, c, n)
    answers = np.full((n, 6), -1)
    for r, skill in enumerate([0.95, 0.9, None, 0.4, 0.4, 0.4]):
        right = truth if skill is not None else np.array([0, 2, 1])[truth]
        wrong = rng.random(n) > (0.95 if skill is None else skill)
        answers[:, r] = np.where(wrong, rng.integers(0, c, n), right)
    answers[rng.random(answers.shape) < 0.5] = -1
    answers[7] = -1
    return truth, answers


def test_annotators_are_weighed_by_their_skill():
    truth, answers = crowd()
    found = from_annotators(answers)
    vote = np.array(
        [np.argmax(np.bincount(row[row >= 0], minlength=3)) if (row >= 0).any() else 0 for row in answers]
    )
    heard = (answers >= 0).any(axis=1)
    assert np.mean(np.argmax(found.Y, 1)[heard] == truth[heard]) > np.mean(vote[heard] == truth[heard]) + 0.1
    assert found.confusion[2][1, 2] > 0.7, "who confuses two classes still informs"
    assert not found.Y[7].any()
    assert found.weights[7] == 0
    assert ((found.weights >= 0) & (found.weights <= 1)).all()
    # a fixed point of the model: posterior from prior and confusion
    logs = np.log(found.prior) + sum(
        np.where((answers[:, r] >= 0)[:, None], np.log(found.confusion[r][:, answers[:, r]].T), 0) for r in range(6)
    )
    P = np.exp(logs - logs.max(1, keepdims=True))
    np.testing.assert_allclose(found.Y[heard], (P / P.sum(1, keepdims=True))[heard], atol=1e-5)


def test_annotators_may_answer_in_words():
    found = from_annotators(pd.DataFrame({"ann": ["a", None, "b"], "bob": ["a", "b", None]}))
    assert found.classes.tolist() == ["a", "b"]
    assert np.argmax(found.Y, axis=1).tolist() == [0, 1, 1]
    with pytest.raises(ValueError, match="one column for each annotator"):
        from_annotators([0, 1, 1])
