"""Tables as text, as HTML, and as data frames."""

import sys

import numpy as np
import pandas as pd
import polars as pl
import pytest

from siis.result_table import Table


def lists(*items):
    column = np.empty(len(items), dtype=object)
    column[:] = items
    return column


@pytest.fixture
def small():
    columns = {"index": np.array([7, 3]), "given": np.array(["<b>cat</b>", "dog & co"]), "quality": [0.123456, 1.0]}
    return Table({**columns, "neighbors": lists([1, 2], [])})


def long(n):
    return Table({"index": np.arange(n), "quality": np.linspace(0, 1, n)})


def test_a_short_table_is_printed_whole(small):
    assert str(small).splitlines() == [
        "index       given  quality  neighbors",
        "    7  <b>cat</b>   0.1235       1, 2",
        "    3    dog & co        1",
    ]
    assert str(long(100)).count("\n") == 100


def test_a_long_table_is_cut_in_the_middle():
    table = long(5_000)
    lines = str(table).splitlines()
    assert len(lines) == 52
    assert [line.split()[0] for line in (lines[1], lines[40], lines[42], lines[-1])] == ["0", "39", "4990", "4999"]
    assert lines[41] == "... 4,950 more rows ..."
    assert len({len(line) for line in lines[:41]}) == 1, "the columns stand under each other"
    assert len(table.rows()) == table.n_rows == 5_000
    assert [len(column) for column in table.values()] == [5_000, 5_000]


def test_notebooks_show_a_table(small):
    page = small._repr_html_()
    assert "&lt;b&gt;cat&lt;/b&gt;" in page
    assert "dog &amp; co" in page
    assert "<b>" not in page
    assert ">0.1235<" in page
    assert ">1, 2<" in page
    assert page.count("<tr>") == 3
    assert "2 rows" in page
    assert Table({"<i>": [1]})._repr_html_().count("&lt;i&gt;") == 1
    cut = long(5_000)._repr_html_()
    assert cut.count("<tr>") == 52
    assert "4,950 more rows" in cut
    assert "5,000 rows" in cut
    assert ">39<" in cut
    assert ">4990<" in cut
    assert ">2500<" not in cut
    assert "0 rows" in Table.from_rows([], ["index", "given"])._repr_html_()
    assert isinstance(Table()._repr_html_(), str)


def test_data_frames(small):
    frame = small.to_pandas()
    assert isinstance(frame, pd.DataFrame)
    assert frame["neighbors"].tolist() == [[1, 2], []]
    assert frame["index"].tolist() == [7, 3]
    frame = small.to_polars()
    assert isinstance(frame, pl.DataFrame)
    assert frame["neighbors"].to_list() == [[1, 2], []]
    assert frame.schema["neighbors"] == pl.List(pl.Int64), "lists stay lists, not objects"
    assert frame.schema["given"] == pl.String
    assert frame["quality"].to_list() == [0.123456, 1.0]
    names = Table({"given": np.array(["a", "b"], dtype=object)})
    assert names.to_polars().schema["given"] == pl.String
    assert Table.from_rows([], ["index"]).to_pandas().shape == Table.from_rows([], ["index"]).to_polars().shape


@pytest.mark.parametrize("name", ["pandas", "polars"])
def test_what_is_not_installed_is_said(small, monkeypatch, name):
    monkeypatch.setitem(sys.modules, name, None)  # import fails as if it were not there
    with pytest.raises(ModuleNotFoundError, match=rf"to_{name} needs {name}.*pip install {name}"):
        getattr(small, f"to_{name}")()
