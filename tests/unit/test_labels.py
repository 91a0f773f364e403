import numpy as np
import pandas as pd
import polars as pl
import pytest

from siis.labels import coded, distributions, encode_labels, gather, one_hot, read_labels

NAN, NA = float("nan"), pd.NA


@pytest.mark.parametrize(
    ("y", "classes", "codes"),
    [
        ([0, 2, -1, 2], [0, 2], [0, 1, -1, 1]),
        (np.array([0.0, NAN, 1.0, -1.0]), [0, 1], [0, -1, 1, -1]),
        (["a", None, "b"], ["a", "b"], [0, -1, 1]),
        (np.array(["b", NAN, "a"], dtype=object), ["a", "b"], [1, -1, 0]),
        (pd.Series(["b", None, "a"]), ["a", "b"], [1, -1, 0]),
        (pd.Series(["b", NA, "a"], dtype="string"), ["a", "b"], [1, -1, 0]),
        (pd.Series(["b", None, "a"], dtype="category"), ["a", "b"], [1, -1, 0]),
        (pd.Series([3, NA, 1], dtype="Int64"), [1, 3], [1, -1, 0]),
        (pl.Series(["b", None, "a"]), ["a", "b"], [1, -1, 0]),
        (pl.Series([3, None, 1]), [1, 3], [1, -1, 0]),
        (np.array([True, False]), [False, True], [1, 0]),
        (np.array([True, None, False], dtype=object), [False, True], [1, -1, 0]),
        (np.array([1, 0, -1], dtype=object), [0, 1], [1, 0, -1]),
        (np.array([5, 5]), [5], [0, 0]),
    ],
)
def test_every_form_of_y(y, classes, codes):
    coding = encode_labels(y)
    assert coding.classes.tolist() == classes
    assert coding.codes.tolist() == codes


def test_minus_one_and_one_are_two_classes():
    with pytest.warns(UserWarning, match="read as two classes"):
        coding = encode_labels([-1, 1, 1])
    assert coding.classes.tolist() == [-1, 1]
    assert coding.codes.tolist() == [0, 1, 1]


@pytest.mark.parametrize(
    ("y", "message"),
    [
        ([-1, -1], "at least one label; all 2"),
        ([None, NAN], "at least one label"),
        ([0.5, 1.0], "Unknown label type: continuous"),
        ([np.inf, 1.0], "infinity"),
        (np.array(["cat", -1]), "string '-1' 1 times.*None"),
        (np.array(["cat", "-1"], dtype=object), "string '-1'"),
        (np.array(["cat", NAN]), "string 'nan'"),
        (np.array(["a", 1], dtype=object), "mixture of int, str"),
        (np.array(["2020-01-01"], dtype="datetime64[D]"), "Unknown label type"),
    ],
)
def test_doubtful_labels_are_refused(y, message):
    with pytest.raises(ValueError, match=message):
        encode_labels(y)


def test_label_rows_follow_the_paper():
    np.testing.assert_array_equal(coded(one_hot(np.array([0, 1]), 2)), [[-1], [1]])
    np.testing.assert_array_equal(coded(one_hot(np.array([2, 0]), 3)), [[0, 0, 1], [1, 0, 0]])
    np.testing.assert_array_equal(coded(one_hot(np.array([0]), 1)), [[1]])


def test_distributions_are_the_nearest_points_of_the_simplex(rng):
    F = rng.standard_normal((100, 4))
    p = distributions(F, 4)
    assert (p >= 0).all()
    np.testing.assert_allclose(p.sum(1), 1)
    np.testing.assert_array_equal(p.argmax(1), F.argmax(1))
    vertices = np.eye(4)  # the projection p of f satisfies (f - p)'(v - p) <= 0 for every vertex v
    slopes = np.einsum("ij,ikj->ik", F - p, vertices[None] - p[:, None])
    assert slopes.max() < 1e-12


def test_two_classes_share_one_column():
    p = distributions(np.array([[-3.0], [0.5], [0.0]]), 2)
    np.testing.assert_allclose(p, [[1, 0], [0.25, 0.75], [0.5, 0.5]])


def test_labels_of_one_vertex_and_class_add_up():
    given = gather(np.array([4, 4, 4, 1]), one_hot(np.array([0, 1, 0, 1]), 2), np.array([1.0, 2, 3, 4]))
    assert given.rows.tolist() == [1, 4, 4]
    assert given.codes.tolist() == [1, 0, 1]
    assert given.weights.tolist() == [4, 4, 2]


def test_large_numbers_stay_apart_or_are_refused():
    large = 2**53
    for y in ([large, large + 1], np.array([large, None, large + 1], dtype=object)):
        assert encode_labels(y).classes.tolist() == [large, large + 1]
    for y in (
        pd.Series([large, large + 1, NA], dtype="Int64"),
        pl.Series([large, large + 1, None]),
        np.array([1e300, 2e300, None], dtype=object),
        np.array([2**70, 1, None], dtype=object),
        np.array([1e300, 2e300]),
    ):
        with pytest.raises(ValueError, match=r"a class that is a number must .* Write the classes as strings"):
            encode_labels(y)
    assert encode_labels(np.ma.masked_array([7, 0, 1], [True, False, False])).classes.tolist() == [0, 1]


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
