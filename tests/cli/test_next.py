"""Files that rank all labels and name what to label next, and explanations beside the neighbours' cells."""

import csv
import json
import re

import numpy as np
import pytest

from cli_case import QUICK, SIIS, read_csv, write_csv
from siis.app import outputs
from siis.app.explain import compare_columns
from siis.saved import load_all
from siis.saved.checks import check_extra
from siis.tables import Roles, read
from siis.tables.contrast import MARKED

KINDS = ("bakery", "butcher", "bank")


@pytest.fixture(scope="module")
def shops(tmp_path_factory):
    """120 shops, 60 labelled, every tenth of them wrong: size and price tell the kinds apart."""
    rng = np.random.default_rng(0)
    rows = []
    for i in range(120):
        kind = KINDS[(i + (i % 20 == 9)) % 3] if i % 2 else ""
        size, price = round(50 * (i % 3) + rng.normal(0, 8), 2), int(10 * (i % 3) + rng.integers(0, 5))
        rows.append([f"shop {i}", kind, size, price, ("York", "Bath", "Leeds")[i % 3], f"line\n{i} " + "long " * 50])
    rows[4][3] = ""
    rows[9][4] = "Leeds"
    path = tmp_path_factory.mktemp("shops") / "shops.csv"
    write_csv(path, ["name", "kind", "size", "price", "town", "description"], rows)
    return path, rows


@pytest.fixture(scope="module")
def results(shops, tmp_path_factory):
    out = tmp_path_factory.mktemp("results")
    command = ["fit", str(shops[0]), "--label", "kind", "--id", "name", "--out", str(out), "--n-neighbors", "10"]
    done = SIIS.ok(*command, "--queries", "7")
    return out, done.stdout


def test_all_labels_are_in_a_file(shops, results):
    _, rows = shops
    out, said = results
    found = read_csv(out / "label_quality.csv")
    assert list(found[0]) == ["id", "given", "suggested", "quality", "rank"]
    assert {row["id"]: row["given"] for row in found} == {row[0]: row[1] for row in rows if row[1]}
    assert [row["rank"] for row in found] == [str(k) for k in range(1, 61)]
    assert [float(row["quality"]) for row in found] == sorted(float(row["quality"]) for row in found)
    issues = read_csv(out / "label_issues.csv")
    assert [(row["id"], row["suggested"], row["quality"]) for row in found[: len(issues)]] == [
        (row["id"], row["suggested"], row["quality"]) for row in issues
    ]
    assert "label_quality.csv" in said
    assert "label_quality.csv" in json.loads((out / "summary.json").read_text())["files"]


def test_what_to_label_next(shops, results):
    _, rows = shops
    out, said = results
    found = read_csv(out / "label_next.csv")
    assert list(found[0]) == ["id", "action", "likeliest", "probability", "gain"]
    assert len(found) == 7
    given = {row[0]: row[1] for row in rows}
    answers = {row["id"]: (row["label"], row["probability"]) for row in read_csv(out / "predictions.csv")}
    for row in found:
        assert row["action"] == ("check" if given[row["id"]] else "label")
        assert (row["likeliest"], row["probability"]) == answers[row["id"]]
    gains = [float(row["gain"]) for row in found]
    assert gains == sorted(gains, reverse=True)
    island = re.search(r'id="data">(.*?)</script>', (out / "report.html").read_text(encoding="utf-8"))[1]
    report = json.loads(island)
    assert [query["id"] for query in report["queries"]] == [row["id"] for row in found], "one list"
    assert not {row["id"] for row in found} & {row["id"] for row in read_csv(out / "label_issues.csv")}
    line = next(line for line in said.splitlines() if "these next: " in line)
    assert line.endswith("and 2 more (label_next.csv)")
    assert ", ".join(row["id"] for row in found[:5]) in line
    summary = json.loads((out / "summary.json").read_text())
    assert summary["options"]["queries"] == 7
    gain = summary["label_gain"]
    assert gain["labels"] == 60, "as many as are left to label"
    assert gain["low"] <= gain["gain"] <= gain["high"]
    low, high = (round(100 * gain[end], 1) + 0.0 for end in ("low", "high"))
    sentence = f"60 more labels would raise the accuracy (percentage points, 95 % interval: {low:.1f} to {high:.1f})"
    assert sentence in said
    assert gain["low"] < 0 < gain["high"], "sixty labels leave room for both"
    assert sentence in (out / "report.html").read_text(encoding="utf-8")
    assert report["label_gain"] == gain
    assert "label_next.csv" in summary["files"]


def test_without_selection_nothing_is_asked_and_labels_are_ranked_by_the_answer(siis, shops, tmp_path):
    fix = tmp_path / "fix.csv"
    write_csv(fix, ["id", "label"], [("shop 9", "bank")])
    fit = ("fit", shops[0], "--label", "kind", "--id", "name", "--out", tmp_path / "out", "--corrections", fix)
    (tmp_path / "out").mkdir()
    (tmp_path / "out" / "label_next.csv").write_text("advice of an earlier fit")
    done = siis.ok(*fit, *QUICK[:-1])
    assert (tmp_path / "out" / "label_next.csv").read_text() == "id,action,likeliest,probability,gain\n"
    assert "these next" not in done.stdout
    assert "the next" not in done.stdout
    assert json.loads((tmp_path / "out" / "summary.json").read_text())["label_gain"] is None
    found = read_csv(tmp_path / "out" / "label_quality.csv")
    assert len(found) == 60
    assert found[-1]["id"] == "shop 9", "verified ones last"
    assert found[-1]["given"] == found[-1]["suggested"] == "bank"
    doubted = [row for row in found if row["given"] != row["suggested"]]
    assert [row["id"] for row in doubted] == [row["id"] for row in read_csv(tmp_path / "out" / "label_issues.csv")]
    done = siis("fit", shops[0], "--label", "kind", "--out", tmp_path / "out", "--queries", "0")
    assert done.exit_code == 2


