"""Every example of the file has a label: the words speak of checking labels, not of spreading them."""

import json

import numpy as np
import pytest

from cli_case import SIIS, read_csv, write_csv

KINDS = ("bakery", "butcher", "bank")


@pytest.fixture(scope="module")
def results(tmp_path_factory):
    """90 shops, all labelled, every tenth label wrong: folder, what was said, ids of the wrong ones."""
    rng = np.random.default_rng(0)
    rows = []
    for i in range(90):
        kind = KINDS[(i + (i % 10 == 9)) % 3]
        rows.append(
            [f"shop {i}", kind, round(50 * (i % 3) + rng.normal(0, 8), 2), int(rng.integers(0, 5)) + 10 * (i % 3)]
        )
    folder = tmp_path_factory.mktemp("all")
    write_csv(folder / "shops.csv", ["name", "kind", "size", "price"], rows)
    command = ["fit", str(folder / "shops.csv"), "--label", "kind", "--id", "name", "--out", str(folder / "out")]
    done = SIIS.ok(*command, "--n-neighbors", "10")
    return folder / "out", done.stdout, {f"shop {i}" for i in range(9, 90, 10)}


def test_the_summary_says_that_all_have_labels(results):
    out, said, _ = results
    assert "All 90 examples have a given label (3 classes)." in said
    assert "classified into" not in said
    assert json.loads((out / "summary.json").read_text())["summary"][0] in said


def test_nothing_is_asked_to_be_labelled(results):
    out, said, _ = results
    assert {row["action"] for row in read_csv(out / "label_next.csv")} == {"check"}
    assert "\nCheck these next: shop " in said
    page = (out / "report.html").read_text(encoding="utf-8")
    page = page[: page.index('id="data"')]
    assert ">Check these next</h2>" in page
    assert ">Check next</a>" in page
    assert "whose check would help most" in page
    assert "Every example has a label." in page
    for silly in ("Label these next", "Label next", "whose label, or", "connected to a label"):
        assert silly not in page


def test_wrong_labels_are_found(results):
    out, _, wrong = results
    assert len({row["id"] for row in read_csv(out / "label_issues.csv")} & wrong) >= 7
    assert len(read_csv(out / "predictions.csv")) == len(read_csv(out / "label_quality.csv")) == 90
