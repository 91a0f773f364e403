"""Which columns become features, and how."""

import datetime
from decimal import Decimal

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from siis.tables import Roles, read
from siis.texts import quoted

KIND = Roles(label="kind")


def table(write, **columns):
    names = list(columns)
    return write([names, *zip(*columns.values(), strict=True)])


def squares(n):
    return [str(i * i) for i in range(n)]


def labels(n):
    return ["ab"[i % 2] for i in range(n)]


def test_a_column_of_categories_weighs_as_one_of_unit_variance(write):
    colours = ["red"] * 5 + ["green"] * 3 + ["blue"] * 12
    data = read(table(write, colour=colours, kind=labels(20)), KIND)
    assert data.X.shape == (20, 3)
    assert np.var(data.X, axis=0).sum() == pytest.approx(1.0)
    assert (np.count_nonzero(data.X, axis=1) == 1).all()
    assert np.flatnonzero(data.X[0]).tolist() == [2]  # blue, green, red: in the order of their names


def test_missing_categories_are_no_category(write):
    colours = ["red", "green", "", "red", "\\N", "green", "red", "red"]
    data = read(table(write, colour=colours, kind=labels(8)), KIND)
    assert np.flatnonzero(~data.X.any(axis=1)).tolist() == [2, 4]
    assert np.var(data.X, axis=0).sum() == pytest.approx(1.0)
    assert "missing, no category there: colour (2 cells)" in data.notes


@pytest.mark.parametrize("word", ["none", "None", "NA", "null", "missing"])
def test_a_category_may_have_any_name(write, word):
    data = read(table(write, garage=["attached", word, "", word] * 3, a=squares(12), kind=labels(12)), KIND)
    assert data.recipe.encoder.feature_names[:2] == tuple(f"garage={name}" for name in sorted(["attached", word]))
    assert np.flatnonzero(~data.X[:, :2].any(axis=1)).tolist() == [2, 6, 10]
    assert "missing, no category there: garage (3 cells)" in data.notes


def test_words_for_missing_are_no_numbers(write):
    cells = ["1", "none", "NA", "null", "\\N", "NaN", "?", "4", "9", "16", "25", "36"]
    data = read(table(write, size=cells, kind=labels(12)), KIND)
    assert data.X[:, 0].tolist() == [1, *[12.5] * 6, 4, 9, 16, 25, 36]
    huge = ["1.7e308", "1.6e308", "", "1.5e308", "1.4e308"]
    assert read(table(write, a=huge, kind=labels(5)), KIND).X[2, 0] == pytest.approx(1.55e308)


def test_beyond_fifty_categories_or_half_of_the_rows_the_frequent_ones_count(write):
    def n_columns(n_categories, n):
        text = [f"c{i % n_categories}" for i in range(n)]
        return read(table(write, text=text, a=squares(n), kind=labels(n)), KIND).X.shape[1] - 1

    assert n_columns(50, 200) == 50
    assert n_columns(51, 200) == 30 + 1
    assert n_columns(100, 200) == 0
    assert n_columns(9, 20) == 9
    assert n_columns(10, 20) == 0


def test_rare_and_unseen_categories_are_other(write):
    codes = ["A"] * 60 + ["B"] * 30 + [f"r{i}x" for i in range(70)]
    data = read(table(write, code=codes, kind=labels(160)), KIND)
    assert "categories: code (the 2 commonest of 72, and other)" in data.notes
    assert np.count_nonzero(data.X, axis=0).tolist() == [60, 30, 70]
    assert np.var(data.X, axis=0).sum() == pytest.approx(1.0)
    new = data.recipe.apply(write("code,a\nB,1\nnever seen,1\n,1\n", "new.csv"))
    assert (new.X > 0).tolist() == [[False, True, False], [False, False, True], [False, False, False]]


def test_codes_that_repeat_are_used_and_make_no_outliers(write):
    codes = [f"c{i % 80}x" for i in range(320)]
    data = read(table(write, code=codes, a=squares(320), kind=labels(320)), KIND)
    assert "categories: code (the 30 commonest of 80, and other)" in data.notes
    assert data.X[:, :-1].max() <= 2**0.5


