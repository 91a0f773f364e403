"""Labels that may not be meant as classes."""

import shlex

import numpy as np
import pyarrow as pa
import pytest
from pyarrow import parquet as pq

from siis.tables import Roles, read


def given(write, cells, **roles):
    data = read(
        write([("a", "kind"), *((i * i, cell) for i, cell in enumerate(cells))]), Roles(label="kind", **roles)
    )
    return list(data.labels), " / ".join(data.notes)


@pytest.mark.parametrize("word", ["?", "unknown", "-", "Unlabeled", "missing", "TODO", "N.A."])
def test_words_for_no_label_are_named_with_the_option(write, word):
    labels, notes = given(write, ["x", word, "y", word])
    assert labels == ["x", word, "y", word]
    assert "2 labels of column kind (" in notes
    assert "taken for classes; if they mean no label: --unlabelled" in notes
    labels, notes = given(write, ["x", word, "y", word], unlabelled=(word.lower(),))
    assert labels == ["x", None, "y", None]
    assert "taken for unlabelled (--unlabelled)" in notes
    assert "if they mean no label" not in notes


def test_any_word_can_mean_no_label(write):
    labels, notes = given(write, ["x", "later", "y", "Skip"], unlabelled=("skip", "later", "never"))
    assert labels == ["x", None, "y", None]
    assert "2 cells of column kind (Skip, later) taken for unlabelled (--unlabelled)" in notes
    assert "no cell of column kind says never (--unlabelled)" in notes


def test_spellings_of_one_class(write):
    cells = ["Cat", "cat", "CAT ", "dog", "cat", "big  dog", "big dog"]
    labels, notes = given(write, cells)
    assert labels == ["Cat", "cat", "CAT", "dog", "cat", "big  dog", "big dog"]
    assert (
        "taken for different classes: ('big  dog', 'big dog'), (CAT, Cat, cat); --merge-classes makes one class of "
        "those in a bracket" in notes
    )
    labels, notes = given(write, cells, merge_classes=True)
    assert labels == ["cat", "cat", "cat", "dog", "cat", "big  dog", "big  dog"]
    assert "merged (--merge-classes): 'big  dog', cat" in notes


def test_plain_labels_are_not_suspected(write):
    _, notes = given(write, ["x", "y", "", "other", "no", "yes"])
    assert "if they mean" not in notes
    assert "--merge-classes" not in notes


def test_annotators_and_arrays(write, tmp_path):
    path = write("a,anna,ben\n1,Cat,cat\n4,?,cat\n9,dog,?\n7,dog,\n")
    roles = Roles(annotators=("anna", "ben"), unlabelled=("?",), merge_classes=True)
    assert read(path, roles).annotations.tolist() == [["cat", "cat"], [None, "cat"], ["dog", None], ["dog", None]]
    np.savez(tmp_path / "t.npz", X=np.eye(4), y=np.array(["x", "?", "y", "X"]))
    data = read(tmp_path / "t.npz", Roles(unlabelled=("?",), merge_classes=True))
    assert list(data.labels) == ["X", None, "y", "X"]


def test_classes_with_a_single_label_are_listed_once(write):
    _, notes = given(write, ["x"] * 3 + ["y", "z", ""])
    assert "classes with a single label: y, z; their own label can never be checked" in notes
    assert "single" not in given(write, ["x", "y"] * 2)[1]


def test_signs_are_two_classes_when_the_words_for_no_label_are_gone(write):
    labels, notes = given(write, ["-1", "1", "?", "1", "-1"], unlabelled=("?",))
    assert labels == ["-1", "1", None, "1", "-1"]
    assert "-1 and 1 in column kind: taken for two classes" in notes
    labels, _ = given(write, ["-1", "1", "2", "1", "-1"], unlabelled=("-1",))
    assert labels == [None, "1", "2", "1", None]


def test_a_single_class_is_named(write):
    assert "only one class among the labels of column kind, x: every example will get it" in given(write, "xxxx")[1]
    assert "only one class" not in given(write, "xxyy")[1]


