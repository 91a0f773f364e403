"""Results and decisions belong to a table: nothing of one table is applied to another, or replaced unnoticed."""

import json
import shlex

import numpy as np
import pytest

from cli_case import QUICK, read_csv, write_csv
from siis.app.review import ReviewServer
from siis.decisions import JOURNAL, Decision, Journal

pytestmark = pytest.mark.slow


@pytest.fixture
def ended(monkeypatch):
    """A review that ends as soon as it serves; holds what it served."""
    served = []

    def serve(self, poll):
        served.append(self.session.state())

    monkeypatch.setattr(ReviewServer, "serve_forever", serve)
    return served


@pytest.fixture
def two_tables(tmp_path, monkeypatch):
    """Two tables without ids: examples are named by their row numbers in both."""
    monkeypatch.chdir(tmp_path)
    rng = np.random.default_rng(0)
    for name, classes in (("cars.csv", ("Small", "Large")), ("birds.csv", ("Hawk", "Gull"))):
        X = rng.standard_normal((40, 3)) + 3 * (np.arange(40) % 2)[:, None]
        labels = [classes[i % 2] if i < 30 else "" for i in range(40)]
        write_csv(tmp_path / name, ["label", "a", "b", "c"], zip(labels, *X.T, strict=True))
    return tmp_path


def fitted(siis, name, *more):
    done = siis.ok("fit", name, *QUICK[:-1], *more)
    return done


def decide(folder, *decisions):
    with Journal(folder, json.loads((folder / "summary.json").read_text())["table"], "ann") as journal:
        journal.add(*decisions)


def test_decisions_of_one_table_are_not_applied_to_another(siis, two_tables, ended):
    fitted(siis, "cars.csv")
    results = two_tables / "siis-results"
    decide(results, Decision("35", "accepted", "Small"))
    refused = siis("fit", "birds.csv", *QUICK)
    assert refused.exit_code == 1
    assert refused.stderr == (
        "siis: siis-results must be empty or hold results of the same table; it holds those of cars.csv. Choose "
        "another --out, or replace them with --overwrite.\n"
    )
    assert json.loads((results / "summary.json").read_text())["source"] == "cars.csv"
    done = fitted(siis, "birds.csv", "--overwrite")
    assert "the results of cars.csv in siis-results: replaced" in done.stderr
    said = "1 decision was made on another table: it stays in siis-results/decisions.jsonl and is not applied"
    assert said in done.stderr
    assert json.loads((results / "summary.json").read_text())["checked"] == 0
    reviewed = siis.ok("review", "siis-results", "--no-open")
    assert said in reviewed.stderr
    assert ended[-1]["decisions"] == []
    assert ended[-1]["isFitted"]
    assert read_csv(results / "checked_labels.csv") == []
    done = fitted(siis, "cars.csv", "--overwrite")  # its decisions have waited
    assert "1 checked label: verified, 1 of them saved in siis-results/decisions.jsonl" in done.stderr
    assert read_csv(results / "predictions.csv")[34]["label"] == "Small"


def test_a_second_fit_of_the_same_table_takes_its_decisions(siis, two_tables):
    fitted(siis, "cars.csv")
    results = two_tables / "siis-results"
    decide(results, Decision("1", "chosen", "Large"), Decision("2", "kept", "Large"), Decision("2", "undone", None))
    done = fitted(siis, "cars.csv")
    assert "1 checked label: verified, 1 of them saved in siis-results/decisions.jsonl" in done.stderr
    (row,) = read_csv(results / "checked_labels.csv")
    assert (row["id"], row["given"], row["label"], row["decision"], row["by"]) == (
        "1",
        "Small",
        "Large",
        "chosen",
        "ann",
    )
    assert row["at"] > "2026"
    written = [path.read_bytes() for path in sorted(results.iterdir())]
    fitted(siis, "cars.csv")
    assert [path.read_bytes() for path in sorted(results.iterdir())] == written  # the same input, the same bytes
    (two_tables / "cars.csv").rename(two_tables / "moved.csv")
    assert "1 checked label" in fitted(siis, "moved.csv").stderr  # a table is known by its content


