"""CSV and TSV files, as they come."""

import gzip
import time

import numpy as np
import pytest

from siis.tables import Roles, read
from siis.tables.delimited import read_delimited

KIND = Roles(label="kind")


def test_what_was_understood(animals):
    data = read(animals, Roles(label="kind", id="key"))
    assert data.notes[0] == "40 rows, 2 columns of numbers, 1 column of categories, 20 labelled, 2 classes"
    assert "categories: colour (4)" in data.notes
    assert "numbers: height, count" in data.notes
    assert data.ids[:2] == ("001", "002")
    assert data.X.shape == (40, 6)
    assert data.X.dtype == np.float64
    assert data.affinity == "nearest_neighbors"
    assert data.annotations is None
    assert data.texts is None
    assert data.images is None
    assert data.labels.dtype == object
    assert list(data.labels[:4]) == [None, "cat", None, "dog"]


def test_leading_zeros_of_labels_stay(write):
    data = read(write("a,kind\n1,01\n2,1\n3, 01 \n"), KIND)
    assert list(data.labels) == ["01", "1", "01"]


@pytest.mark.parametrize("word", ["", "NaN", "nan", "\\N", "  "])
def test_missing_words(write, word):
    data = read(write([("a", "kind"), ("1", "x"), (word, word), ("3", "y"), ("8", "y")]), KIND)
    assert list(data.labels) == ["x", None, "y", "y"]
    assert data.X[1, 0] == 3.0
    assert "missing, filled with the median: a (1 cell, 3)" in data.notes
    taken = [note for note in data.notes if "taken for unlabelled" in note]
    assert len(taken) == bool(word.strip())


def test_infinities_are_missing(write):
    data = read(write("a,kind\n1,x\ninf,y\n-Infinity,y\n3,\n1e999,\n5,\n"), KIND)
    assert data.X[:, 0].tolist() == [1, 3, 3, 3, 3, 5]
    assert data.X[:, 1].tolist() == [0, *[np.std([1, 3, 5])] * 2, 0, np.std([1, 3, 5]), 0]
    assert "infinite, taken for missing: a (3)" in data.notes


@pytest.mark.parametrize(
    "content",
    [
        b"\xef\xbb\xbfa,kind\n1,x\n2,y\n",
        b"a,kind\r\n1,x\r\n2,y\r\n",
        b"a,kind\r1,x\r2,y\r",
        b"\n\na,kind\n1,x\n2,y\n\n\n\n",
        b"a,kind\n1,x\n2,y",
        b"a,kind\n1,x\n2,y\n,\n , \n",
        b' a , "kind" \n 1,x \n+2.0, y\n'.replace(b' "kind" ', b"kind "),
        b"a;kind\n1;x\n2;y\n",
    ],
)
def test_line_ends_marks_and_blanks(write, content):
    data = read(write(content), KIND)
    assert data.X[:, 0].tolist() == [1.0, 2.0]
    assert list(data.labels) == ["x", "y"]
    assert ("2 empty rows at the end were left out" in data.notes) == (b"\n,\n" in content)


def test_tabs_and_gzip(write):
    text = b"a\tkind\n1\tx, or y\n2\tz\n"
    assert list(read(write(text, "t.tsv"), KIND).labels) == ["x, or y", "z"]
    assert list(read(write(gzip.compress(text), "t.tsv.gz"), KIND).labels) == ["x, or y", "z"]


def test_quoted_newlines_and_large_cells(write):
    huge = "word " * 2_000_000
    rows = [("a", "note", "kind"), ("1", 'two\nlines, "quoted"', "x"), ("2", huge, "y"), ("3", "", "")]
    data = read(write(rows), Roles(label="kind", text="note"))
    assert data.texts == ('two\nlines, "quoted"', huge.strip(), "")
    assert data.X.shape[0] == 3


def test_quoted_newlines_across_blocks(write, monkeypatch):
    monkeypatch.setattr("siis.tables.delimited.LARGEST_BLOCK", 64)
    rows = [("a", "kind"), *((str(2 * i), f"{i}\n,\n{i}") for i in range(100))]
    assert list(read(write(rows), KIND).labels) == [row[1] for row in rows[1:]]


def test_other_encodings(write):
    content = "größe,kind\n1,süß\n2,\n"
    for encoding in ("latin-1", "utf-16", "cp1252", "UTF8"):
        data = read(write(content.encode(encoding)), Roles(label="kind", encoding=encoding))
        assert data.labels[0] == "süß"