def test_texts_are_left_out_with_advice(write):
    data = read(table(write, title=[f"book {i}" for i in range(20)], a=squares(20), kind=labels(20)), KIND)
    assert data.X.shape == (20, 1)
    why = "texts that are nearly all different (--text compares them by their words)"
    assert f"left out, {why}: title" in data.notes
    assert [(use.name, use.kind) for use in data.columns] == [
        ("title", "left out"),
        ("a", "number"),
        ("kind", "label"),
    ]


def test_constants_and_empties_are_left_out(write):
    columns = {
        "one": ["1"] * 6,
        "same": ["yes"] * 6,
        "void": [""] * 6,
        "gap": ["4", "", "4", "NA", "4", "?"],
        "yes": ["True", "false", "", "TRUE", "False", "true"],
        "kind": labels(6),
    }
    data = read(table(write, **columns), KIND)
    assert data.X[:, 0].tolist() == [1, 0, 1, 1, 0, 1]
    assert "left out, the same value everywhere: one, same, gap" in data.notes
    assert "left out, no values: void" in data.notes


@pytest.mark.parametrize(
    ("name", "start", "step"), [("row", 0, 1), ("nr", 1, 1), ("shop_id", 70, 7), ("ShopId", -3, 2)]
)
def test_counters_and_numbers_of_rows_are_left_out(write, name, start, step):
    path = table(write, **{name: range(start, start + 20 * step, step), "a": squares(20), "kind": labels(20)})
    data = read(path, KIND)
    why = "counts the rows" if step == 1 else "numbers that name the rows"
    assert f"left out, {why}: {name}" in data.notes
    assert data.X.shape == (20, 1)
    assert read(path, Roles(label="kind", features=(name, "a"))).X.shape == (20, 2)


@pytest.mark.parametrize(
    "name", ["id_str", "caseid", "PATIENTID", "case_no", "Order Number", "customer_id", "respid"]
)
def test_names_of_ids(write, name):
    ids = [123_456_789_012_345_678 + 7 * k for k in range(19)]  # some of them are equal as floats
    data = read(table(write, **{name: [*ids, ""], "a": squares(20), "kind": labels(20)}), KIND)
    assert f"left out, numbers that name the rows: {quoted(name)}" in data.notes


@pytest.mark.parametrize("name", ["acid", "paid", "liquid", "humid", "residuals", "number", "model_number_of_cells"])
def test_names_of_measurements(write, name):
    numbers = [37 * k * k + 5 for k in range(20)]
    assert read(table(write, **{name: numbers}, kind=labels(20)), KIND).X.shape == (20, 1)
    for counter in (range(2001, 2021), range(5)):  # years, and a short table
        n = len(counter)
        assert read(table(write, **{name: counter}, kind=labels(n)), KIND).X.shape == (n, 1)


def test_many_columns_make_few_notes(write):
    columns = {f"x{j}": ["1", "", "3", "7"] for j in range(30)}
    notes = read(table(write, **columns, kind=labels(4)), KIND).notes
    assert len(notes) == 3
    assert all("x14" in note and "10 more, x25" in note for note in notes[1:])


def test_named_features_are_taken_in_their_order(animals):
    data = read(animals, Roles(label="kind", features=("count", "height")))
    assert data.X[:3, 0].tolist() == [0, 1, 2]
    assert data.recipe.encoder.names == ("count", "height")


