"""Sheets with titles, text files, several files, and lists of numbers: tables that do not begin in the first cell."""

import numpy as np
import openpyxl
import pyarrow as pa
import pytest
from pyarrow import feather
from pyarrow import parquet as pq

from siis.tables import Roles, TableEncoder, read

KIND = Roles(label="kind")
ROWS = [("key", "size", "kind"), *((f"r{i}", i * i, ("x", "y", None)[i % 3]) for i in range(12))]


@pytest.fixture
def workbook(tmp_path):
    def write(**sheets):
        book = openpyxl.Workbook()
        book.remove(book.active)
        for name, rows in sheets.items():
            page = book.create_sheet(name)
            for row in rows:
                page.append(list(row))
        book.save(tmp_path / "book.xlsx")
        return tmp_path / "book.xlsx"

    return write


@pytest.mark.parametrize(
    "above",
    [
        [("Stock of the shop",)],
        [("Stock of the shop",), (), ("as of 2024-05-01",), ()],
        [(), (None, "Report"), ()],
    ],
    ids=["a title", "titles and blank rows", "a title in the second column"],
)
def test_titles_above_the_names_of_columns(workbook, above):
    data = read(workbook(Stock=[*above, *ROWS]), Roles(label="kind", id="key"))
    assert data.ids == tuple(f"r{i}" for i in range(12))
    assert data.X[:, 0].tolist() == [i * i for i in range(12)]
    row = len(above) + 1
    assert f"column names are in row {row} of the sheet; --header-row names another" in data.notes


@pytest.mark.parametrize("above", ["Stock of the shop\n", "Stock, as of today\n\n", 'Stock\n"of\ntoday"\n'])
@pytest.mark.parametrize("separator", [",", ";", "\t"])
def test_titles_above_the_names_of_columns_of_a_text_file(write, refusal, above, separator):
    rows = [
        separator.join(map(str, row))
        for row in (["size", "count", "mass", "kind"], *((i, 2, 3, "xy"[i % 2]) for i in range(9)))
    ]
    data = read(write(above + "\n".join(rows)), KIND)
    assert len(data.ids) == 9
    line = above.count("\n") + 1
    assert f"column names are in line {line} of the file; --header-row names another" in data.notes
    cut = write(above + "\n".join([*rows, "1" + separator + "2"]))
    assert f"line {line + 10}: every row must have 4 cells" in refusal(cut, label="kind")
    assert f"line {line + 10}: every row must have 4 cells" in refusal(cut, label="kind", header_row=line)


def test_rows_that_are_wider_than_the_names_are_no_table_below_titles(write, refusal):
    rows = ["size,kind", "1,x", *["4,y,5"] * 9]
    assert "every row must have 2 cells" in refusal(write("\n".join(rows)))
    assert "name it: --header-row" in refusal(write("\n".join(rows)))


@pytest.mark.parametrize(
    "rows",
    [
        [("kind", None), ("x", 1), ("y", 4), ("x", 9)],
        [("kind", 2019, 2020), ("x", 1, 3), ("y", 4, 2), (None, 9, 7)],
        [("kind", "", "a", "b"), ("x", "m", 3, 4), ("y", "n", 5, 7)],
    ],
)
def test_names_of_columns_in_the_first_row_stay(workbook, rows):
    data = read(workbook(Stock=rows), KIND)
    assert len(data.ids) == len(rows) - 1
    assert not any("header-row" in note for note in data.notes)


def test_the_row_of_names_can_be_given(workbook, write, refusal):
    rows = [("a", "b", "kind"), ("size", "count", "kind"), (1, 2, "x"), (4, 3, "y"), (9, 9, "y")]
    data = read(workbook(Stock=rows), Roles(label="kind", header_row=2))
    assert [use.name for use in data.columns] == ["size", "count", "kind"]
    new = data.recipe.apply(workbook(Stock=[("new",), *rows[1:]]), Roles(header_row=2))
    assert np.array_equal(new.X, data.X)
    text = write("Stock of the shop, as of today\n\nsize,kind\n1,x\n4,y\n9,y\n")
    assert read(text, Roles(label="kind", header_row=3)).X[:, 0].tolist() == [1, 4, 9]
    assert "holds 6 lines; --header-row says 9" in refusal(text, header_row=9)
    assert "holds 5 rows; --header-row says 9" in refusal(workbook(Stock=rows), header_row=9)
    assert "--header-row must be 1 or more; found 0" in refusal(text, header_row=0)
    pq.write_table(pa.table({"a": [1, 4], "kind": ["x", "y"]}), text.with_suffix(".parquet"))
    assert "Leave --header-row out" in refusal(text.with_suffix(".parquet"), header_row=2)


def test_other_sheets_are_named_where_the_first_is_wrong(workbook, refusal):
    book = workbook(Notes=[("about", "who"), ("stock", "me")], July=ROWS, August=ROWS)
    for message in (refusal(book), refusal(book, label=None)):
        assert "The file has other sheets: July, August (--sheet)." in message
    assert read(book, Roles(label="kind", sheet="July")).labels[0] == "x"
    for first in ([], [("Stock of the shop",)]):
        assert "The file has other sheets: July (--sheet)." in refusal(workbook(Cover=first, July=ROWS))


@pytest.mark.parametrize("separator", [",", ";", "\t", "|"])
@pytest.mark.parametrize("name", ["t.txt", "t.csv", "T.TXT"])
def test_text_files_with_any_separator(write, separator, name):
    lines = [("size", 'a "note", long', "kind"), ("1", "m,n;o", "x"), ("4", "p|q", "y"), ("9", "r\ts", "y")]
    data = read(write(lines, name, delimiter=separator), KIND)
    assert data.X[:, 0].tolist() == [1, 4, 9]
    assert [use.name for use in data.columns] == ["size", 'a "note", long', "kind"]
    assert list(data.labels) == ["x", "y", "y"]


