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
        "(CAT, Cat, 'big  dog', 'big dog', cat) taken for different classes; --merge-classes makes them one" in notes
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