def test_nameless_columns_get_a_place(write):
    data = read(write(",a,kind,\n0,1,x,\n0,2,y,\n5,3,y,\n"), Roles(label="kind", features=("column 1",)))
    assert data.X[:, 0].tolist() == [0, 0, 5]
    assert "left out, no values: 'column 4'" in read(write(",a,kind,\n0,1,x,\n1,2,y,\n"), KIND).notes


def test_decimal_commas_go_with_semicolons(write, refusal):
    path = write("a;b;kind\n1,5;1;x\n-2,25e1;;y\n;2,5;1,5\n")
    data = read(path, KIND)
    assert data.X.tolist() == [[1.5, 1], [-22.5, 1.75], [-10.5, 2.5]]
    assert list(data.labels) == ["x", "y", "1,5"]
    assert "columns are separated by semicolons; decimals may be by commas" in data.notes
    assert np.array_equal(data.recipe.apply(path).X, data.X)
    assert read(write("a;kind\n1,5;x\n2,5;y\n1.234,5;y\n"), KIND).X[:, 0].tolist() == [1.5, 2.5, 1234.5]
    assert "row 2 says '2,5'" in refusal(write('a,kind\n1.5,x\n"2,5",y\n3.5,y\n'), features=("a",))


def test_a_missing_header_is_suspected(write):
    assert any("holds only numbers" in note for note in read(write("0.5,1\n2,3\n4,5\n"), Roles(label="1")).notes)
    assert not any("holds only numbers" in note for note in read(write("0,1\n2,3\n4,5\n"), Roles(label="1")).notes)


@pytest.mark.parametrize(
    ("content", "parts"),
    [
        (b"a,kind,a\n1,x,2\n", ["names must differ", "a at columns 1 and 3"]),
        (b"a,kind, a\n1,x,2\n", ["names must differ"]),
        (b"a,kind\n1,x\n2,s\xfc\xdf\n", ["line 3", "0xfc", "--encoding latin-1"]),
        ("a,kind\n1,x\n".encode("utf-16"), ["line 1", "--encoding utf-16"]),
        (b"a,kind\n1,x\n2,y\x00\n", ["line 3", "NUL"]),
        (b"a,kind\n1,x\n2\n3,y\n", ["line 3", "2 cells", "found 1"]),
        (b'a,kind\n1,"x\nx"\n2,3,4\n', ["line 4", "found 3"]),
        (b'a,kind\n1,"x\n2,y\n3,y\n', ["line 2", "quote", "never closed"]),
        (b'a,kind\n"1,x\n2,y\n3,y\n', ["line 2", "found 1"]),
    ],
)
def test_bad_text_files(write, refusal, content, parts):
    path = write(content)
    message = refusal(path)
    assert str(path) in message
    for part in parts:
        assert part in message, message


def test_a_wide_table_is_read_quickly(write):
    rng = np.random.default_rng(0)
    X = rng.standard_normal((20_000, 64)).round(4)
    lines = [",".join([*(f"x{j}" for j in range(64)), "kind"])]
    lines += [",".join([*map(str, row), "ab"[i % 2]]) for i, row in enumerate(X.tolist())]
    path = write("\n".join(lines))
    start = time.process_time()
    data = read(path, KIND)
    assert time.process_time() - start < 5  # loops in Python would take longer even on a quick machine
    assert np.array_equal(data.X, X)


@pytest.mark.parametrize("end", ["\n", "\r\n"])
def test_an_empty_line_of_a_single_column_is_an_empty_cell(tmp_path, end):
    path = tmp_path / "in.csv"
    path.write_bytes(end.join(["", "kind", "x", "", "y", "", "", "x", "", ""]).encode())
    table = read_delimited(path, "utf-8")
    assert table.header == ["kind"]
    assert table.columns[0].to_pylist() == ["x", "", "y", "", "", "x"]
    assert any("at the end were left out" in note for note in table.notes)
    path.write_bytes(end.join(["a,kind", "1,x", "", "2,y", ""]).encode())
    assert len(read_delimited(path, "utf-8").columns[0]) == 2


@pytest.mark.parametrize("separator", [",", ";"])
def test_a_tsv_file_without_tabs_is_refused(tmp_path, separator):
    path = tmp_path / "in.tsv"
    path.write_text(f"a{separator}kind\n1{separator}x\n")
    with pytest.raises(
        ValueError, match=f"must be separated by tabs; .* but '?{separator}'?. Rename the file to .csv"
    ):
        read_delimited(path, "utf-8")
    path.write_text("kind\nx\ny\n")
    assert read_delimited(path, "utf-8").header == ["kind"]