def test_a_table_that_was_changed_is_another_one(siis, two_tables, ended):
    fitted(siis, "cars.csv")
    results = two_tables / "siis-results"
    decide(results, Decision("1", "chosen", "Large"))
    lines = (two_tables / "cars.csv").read_text().splitlines()
    (two_tables / "cars.csv").write_text("\n".join([lines[0], *lines[2:]]) + "\n")  # row 1 is now another car
    write_csv(two_tables / "fix.csv", ["id", "label"], [("2", "Small")])
    for command in (("review", "siis-results", "--no-open"), ("corrections", "fix.csv")):
        assert (
            "cars.csv must hold the ids and labels that siis fit has read; they have changed since"
            in siis.refused(*command)
        )
    done = fitted(siis, "cars.csv")  # one's own file may be corrected and fitted again
    assert "the results in siis-results are of other ids or labels of cars.csv: replaced" in done.stderr
    assert "not applied" in done.stderr
    assert read_csv(results / "checked_labels.csv") == []


def test_corrections_into_another_folder_bring_the_decisions_along(siis, two_tables):
    fitted(siis, "cars.csv", "--out", "one")
    decide(two_tables / "one", Decision("1", "chosen", "Large"))
    write_csv(two_tables / "fix.csv", ["id", "label"], [("2", "Small")])
    siis.ok("corrections", "fix.csv", "--results", "one", "--out", "two", "--quiet")
    rows = read_csv(two_tables / "two" / "checked_labels.csv")
    assert [(row["id"], row["given"], row["label"], row["decision"]) for row in rows] == [
        ("1", "Small", "Large", "chosen"),
        ("2", "Large", "Small", "corrected"),
    ]
    assert rows[0]["by"] == "ann"
    assert len((two_tables / "one" / JOURNAL).read_text().splitlines()) == 1
    fitted(siis, "cars.csv", "--out", "two")
    assert read_csv(two_tables / "two" / "checked_labels.csv") == rows
    fitted(siis, "birds.csv", "--out", "three")
    assert "three must be empty or hold results of the same table; it holds those of birds.csv" in siis.refused(
        "corrections", "fix.csv", "--results", "one", "--out", "three"
    )


def test_the_demo_is_reviewed_and_corrected_as_its_report_says(siis, tmp_path, monkeypatch, ended):
    monkeypatch.chdir(tmp_path)
    siis.ok("demo", "--quiet")
    siis.ok("review", "siis-demo", "--no-open")
    page = (tmp_path / "siis-demo" / "report.html").read_text()
    command = shlex.split(page.split("<code>siis ")[1].split("</code>")[0])
    assert command == ["corrections", "corrections.csv", "--results", "siis-demo"]
    worst = read_csv(tmp_path / "siis-demo" / "label_issues.csv")[0]
    write_csv(
        tmp_path / "corrections.csv", ["id", "label", "decision"], [(worst["id"], worst["suggested"], "accepted")]
    )
    siis.ok(*command, "--quiet")
    (row,) = read_csv(tmp_path / "siis-demo" / "checked_labels.csv")
    assert (row["id"], row["given"], row["label"]) == (worst["id"], worst["given"], worst["suggested"])
    assert "data:image/png" in (tmp_path / "siis-demo" / "report.html").read_text()


def test_decisions_on_a_table_that_has_grown_can_be_applied_by_id(siis, two_tables):
    fitted(siis, "cars.csv")
    results, path = two_tables / "siis-results", two_tables / "cars.csv"
    decide(results, Decision("35", "chosen", "Large"), Decision("36", "chosen", "Large"))
    decide(results, Decision("35", "chosen", "Small"), Decision("36", "undone", None), Decision("4", "kept", "Small"))
    path.write_text(path.read_text() + "Small,0,0,0\n")
    said = fitted(siis, "cars.csv").stderr
    assert "apply them with --corrections siis-results/decisions.jsonl" in said
    fitted(siis, "cars.csv", "--corrections", "siis-results/decisions.jsonl")
    assert {row["id"]: row["label"] for row in read_csv(results / "checked_labels.csv")} == {
        "35": "Small",
        "4": "Small",
    }
