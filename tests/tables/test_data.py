"""Data that contradict themselves cannot be built."""

from dataclasses import replace

import pytest

from siis.tables import NewData, Roles, read


def test_lengths_agree(animals):
    data = read(animals, Roles(label="kind"))
    for change in ({"ids": data.ids[1:]}, {"labels": data.labels[1:]}, {"X": data.X[1:]}, {"texts": ("a",)}):
        with pytest.raises(ValueError, match=r"one entry for each example; found lengths \["):
            replace(data, **change)
    with pytest.raises(ValueError, match=r"found lengths \[39, 40\]"):
        NewData(data.ids, data.X[1:], None, None, ())


def test_labels_or_annotations(animals):
    data = read(animals, Roles(label="kind"))
    for change in ({"labels": None}, {"annotations": data.labels[:, None]}):
        with pytest.raises(ValueError, match="either labels or annotations"):
            replace(data, **change)


def test_rows_are_what_the_file_says(tmp_path):
    file = tmp_path / "shops.csv"
    file.write_text("name,kind,size,note\na,x,3.50,\nb,y,1e3,two  words\nc,x,7,\nd,y,8,-\n")
    rows = read(file, Roles(label="kind", id="name", features=("size",))).rows
    assert rows.names == ("size", "note")
    assert [len(rows), rows[0], rows[1], rows[-1]] == [4, ("3.50", ""), ("1e3", "two  words"), ("8", "-")]
    with pytest.raises(IndexError):
        rows[4]