def test_results_of_the_first_version_are_not_corrected(siis, shops, tmp_path):
    out = tmp_path / "out"
    out.mkdir()
    (out / "summary.json").write_text('{"siis": "0.1.0", "options": {"data": "shops.csv"}}')
    write_csv(tmp_path / "fix.csv", ["id", "label"], [("shop 9", "bank")])
    assert "was written by siis 0.1" in siis.refused("corrections", tmp_path / "fix.csv", "--results", out, "--quiet")


def test_an_explanation_shows_cells_beside_the_neighbours(siis, shops, results):
    _, rows = shops
    done = siis.ok("explain", "shop 9", "--results", results[0])
    lines = done.stdout.splitlines()
    at = next(k for k, line in enumerate(lines) if line.startswith("classified as"))
    assert max(map(len, lines[at - 1 :])) <= 100
    assert lines[at - 1].split("  ")[-1].strip().startswith("shop ")
    shown = {line.split()[0]: line for line in lines[at + 1 :] if not line.startswith("*")}
    assert lines[at + 1].startswith("town"), "what sets it apart from its class comes first"
    assert "(description)" in shown, "no feature"
    assert "…" in shown["(description)"], "cut"
    assert "*" not in shown["(description)"], "no mark where nearly all differ"
    assert "*" in shown["town"]
    at = next(k for k, line in enumerate(lines) if line.startswith("* not as in the example"))
    assert " ".join(lines[at:-1]) == f"* not as in the example: {MARKED}"
    assert "not compared by" in lines[-1]
    found = json.loads(siis("explain", "shop 9", "--results", results[0], "--json").stdout)
    values = {column["name"]: column for column in found["values"]}
    assert list(values)[::3] == ["town", "description"]
    cells = {row[0]: row for row in rows}
    near = [cells[n["id"]] for n in found["neighbors"]]
    for k, name in enumerate(("size", "price", "town"), 2):
        assert values[name]["value"] == str(rows[9][k])
        assert values[name]["neighbors"] == [str(row[k]) for row in near]
    assert values["description"]["value"].startswith("line 9 long long")
    assert len(values["description"]["value"]) == 100
    sizes = np.array([row[2] for row in rows])
    assert values["size"]["differs"] == [bool(abs(row[2] - rows[9][2]) > sizes.std()) for row in near]
    assert values["town"]["differs"] == [row[4] != rows[9][4] for row in near]
    assert [values[name]["is_number"] for name in ("size", "price", "town")] == [True, True, False]


def test_numbers_stand_to_the_right(siis, results):
    lines = siis("explain", "shop 20", "--results", results[0]).stdout.splitlines()
    at = next(k for k, line in enumerate(lines) if line.startswith("classified as"))
    size, town = (next(line for line in lines[at:] if line.startswith(name)) for name in ("size", "town"))
    first = lines[at - 1].index("shop 20")
    assert town[first] != " "
    assert size[first] == " "


def test_missing_cells(results):
    saved = load_all(results[0] / "model.siis")
    extra = saved.extra
    i, j = extra["ids"].index("shop 4"), extra["ids"].index("shop 7")
    price = next(c for c in compare_columns(extra, i, [j, i], [True, True]) if c.name == "price")
    assert price.value == ""
    assert price.differs == [True, False]
    assert compare_columns(extra, i, [], []) == []
    for damage in ({"row_cells": ["1\n2", *extra["row_cells"][1:]]}, {"row_decimal": ";"}):
        with pytest.raises(ValueError, match=r"row_(cells are not 120 cells each|decimal is no point or comma)"):
            check_extra({**extra, **damage}, {"n_features_in_": 1}, saved.model.result_)


def test_a_model_keeps_a_table_unless_it_is_too_large(siis, shops, tmp_path, monkeypatch):
    data = read(shops[0], Roles(label="kind", id="name"))
    lines = data.rows.lines(100, 10**6)
    assert [text.count("\n") for text in lines] == [119] * 4
    n_bytes = sum(len(text.encode()) + 1 for text in lines)
    assert data.rows.lines(100, n_bytes) == lines
    assert data.rows.lines(100, n_bytes - 1) is None
    monkeypatch.setattr(outputs, "MOST_BYTES", 1000)
    out = tmp_path / "out"
    siis.ok("fit", shops[0], "--label", "kind", "--id", "name", "--out", out, *QUICK)
    assert "not kept in the model" in json.loads((out / "summary.json").read_text())["understood"][-1]
    said = siis("explain", "shop 9", "--results", out).stdout
    assert "Note: the cells of the table" in said
    found = json.loads(siis("explain", "shop 9", "--results", out, "--json").stdout)
    assert found["values"] == []
    assert found["values_note"] in said


def test_cells_are_kept_as_the_file_has_them(tmp_path):
    with (tmp_path / "in.csv").open("w", newline="", encoding="utf-8") as file:
        csv.writer(file).writerows(
            [["kind", "n", "note"], ["a", 1, "x\r\ny\tz"], ["b", 5, ""], ["a", 2, "é" * 11], ["b", 7, "é" * 10]]
        )
    rows = read(tmp_path / "in.csv", Roles(label="kind")).rows
    assert rows.lines(10, 1000) == ["1\n5\n2\n7", "x y z\n\n" + "é" * 9 + "…\n" + "é" * 10]