@pytest.mark.parametrize(
    ("roles", "parts"),
    [
        ({"label": "Knid"}, ["found none named Knid", "Did you mean kind?", "height"]),
        ({"label": None}, ["--label", "key, height, count, colour, kind"]),
        ({"id": "keys"}, ["--id", "Did you mean key?"]),
        ({"id": "colour"}, ["ids must differ", "red stands in rows 1 and 5"]),
        ({"id": "kind"}, ["found kind as --id or --text too"]),
        ({"label": "colour", "id": "kind"}, ["row 1 has none"]),
        ({"features": ("height", "weight")}, ["--features", "found none named weight", "Did you mean height?"]),
        ({"text": ("colour", "colour")}, ["named twice in --text"]),
        ({"features": ("colour",), "text": "colour"}, ["colour must be a feature or have another role"]),
        ({"text_only": True, "text": "colour", "embeddings": "e.npy"}, ["--embeddings and --text-only"]),
        ({"features": ("height",), "embeddings": "e.npy"}, ["--features and --embeddings"]),
        ({"label": None, "annotators": ("anna",)}, ["--annotators", "found none named anna"]),
    ],
)
def test_roles_that_do_not_fit(animals, refusal, roles, parts):
    message = refusal(animals, **roles)
    for part in parts:
        assert part in message, message


def test_named_features_must_be_numbers_or_categories(write, refusal):
    path = table(write, price=["3", "4 EUR", *"abcdefgh"], day=["2024-01-01", "2024-01-02"] * 5, kind=labels(10))
    message = refusal(path, features=("price",))
    assert "feature price must hold numbers, dates or categories that repeat; row 2 says '4 EUR'" in message
    assert read(path, Roles(label="kind", features=("day",))).X[:, 0].tolist() == [0, 1] * 5


def test_something_must_be_labelled_and_be_a_feature(write, refusal):
    assert "column kind: at least one example must be labelled" in refusal(write("a,kind\n1,\n2,NaN\n"))
    assert "at least one column must be a feature; found none. " in refusal(write("kind\nx\ny\n"))
    assert "found none (left out, the same value everywhere: a). Add" in refusal(write("a,kind\n1,x\n1,y\n"))


def test_many_columns_are_listed_from_both_ends(write, refusal):
    path = write([[*(f"x{i}" for i in range(30)), "kind"], ["1"] * 31])
    assert "There are: x0, x1," in refusal(path, label="zzz")
    assert "x14, 11 more, x26, x27, x28, x29, kind." in refusal(path, label="zzz")


def test_several_annotators(write):
    path = write("a,anna,ben\n1,x,\n2,y,x\n3,,NaN\n4,1.0,1\n")
    data = read(path, Roles(annotators=("ben", "anna")))
    assert data.labels is None
    assert data.annotations.tolist() == [[None, "x"], ["x", "y"], [None, None], ["1", "1.0"]]
    assert data.notes[0] == "4 rows, 1 column of numbers, 2 annotators, 5 answers, 4 classes"
    assert data.X.shape == (4, 1)


def test_types_of_parquet(tmp_path):
    path = tmp_path / "t.parquet"
    n = 8
    columns = {
        "whole": pa.array([1, 2, None, 4, 5, 6, 7, 2**62], pa.int64()),
        "half": pa.array(np.arange(n), pa.float16()),
        "truth": pa.array([True, False] * 4),
        "money": pa.array([Decimal(i) / 4 for i in range(n)]),
        "coded": pa.array(["u", "v"] * 4).dictionary_encode(),
        "big": pa.array(["u", "w"] * 4, pa.large_string()),
        "when": pa.array([datetime.datetime(2024, 1, 1)] * n),
        "list": pa.array([[1, 2], [3]] * (n // 2)),
        "bytes": pa.array([b"\xff\xfe"] * n),
        "null": pa.nulls(n),
        "kind": pa.array([3.0, None, 4.5, 3.0, float("nan"), 4.0, 3.0, 3.0]),
        "__index_level_0__": pa.array(range(n)),
    }
    pq.write_table(pa.table(columns), path)
    data = read(path, KIND)
    assert list(data.labels) == ["3", None, "4.5", "3", None, "4", "3", "3"]
    assert data.X.shape == (n, 4 + 2 + 2)
    assert data.X[:, 2].tolist() == [1, 0] * 4
    notes = " / ".join(data.notes)
    for part in (
        "the same value everywhere: when",
        "'list<element: int64>': list",
        "binary: bytes",
        "no values: null",
    ):
        assert part in notes
    assert data.X[7, 0] == 2.0**62
    with pytest.raises(ValueError, match="column list holds list"):
        read(path, Roles(label="list"))
