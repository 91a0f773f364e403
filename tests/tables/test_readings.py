"""Numbers, amounts, dates and truth values as people write them."""

import datetime

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from siis.tables import Recipe, Roles, read
from siis.tables.cell_formats import learn_format, possible_forms

KIND = Roles(label="kind")


def fitted(write, cells, name="x"):
    """The data of a table with one such column and a plain one."""
    n = len(cells)
    rows = [(cell, i * i, "ab"[i % 2]) for i, cell in enumerate(cells)]
    data = read(write([(name, "plain", "kind"), *rows]), KIND)
    assert np.array_equal(data.X[:, -1], np.arange(n) ** 2.0)
    return data


@pytest.mark.parametrize(
    ("cells", "expected"),
    [
        (["$1,234.50", "$12", "-$3.5", "($20.00)"], [1234.5, 12, -3.5, -20]),
        (["1.234,50 €", "12,00 €", "0,5 €"], [1234.5, 12, 0.5]),
        (["USD 12", "USD 1,300", "usd 5"], [12, 1300, 5]),
        (["12.5%", "3 %", "100%"], [12.5, 3, 100]),
        (["1,234", "12,345,678", "5"], [1234, 12345678, 5]),
        (["1 234,5", "12\u00a0345", "5,25"], [1234.5, 12345, 5.25]),
        (["1'234.5", "12\u2019345", "5"], [1234.5, 12345, 5]),
        (["12 kg", "7.5kg", "9"], [12, 7.5, 9]),
        (["1.2k", "900", "3 K", "$2M", "0.5bn"], [1200, 900, 3000, 2e6, 5e8]),
        (["0,512", "1,250", "12,125"], [0.512, 1.25, 12.125]),
        (["50%", "3 %", "0"], [50, 3, 0]),
        (["3 days", "1 day", "12 days"], [3, 1, 12]),
        (["\u22123", "+4", "5e3"], [-3, 4, 5000]),
        (["12,34,567", "1,00,000", "99"], [1234567, 100000, 99]),
        (["yes", "No", "YES"], [1, 0, 1]),
        (["y", "n", "y"], [1, 0, 1]),
        (["T", "F", "T"], [1, 0, 1]),
    ],
)
def test_amounts(write, cells, expected):
    data = fitted(write, cells * 6)
    assert data.X[:, 0].tolist() == expected * 6


@pytest.mark.parametrize(
    "mark", ["?", "-", "--", ".", "*", "unknown", "Missing", "#N/A", "<NA>", "n.a.", "#DIV/0!", "refused"]
)
def test_a_few_marks_are_missing_and_named(write, mark):
    cells = [f"{i}.5" for i in range(0, 80, 2)]
    cells[3] = cells[17] = cells[20] = mark
    data = fitted(write, cells)
    assert data.X.shape == (40, 3)  # a feature says so
    assert (
        data.X[3, 0] == data.X[17, 0] == data.X[20, 0] == np.median([float(cell) for cell in cells if cell != mark])
    )
    assert any(note.startswith("taken for missing: x (") and mark in note and "3 x" in note for note in data.notes)
    assert np.flatnonzero(data.X[:, 1]).tolist() == [3, 17, 20]
    known = np.delete(data.X[:, 0], [3, 17, 20])
    assert data.X[3, 1] == pytest.approx(np.std(known))


@pytest.mark.parametrize(
    ("cells", "n"),
    [
        (["low", "3.5", "high", "7.25"] * 10, 4),
        (["12 kg", "12 lb", "5 kg", "3 lb"] * 5, 4),
        (["$12", "€12"] * 5, 2),
    ],
)
def test_words_in_half_of_the_cells_and_units_of_two_kinds_are_categories(write, cells, n):
    assert f"categories: x ({n})" in fitted(write, cells).notes


@pytest.mark.parametrize(
    ("cells", "order"),
    [
        (["2024-01-31", "2024-03-01", "2023-12-31"], "year-month-day"),
        (["01/31/2024", "03/01/2024", "12/31/2023"], "month/day/year"),
        (["31/01/2024", "01/03/2024", "31/12/2023"], "day/month/year"),
        (["31.1.2024", "1.3.2024", "31.12.2023"], "day/month/year"),
        (["1/31/24", "3/1/24", "12/31/23"], "month/day/year"),
        (["31 Jan 2024", "1-Mar-2024", "Sun, 31 December 2023"], "with names of months"),
        (["Jan 31, 2024", "March 1, 2024", "Dec 31, 2023"], "with names of months"),
    ],
)
def test_dates_are_days_since_the_first(write, cells, order):
    data = fitted(write, cells * 5)
    assert data.X[:, 0].tolist() == [31, 61, 0] * 5
    assert f"dates and times: x ({order}; with the time of the week)" in data.notes
    angle = 2 * np.pi * (datetime.date(2024, 1, 31) - datetime.date(1970, 1, 1)).days / 7
    assert data.X[0, 1:3] == pytest.approx([np.sin(angle), np.cos(angle)])
    assert data.recipe.encoder.parts[0].shown_median == "2024-01-31"


