"""A reviewer's answers."""

import pytest

from siis.tables import read_corrections


def test_ids_and_labels(write):
    path = write("label,note,id\ncat,x,007\n dog ,,8\ncat,again,007\n")
    assert read_corrections(path) == {"007": "cat", "8": "dog"}


@pytest.mark.parametrize(
    ("content", "part"),
    [
        ("id,label\n7,cat\n8,dog\n7,dog\n", "7 has cat in row 1 and dog in row 3"),
        ("id,label\n7,cat\n8,\n", "row 2: a correction needs an id and a label; found no label"),
        ("id,label\n7,cat\n,dog\n", "found no id"),
        ("id,class\n7,cat\n", "found none named label"),
        ("key,label\n7,cat\n", "found none named id"),
    ],
)
def test_bad_corrections(write, content, part):
    path = write(content)
    with pytest.raises(ValueError, match=r"data\.csv") as caught:
        read_corrections(path)
    assert part in str(caught.value)


def test_the_names_of_the_data_do_too(write):
    path = write("kind,shop_id\ncat,007\n")
    assert read_corrections(path, id="shop_id", label="kind") == {"007": "cat"}
    path = write("id,kind,label\n7,cat,dog\n")
    assert read_corrections(path, id="shop_id", label="kind") == {"7": "dog"}, "as a report saves them"
    path = write("shop,kind\n7,cat\n")
    with pytest.raises(ValueError, match="found none named id"):
        read_corrections(path, id="shop_id", label="kind")


def test_decisions_without_an_id(tmp_path):
    path = tmp_path / "decisions.jsonl"
    path.write_text('{"id":"1","decision":"kept","label":"a"}\n{"id":null,"decision":"kept","label":"a"}\n')
    with pytest.raises(ValueError, match="found no id"):
        read_corrections(path)
