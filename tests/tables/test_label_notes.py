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


CAT = ["Cat", "cat", "CAT ", "dog", "cat", "big  dog", "big dog"]
NUMBERS = ["1", "1.0", "1", "2", "2.5", "2.5"]
MERGED = {"merge_classes": True}


@pytest.mark.parametrize(
    ("cells", "roles", "labels", "said"),
    [
        (
            ["x", "later", "y", "Skip"],
            {"unlabelled": ("skip", "later", "never")},
            ["x", None, "y", None],
            [
                "2 cells of column kind (Skip, later) taken for unlabelled (--unlabelled)",
                "no cell of column kind says never (--unlabelled)",
            ],
        ),
        (
            CAT,
            {},
            [cell.strip() for cell in CAT],
            [
                "taken for different classes: ('big  dog', 'big dog'), (CAT, Cat, cat); --merge-classes makes one "
                "class of those in a bracket"
            ],
        ),
        (CAT, MERGED, [*["cat"] * 3, "dog", "cat", *["big  dog"] * 2], ["merged (--merge-classes): 'big  dog', cat"]),
        (
            ["-1", "1", "?", "1"],
            {"unlabelled": ("?",)},
            ["-1", "1", None, "1"],
            ["-1 and 1 in column kind"],
        ),
        (["-1", "1", "2", "1", "-1"], {"unlabelled": ("-1",)}, [None, "1", "2", "1", None], []),
        (["-1.0", "0.0", "1.0"], {}, [None, "0.0", "1.0"], ["1 cell of column kind (-1.0) taken for unlabelled"]),
        (["-1.0", "1.0", "1.0", "-1.0"], {}, ["-1.0", "1.0", "1.0", "-1.0"], []),
        (NUMBERS, {}, NUMBERS, ["differ only in how they are written taken for different classes: (1, 1.0)"]),
        (NUMBERS, MERGED, ["1", "1", "1", "2", "2.5", "2.5"], []),
        (
            ["x", "x", "y", "z", ""],
            {},
            ["x", "x", "y", "z", None],
            ["classes with a single label: y, z; their own label can never be checked"],
        ),
        (["x"] * 4, {}, ["x"] * 4, ["only one class among the labels of column kind, x: every example will get it"]),
    ],
)
def test_labels_and_notes(write, cells, roles, labels, said):
    found, notes = given(write, cells, **roles)
    assert found == labels
    for part in said:
        assert part in notes


def test_plain_labels_are_not_suspected(write):
    _, notes = given(write, ["x", "y", "", "other", "no", "yes"] * 2)
    for part in ("if they mean", "--merge-classes", "single", "only one class"):
        assert part not in notes


@pytest.mark.parametrize("word", ["?", "unknown", "-", "Unlabeled", "TODO", "N.A.", "none", "NA", "null", "missing"])
def test_words_for_no_label_are_classes_and_named_with_the_option(write, word):
    cells = ["x", word, "y", "", word]
    labels, notes = given(write, cells)
    assert labels == ["x", word, "y", None, word]
    assert f"taken for classes; if they mean no label: --unlabelled {shlex.quote(word)}" in notes
    labels, notes = given(write, cells, unlabelled=(word.lower(),))
    assert labels == ["x", None, "y", None, None]
    assert "taken for unlabelled (--unlabelled)" in notes
    assert "if they mean no label" not in notes


def test_annotators_and_arrays(write, tmp_path):
    def annotations(text, **roles):
        data = read(write("a,anna,ben\n" + text), Roles(annotators=("anna", "ben"), **roles))
        return data.annotations.tolist(), data.notes

    found, _ = annotations("1,Cat,cat\n4,?,cat\n9,dog,?\n7,dog,\n", unlabelled=("?",), **MERGED)
    assert found == [["cat", "cat"], [None, "cat"], ["dog", None], ["dog", None]]
    found, notes = annotations("1,0,-1\n4,2,0\n9,-1,2\n7,0,\n")
    assert found == [["0", None], ["2", "0"], [None, "2"], ["0", None]]
    assert "2 cells of columns anna, ben (-1) taken for unlabelled; --unlabelled '' makes them a class" in notes
    found, _ = annotations("1,none,cat\n4,cat,none\n9,cat,\n7,none,\n")
    assert found == [["none", "cat"], ["cat", "none"], ["cat", None], ["none", None]]
    np.savez(tmp_path / "t.npz", X=np.eye(4), y=np.array(["x", "?", "y", "X"]))
    assert list(read(tmp_path / "t.npz", Roles(unlabelled=("?",), **MERGED)).labels) == ["X", None, "y", "X"]


@pytest.mark.parametrize("other", ["cafe\u0301", "caf\u00e9\u200b", "caf\uff45\u0301"])
def test_labels_that_look_alike_are_named(write, other):
    cells = ["caf\u00e9", "caf\u00e9", other, "tea"]
    labels, notes = given(write, cells)
    assert labels == cells
    assert "taken for different classes" in notes
    assert given(write, cells, merge_classes=True)[0] == ["caf\u00e9"] * 3 + ["tea"]


@pytest.mark.parametrize("mark", ["\\N", "NaN", "nan", "-1"])
def test_marks_that_programs_write_for_an_empty_cell(write, mark):
    labels, notes = given(write, ["x", mark, "y", mark])
    assert labels == ["x", None, "y", None]
    assert f"2 cells of column kind ({mark}) taken for unlabelled; --unlabelled '' makes them a class" in notes
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
