"""What else the graph tells, in files and on the page."""

import re

import numpy as np
import pytest

from cli_case import QUICK, SIIS, read_csv, write_csv

pytestmark = pytest.mark.slow

FILES = {
    "near_duplicates.csv": "group,id,given,distance,labels_differ",
    "outliers.csv": "id,given,score",
    "class_overlap.csv": "first,second,overlap,low,high,mislabelled",
    "annotators.csv": "annotator,labels,agreement,right,low,high,said,instead_of,times",
}


@pytest.fixture(scope="module")
def answered(tmp_path_factory):
    """150 shops of three kinds, answered by ann (all right), bob (a tenth wrong) and eve (half wrong).

    Shop 1 is shop 0 once more, nearly, and most say another kind of it; shop 2 is far from all.
    """
    rng = np.random.default_rng(0)
    kind = np.arange(150) % 3
    X = rng.normal(size=(150, 4)) + 6 * np.eye(3, 4)[kind]
    X[1], X[2] = X[0] + 1e-5, 80.0
    kinds = np.array(["bank", "<b>inn</b>", "pub"])
    answers = np.repeat(kind[:, None], 3, axis=1)
    answers[rng.random(150) < 0.1, 1] += 1
    answers[rng.random(150) < 0.5, 2] += 1
    answers[:2] = [[0] * 3, [1] * 3]
    cells = kinds[answers % 3].astype(object)
    cells[100:] = ""
    path = tmp_path_factory.mktemp("shops") / "shops.csv"
    rows = [[f"shop {i}", *X[i].round(6), *cells[i]] for i in range(150)]
    write_csv(path, ["name", "a", "b", "c", "d", "ann", "bob", "eve"], rows)
    return path


@pytest.fixture(scope="module")
def results(answered, tmp_path_factory):
    out = tmp_path_factory.mktemp("results")
    command = ["fit", str(answered), "--annotators", "ann", "bob", "eve", "--id", "name", "--out", str(out)]
    command += ["--n-neighbors", "10", "--metric", "euclidean", "--connectivity", "union"]
    SIIS.ok(*command)
    return out


def test_files(results):
    for name, header in FILES.items():
        assert (results / name).read_text().splitlines()[0] == header
    copies = read_csv(results / "near_duplicates.csv")
    assert [row["id"] for row in copies] == ["shop 0", "shop 1"]
    assert {row["given"] for row in copies} == {"bank", "<b>inn</b>"}
    assert {row["labels_differ"] for row in copies} == {"yes"}
    assert [row["id"] for row in read_csv(results / "outliers.csv")] == ["shop 2"]
    people = read_csv(results / "annotators.csv")
    assert [row["annotator"] for row in people] == ["eve", "bob", "ann"]
    assert [row["labels"] for row in people] == ["100"] * 3
    assert float(people[0]["high"]) < 0.75 < float(people[2]["low"])
    for row in read_csv(results / "class_overlap.csv"):
        assert float(row["low"]) <= float(row["overlap"]) <= float(row["high"])


def test_page(results):
    page = (results / "report.html").read_text(encoding="utf-8")
    section = re.search(r'<section id="findings".*?</section>', page, re.DOTALL)[0]
    assert re.findall("<h3>(.*?)</h3>", section) == [
        "Near-duplicates",
        "Outliers",
        "Classes that overlap",
        "Annotators",
    ]
    assert "1 group of equal or nearly equal examples; in 1 the labels differ." in section
    assert "<td>shop 0, shop 1</td>" in section
    assert "&lt;b&gt;inn" in section
    assert "<b>inn" not in section, "names are text"
    assert "<td>eve</td><td>100</td>" in section


def test_where_nothing_applies_files_are_empty(siis, answered, results, tmp_path):
    out = tmp_path / "out"
    siis.ok("fit", answered, "--label", "ann", "--id", "name", "--out", out, *QUICK)
    for name, header in FILES.items():
        assert (out / name).read_text() == header + "\n"
    page = (out / "report.html").read_text(encoding="utf-8")
    assert "Not applicable: no labels were held out, or the graph was given." in page


def test_files_without_rows_are_named(siis, table, tmp_path):
    done = siis.ok("fit", table[0], "--label", "label", "--id", "name", "--out", tmp_path / "out", *QUICK[:-1])
    said = done.stdout.split("Of these, without rows: ")[1].removesuffix(".\n").split(", ")
    empty = [path.name for path in (tmp_path / "out").glob("*.csv") if path.read_text().count("\n") == 1]
    assert sorted(said) == sorted(empty)
    assert "annotators.csv" in said
    assert "predictions.csv" not in said
