"""`--write-table`: the user's own table, with the answers as columns."""

import csv
import errno
import os
import tempfile
from pathlib import Path

import pytest

from cli_case import QUICK, read_csv, write_csv
from siis.results import ANSWER_COLUMNS

pytestmark = pytest.mark.slow
HEADER = ["code", "name", "label", "a", "b"]


@pytest.fixture
def source(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    rows = [
        [f"{i:03d}", f"=SUM({i})", ("x" if i % 2 else "y") if i < 30 else "", i % 2 + i / 100, f"{i % 2}.50"]
        for i in range(40)
    ]
    write_csv(tmp_path / "in.csv", HEADER, rows)
    return rows


def fit(siis, *more):
    return siis("fit", "in.csv", "--id", "code", "--features", "a", "b", *QUICK, *more)


def own(path):
    with path.open(newline="", encoding="utf-8") as file:
        return [row[:5] for row in csv.reader(file)]


def test_csv(siis, source, tmp_path):
    done = fit(siis, "--write-table", "answered.csv")
    assert done.exit_code == 0, done.stderr
    assert own(tmp_path / "answered.csv") == own(tmp_path / "in.csv")  # 001 stays 001, formulas stay as they are
    rows = read_csv(tmp_path / "answered.csv")
    assert list(rows[0]) == [*HEADER, *ANSWER_COLUMNS]
    said = {row["id"]: row for row in read_csv(tmp_path / "siis-results" / "predictions.csv")}
    for row in rows:
        assert row["siis_label"] == said[row["code"]]["label"]
        assert row["siis_probability"] == said[row["code"]]["probability"]
        assert bool(row["siis_quality"]) == bool(row["label"])
        assert (row["siis_suspect"], row["siis_checked"]) == ("no", "no")
    write_csv(tmp_path / "fix.csv", ["id", "label"], [("001", "y")])
    done = siis.ok("corrections", "fix.csv", "--quiet")
    assert read_csv(tmp_path / "answered.csv")[1]["siis_checked"] == "yes"
    again = siis("fit", "answered.csv", "--id", "code", "--out", "again", *QUICK[:-1])  # its answers are no features
    assert again.exit_code == 0, again.stderr
    assert "siis_label" in again.stderr
    assert "answers of an earlier siis fit" in again.stderr


def test_xlsx(siis, source, tmp_path):
    openpyxl = pytest.importorskip("openpyxl")
    contents = []
    for _ in range(2):
        done = fit(siis, "--write-table", "answered.xlsx")
        assert done.exit_code == 0, done.stderr
        contents.append((tmp_path / "answered.xlsx").read_bytes())
    assert contents[0] == contents[1]
    page = openpyxl.load_workbook(tmp_path / "answered.xlsx").active
    header, *rows = page.iter_rows()
    assert [cell.value for cell in header] == [*HEADER, *ANSWER_COLUMNS]
    assert len(rows) == 40
    assert [cell.value for cell in rows[7]][:5] == ["007", "=SUM(7)", "x", 1.07, "1.50"]
    assert {cell.data_type for cell in rows[7][:2]} == {"s"}  # no formula
    assert rows[7][6].data_type == "n"


@pytest.mark.parametrize(
    ("name", "said"),
    [
        ("answered.txt", "must name a .csv or .xlsx file"),
        ("in.csv", "must not replace the data"),
        ("none/answered.csv", "in a folder that exists"),
    ],
)
def test_what_cannot_be_written_is_refused_before_the_fit(siis, source, tmp_path, name, said):
    before = (tmp_path / "in.csv").read_bytes()
    done = fit(siis, "--write-table", name)
    assert done.exit_code == 1
    assert said in done.stderr
    assert not list((tmp_path / "siis-results").iterdir())
    assert (tmp_path / "in.csv").read_bytes() == before


def test_a_folder_that_cannot_be_written_is_refused_before_the_fit(siis, source, tmp_path, monkeypatch):
    (tmp_path / "locked").mkdir()
    make = tempfile.TemporaryFile

    def refuse(*, dir):
        if Path(dir).name == "locked":
            raise PermissionError(errno.EACCES, os.strerror(errno.EACCES), str(dir))
        return make(dir=dir)

    monkeypatch.setattr(tempfile, "TemporaryFile", refuse)
    done = fit(siis, "--write-table", "locked/own.csv")
    assert done.exit_code == 1
    assert "locked cannot be used: Permission denied" in done.stderr
    assert not list((tmp_path / "siis-results").iterdir())