def test_days_and_months_that_could_be_exchanged_are_named(write):
    data = fitted(write, ["01/02/2024", "03/04/2024", "05/06/2024"] * 4)
    assert any("month/day/year; days and months could be exchanged" in note for note in data.notes)
    data = fitted(write, ["01.02.2024", "03.04.2024", "05.06.2024"] * 4)
    assert any("day/month/year; days and months could be exchanged" in note for note in data.notes)


def test_times(write):
    stamps = [f"2024-01-{1 + i:02d}T{i:02d}:30:00Z" for i in range(20)]
    data = fitted(write, stamps)
    assert data.X[:, 0] == pytest.approx(np.arange(20) * (1 + 1 / 24))
    assert "dates and times: x (year-month-day; with the time of the day, week)" in data.notes
    zoned = fitted(write, [stamp.replace("Z", "+02:00") for stamp in stamps])
    assert zoned.X[:, 0] == pytest.approx(data.X[:, 0])
    clock = fitted(write, ["6:00", "6:00 pm", "12:00 AM", "23:59:60"] * 4)
    assert clock.X[:4, 0] == pytest.approx([0.25, 0.75, 0, 1])
    assert clock.X[2, 1:3] == pytest.approx(clock.X[3, 1:3])


def test_dates_that_are_none_are_missing(write):
    cells = [f"2024-01-{1 + i % 28:02d}" for i in range(50)]
    cells[7], cells[9] = "2024-02-30", "?"
    data = fitted(write, cells)
    assert "taken for missing: x (2024-02-30 1 x, '?' 1 x)" in data.notes
    assert (data.X[[7, 9], 1:3] == 0).all()


def test_temporal_types_of_arrow(tmp_path):
    days = [datetime.date(2024, 1, 1) + datetime.timedelta(days=9 * i) for i in range(12)]
    moments = [datetime.datetime(2024, 1, 1, 6) + datetime.timedelta(hours=7 * i) for i in range(12)]
    columns = {
        "day": pa.array(days),
        "day64": pa.array(days, pa.date64()),
        "moment": pa.array(moments, pa.timestamp("ms")),
        "clock": pa.array([moment.time() for moment in moments]),
        "length": pa.array([datetime.timedelta(hours=12 * i) for i in range(12)]),
        "kind": pa.array(["a", "b"] * 6),
    }
    path = tmp_path / "t.parquet"
    pq.write_table(pa.table(columns), path)
    data = read(path, KIND)
    names = data.recipe.encoder.feature_names
    X = dict(zip(names, data.X.T, strict=True))
    assert X["day"].tolist() == X["day64"].tolist() == [9 * i for i in range(12)]
    assert X["moment"] == pytest.approx(7 / 24 * np.arange(12))
    assert X["clock"] == pytest.approx((6 + 7 * np.arange(12)) % 24 / 24)
    assert X["length"] == pytest.approx(np.arange(12) / 2)
    assert "clock day sin" in names
    text = tmp_path / "t.csv"  # the same as text
    rows = zip(days, days, moments, columns["clock"].to_pylist(), [f"{i / 2}" for i in range(12)], strict=True)
    lines = ["day,day64,moment,clock,length"] + [",".join(map(str, row)) for row in rows]
    text.write_text("\n".join(lines))
    again = data.recipe.apply(text).X
    assert again == pytest.approx(data.X)


