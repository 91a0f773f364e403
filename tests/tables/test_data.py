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


@pytest.mark.parametrize("name", ["label", "Label", " LABEL"])
def test_a_column_that_is_called_label_need_not_be_named(tmp_path, name):
    file = tmp_path / "shops.csv"
    file.write_text(f"{name},size,kind\na,3.50,u\nb,1e3,v\na,7,u\n,8,w\n")
    data = read(file, Roles())
    assert data.labels.tolist() == ["a", "b", "a", None]
    assert next(iter(data.columns)).kind == "label"
    assert any(note.startswith("labels: column ") for note in data.notes)
    assert read(file, Roles(label="kind")).labels.tolist() == ["u", "v", "u", "w"]


@pytest.mark.parametrize("header", ["label,Label", "text,kind", "labels,kind", "label,kind"])
def test_labels_are_named_where_their_column_is_not_plain(tmp_path, header):
    file = tmp_path / "shops.csv"
    file.write_text(f"{header},size\na,b,1\nb,b,2\nc,a,3\n")
    with pytest.raises(ValueError, match="must be named, or be called label"):
        read(file, Roles(id="label" if header == "label,kind" else None))


def test_a_column_called_label_beside_annotators_is_pointed_out(tmp_path):
    file = tmp_path / "shops.csv"
    file.write_text("label,size,ann,bob\na,1,a,a\nb,2,b,b\na,3,a,b\n")
    roles = Roles(annotators=("ann", "bob"))
    assert any("is no annotator and is a feature" in note for note in read(file, roles).notes)
    chosen = Roles(annotators=("ann", "bob"), features=("size",))
    assert any("is no annotator" in note for note in read(file, chosen).notes) is False