def files(write, n=3):
    return [
        write([("a", "kind"), *((10 * k + i, "xy"[i % 2] if k else "") for i in range(4))], f"part{k}.csv")
        for k in range(n)
    ]


def test_several_files_are_one_table(write):
    paths = files(write)
    data = read(paths, KIND)
    assert data.ids == tuple(str(i) for i in range(1, 13))
    assert data.X[:, 0].tolist() == [0, 1, 2, 3, 10, 11, 12, 13, 20, 21, 22, 23]
    assert list(data.labels[:6]) == [None] * 4 + ["x", "y"]
    assert "3 files: part0.csv (4 rows), part1.csv (4 rows), part2.csv (4 rows)" in data.notes
    assert np.array_equal(data.recipe.apply(paths[1:]).X, data.X[4:])
    assert np.array_equal(read(paths[:1] + paths[1:], KIND).X, data.X)
    write([("kind", "a"), ("x", 1), ("y", 5)], "part1.csv")  # in another order
    assert read(paths, KIND).X[4:6, 0].tolist() == [1, 5]


def test_several_files_of_other_kinds(write, tmp_path, workbook):
    csv = write([("a", "kind"), ("1", "x"), ("2.5", "y")])
    pq.write_table(pa.table({"a": [4, 9], "kind": ["x", None]}), tmp_path / "t.parquet")
    feather.write_feather(pa.table({"a": [4.5, None], "kind": ["x", "y"]}), tmp_path / "t.arrow")
    data = read([tmp_path / "t.parquet", tmp_path / "t.arrow"], KIND)
    assert data.X[:, 0].tolist() == [4, 9, 4.5, 4.5]
    book = workbook(Stock=[("a", "kind"), (16, "y")])
    data = read([csv, tmp_path / "t.parquet", book], KIND)
    assert data.X[:, 0].tolist() == [1, 2.5, 4, 9, 16]


@pytest.mark.parametrize(
    ("content", "name", "said"),
    [
        ("a,b,kind\n1,2,x\n", "other.csv", "must have the columns of part0.csv; b is not there. Write them alike"),
        ("b,kind\n1,x\n", "other.csv", "must have the columns of part0.csv; it lacks a, and b is not there"),
        ("a;kind\n1,5;x\n", "other.csv", "decimals may be by commas, in part0.csv by points"),
        ("a,kind\n", "other.csv", "other.csv: holds column names but no rows"),
        ("[]", "other.json", "other.json: is an empty list"),
    ],
)
def test_files_that_are_not_alike(write, content, name, said):
    with pytest.raises(ValueError, match=r"\.$") as caught:
        read([*files(write, 2), write(content, name)], KIND)
    assert said in str(caught.value)


def test_what_cannot_be_joined(write, tmp_path):
    paths = files(write, 2)
    with pytest.raises(ValueError, match=r"each file must be named once; part0\.csv was named twice"):
        read([paths[0], paths[1], paths[0]], KIND)
    np.savez(tmp_path / "t.npz", X=np.eye(3), y=np.arange(3))
    for other in (tmp_path / "t.npz", tmp_path):
        with pytest.raises(ValueError, match="several files must be tables"):
            read([paths[0], other], KIND)
    lines = '{"text": "a b", "label": ["x"]}\n{"text": "b c", "label": ["y"]}\n'
    with pytest.raises(ValueError, match="a file of doccano must be read alone"):
        read([paths[0], write(lines, "t.jsonl")], KIND)
    pq.write_table(pa.table({"b": [1.5], "kind": ["x"]}), tmp_path / "1.parquet")
    pq.write_table(pa.table({"b": [True], "kind": ["x"]}), tmp_path / "2.parquet")
    with pytest.raises(ValueError, match="column b must hold the same in all files; found bool, double"):
        read([tmp_path / "1.parquet", tmp_path / "2.parquet"], KIND)


@pytest.mark.parametrize("kind", [pa.list_(pa.float32()), pa.large_list(pa.float64()), pa.list_(pa.int64(), 3)])
def test_lists_of_numbers_are_features(tmp_path, kind):
    vectors = [[float(3 * i), float(i * i), float(-i)] for i in range(10)]
    number = int if kind.value_type == pa.int64() else float
    column = pa.array([[number(x) for x in row] for row in vectors], kind)
    table = pa.table({"vector": column, "kind": ["x", "y"] * 5})
    pq.write_table(table, tmp_path / "t.parquet")
    data = read(tmp_path / "t.parquet", KIND)
    assert np.array_equal(data.X, vectors)
    assert "column vector: lists of 3 numbers, one feature each" in data.notes
    assert data.recipe.encoder.feature_names == ("vector.0", "vector.1", "vector.2")
    assert data.rows.names == (), "vectors are not shown"
    assert np.array_equal(data.recipe.apply(tmp_path / "t.parquet").X, vectors)
    assert np.array_equal(TableEncoder().fit_transform(table.drop_columns("kind")), vectors)


def test_lists_with_gaps_and_of_unequal_lengths(tmp_path):
    vectors = pa.array([[1.0, 2.0], None, [3.0, None], [5.0, 8.0]])
    ragged = pa.array([[1.0], [2.0, 3.0], [], [1.0]])
    pq.write_table(pa.table({"v": vectors, "r": ragged, "kind": ["x", "y"] * 2}), tmp_path / "t.parquet")
    data = read(tmp_path / "t.parquet", KIND)
    assert data.X[:, 0].tolist() == [1, 3, 3, 5]
    assert any("of type" in note and "r" in note for note in data.notes)