def test_numbers_are_one_class_however_they_are_written(write):
    labels, notes = given(write, ["-1.0", "0.0", "1.0", "-1.0"])
    assert labels == [None, "0.0", "1.0", None]
    assert "2 cells of column kind (-1.0) taken for unlabelled" in notes
    labels, notes = given(write, ["-1.0", "1.0", "1.0", "-1.0"])
    assert labels == ["-1.0", "1.0", "1.0", "-1.0"]
    labels, notes = given(write, ["1", "1.0", "1", "2", "2.5", "2.5"])
    assert labels == ["1", "1.0", "1", "2", "2.5", "2.5"]
    assert "differ only in how they are written taken for different classes: (1, 1.0); --merge-classes" in notes
    assert given(write, ["1", "1.0", "1", "2", "2.5", "2.5"], merge_classes=True)[0] == ["1"] * 3 + [
        "2",
        "2.5",
        "2.5",
    ]


@pytest.mark.parametrize("other", ["cafe\u0301", "caf\u00e9\u200b", "caf\uff45\u0301"])
def test_labels_that_look_alike_are_named(write, other):
    cells = ["caf\u00e9", "caf\u00e9", other, "tea"]
    labels, notes = given(write, cells)
    assert labels == cells
    assert "taken for different classes" in notes
    assert given(write, cells, merge_classes=True)[0] == ["caf\u00e9"] * 3 + ["tea"]


def test_annotators_may_write_minus_one_for_no_answer(write):
    path = write("a,anna,ben\n1,0,-1\n4,2,0\n9,-1,2\n7,0,\n")
    data = read(path, Roles(annotators=("anna", "ben")))
    assert data.annotations.tolist() == [["0", None], ["2", "0"], [None, "2"], ["0", None]]
    assert "2 cells of columns anna, ben (-1) taken for unlabelled; --unlabelled '' makes them a class" in data.notes


@pytest.mark.parametrize("word", ["none", "None", "NA", "null", "N/A", "?", "-", "missing"])
def test_a_class_may_have_any_name(write, word):
    labels, notes = given(write, ["x", word, "y", "", word])
    assert labels == ["x", word, "y", None, word]
    assert f"taken for classes; if they mean no label: --unlabelled {shlex.quote(word)}" in notes
    assert given(write, ["x", word, "y", "", word], unlabelled=(word,))[0] == ["x", None, "y", None, None]


@pytest.mark.parametrize("mark", ["\\N", "NaN", "nan"])
def test_marks_that_programs_write_for_an_empty_cell(write, mark):
    labels, notes = given(write, ["x", mark, "y", mark])
    assert labels == ["x", None, "y", None]
    assert f"2 cells of column kind ({mark}) taken for unlabelled; --unlabelled '' makes them a class" in notes


@pytest.mark.parametrize("mark", ["\\N", "NaN", "-1"])
def test_the_words_for_no_label_replace_the_usual_marks(write, mark):
    labels, notes = given(write, ["x", mark, "y", "?", ""], unlabelled=("?",))
    assert labels == ["x", mark, "y", None, None]
    assert f"taken for classes; if they mean no label: --unlabelled '?' {shlex.quote(mark)}" in notes
    labels, notes = given(write, ["x", mark, "y", "", "y"], unlabelled=("",))
    assert labels == ["x", mark, "y", None, "y"]
    assert "says ''" not in notes
    assert f"if they mean no label: --unlabelled {shlex.quote(mark)}" in notes


def test_missing_numbers_are_no_labels_whatever_the_words_are(tmp_path):
    pq.write_table(pa.table({"a": [1.0, 4, 9, 16], "kind": [1.0, float("nan"), 2.0, None]}), tmp_path / "t.parquet")
    data = read(tmp_path / "t.parquet", Roles(label="kind", unlabelled=("?",)))
    assert list(data.labels) == ["1", None, "2", None]


def test_annotators_may_choose_a_class_called_none(write):
    path = write("a,anna,ben\n1,none,cat\n4,cat,none\n9,cat,\n7,none,\n")
    data = read(path, Roles(annotators=("anna", "ben")))
    assert data.annotations.tolist() == [["none", "cat"], ["cat", "none"], ["cat", None], ["none", None]]