def test_new_files(write):
    n = 60
    prices = [f"${i + 1},{i + 100}.00" for i in range(n)]
    days = [f"{1 + i % 28}/{1 + i % 12}/2023" for i in range(n)]
    codes = [f"c{i % 4}" if i < 30 else f"rare {i}" for i in range(n)]
    rows = zip(prices, days, codes, range(0, 3 * n, 3), "ab" * (n // 2), strict=True)
    data = read(write([("price", "day", "code", "age", "kind"), *rows]), KIND)
    recipe = Recipe.from_plain(*data.recipe.to_plain())
    names = recipe.encoder.feature_names
    new = recipe.apply(
        write(
            'price,day,code,age\n"$2,500",5/6/2031,new,12\nn/k,,c1,nobody knows\n7,1/1/1999,,13\n8,?,c2,14\n',
            "new.csv",
        )
    )
    at = {name: new.X[:, j].tolist() for j, name in enumerate(names)}
    assert at["price"] == [2500, recipe.encoder.parts[0].median, 7, 8]
    first = datetime.date(2023, 1, 1)
    assert at["day"][0] == (datetime.date(2031, 6, 5) - first).days
    assert at["day"][2] == (datetime.date(1999, 1, 1) - first).days
    assert [value > 0 for value in at["code other"]] == [True, False, False, False]
    marks = "taken for missing: price ('n/k' 1 x), day ('?' 1 x), age ('nobody knows' 1 x)"
    assert marks in new.notes


def test_new_files_of_another_kind_are_refused(write):
    data = fitted(write, [f"{i * i} kg" for i in range(20)])
    for cells, found in ((["3 lb", "4 lb"], "row 1 says '3 lb'"), (["a", "b", "5"], "row 1 says a")):
        path = write([("x", "plain"), *((cell, 1) for cell in cells)], "new.csv")
        with pytest.raises(ValueError, match="feature x must hold numbers") as caught:
            data.recipe.apply(path)
        assert found in str(caught.value)
    dates = fitted(write, [f"2024-01-{i:02d}" for i in range(1, 21)])
    with pytest.raises(
        ValueError, match=r"must hold dates, written year-month-day, as when .* fitted; row 1 says soon"
    ):
        dates.recipe.apply(write("x,plain\nsoon,1\n", "new.csv"))


def learned(cells):
    return learn_format(pa.chunked_array([pa.array(cells)]), ".")


def test_long_texts_are_not_searched_for_dates():
    looks_like_one = "1-2-3 12 May 2020 12:30 " + "x" * 50_000
    assert possible_forms(pa.array([looks_like_one] * 60)) == []
    assert possible_forms(pa.array([looks_like_one] * 60 + ["1-2-2003"])) == ["number", "date"]
    assert learned(["1" + "abc " * 12_500] * 60) is None


def test_the_order_of_rows_does_not_decide_what_a_column_is():
    days, marks = [f"2024-01-{day:02}" for day in range(1, 29)] * 5, ["?"] * 110
    for cells in (days + marks, marks + days, ["refused"] * 60 + days):
        reading, found = learned(cells)
        assert reading.form == "date"
        assert np.count_nonzero(~np.isnan(found.numbers)) == len(days)


def test_letters_for_thousands_are_named(write):
    assert learned(["1.7e308", "1e308k", "2k"] * 5)[1].numbers[:3].tolist() == [1.7e308, np.inf, 2000]
    notes = " / ".join(fitted(write, ["1.2k", "900", "3.4k"] * 6).notes)
    assert "x (k = 1,000, K = 1,000, M = 1,000,000, bn = 1,000,000,000)" in notes


@pytest.mark.parametrize(
    "cells",
    [
        ["50%", "0.5", "20%", "0.7"],
        ["12 Mayflower 20", "3 Marigold 15", "12 Junction 2020"],
        ["1.10.22", "2.11.23", "1.12.22"] * 4 + ["3.4.5"],
        ["24:30", "24:10", "24:45"],
    ],
)
def test_what_only_looks_like_numbers_or_dates(cells):
    assert learned(cells * 8) is None


def test_a_few_percents_among_numbers_are_missing():
    reading, cells = learned(["0.5", "0.25"] * 20 + ["50%"])
    assert reading.unit == ""
    assert np.isnan(cells.numbers[-1])


def test_two_digits_mean_a_year_that_may_have_been():
    _, cells = learned(["31.12.30", "30.11.31"] * 8)
    assert (cells.numbers[:2].astype("datetime64[D]")).astype(str).tolist() == ["2030-12-31", "1931-11-30"]


@pytest.mark.parametrize("day", ["3 Sept. 2020", "Sept 3, 2020", "3 September 2020", "3. septembre 2020", "3-Sep-20"])
def test_names_of_months_in_full_and_short(day):
    reading, cells = learned([day, "5 May 2021"] * 8)
    assert reading.style == "named"
    assert str(cells.numbers[0].astype("datetime64[D]")) == "2020-09-03"
