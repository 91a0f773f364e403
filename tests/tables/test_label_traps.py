"""Labels that may not be meant as classes."""

import numpy as np
import pytest

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
    assert "2 cells of column kind (" in notes
    assert "taken for classes; if they mean no label: --unlabelled" in notes
    labels, notes = given(write, ["x", word, "y", word], unlabelled=(word.lower(),))
    assert labels == ["x", None, "y", None]
    assert "taken for unlabelled, as asked" in notes
    assert "if they mean no label" not in notes


def test_any_word_can_mean_no_label(write):
    labels, notes = given(write, ["x", "later", "y", "Skip"], unlabelled=("skip", "later", "never"))
    assert labels == ["x", None, "y", None]
    assert "2 cells of column kind (Skip, later) taken for unlabelled, as asked" in notes
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
    assert "merged, as asked: 'big  dog', cat" in notes


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


def test_slips_of_the_pen_are_named(write):
    cells = ["bakery"] * 10 + ["bakry", "Sicliy", "floor 1"] + ["Sicily"] * 6 + ["floor 2"] * 9 + ["bank"] * 5
    labels, notes = given(write, cells)
    assert labels == cells, "nothing is changed"
    assert (
        "slips of the pen among the labels of column kind? Sicliy (1 x) beside Sicily (6 x), bakry (1 x) beside "
        "bakery (10 x); taken for classes: if they are slips, correct the file (--merge-classes does not join them)"
        in notes
    )
    assert "class with a single label: 'floor 1'; its own label can never be checked" in notes
    _, notes = given(write, ["bakery"] * 4 + ["bakry"] + ["cat", "car"] * 2)
    assert "slips" not in notes, "four are not much commoner than one, and short names are often alike"


def test_classes_with_a_single_label_are_listed_once(write):
    _, notes = given(write, ["x"] * 3 + ["y", "z", ""])
    assert "classes with a single label: y, z; their own label can never be checked" in notes
    assert "single" not in given(write, ["x", "y"] * 2)[1]
