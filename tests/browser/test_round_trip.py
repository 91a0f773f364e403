"""From a file to the report, through a reviewer's hands, and back into the fit."""

import csv

import numpy as np
import pytest

from cli_case import SIIS

pytestmark = pytest.mark.slow


def rows(path):
    with path.open(newline="", encoding="utf-8") as file:
        return {row["id"]: row for row in csv.DictReader(file)}


def test_reviewed_labels_change_the_result(browser, tmp_path):
    rng = np.random.default_rng(0)
    truth = np.arange(90) % 3
    X = rng.standard_normal((90, 4)) + 4 * np.eye(4)[truth]
    names = np.array(["=ant", "<b>bee</b>", 'c"at'])
    labels = names[truth].astype(object)
    for i in range(0, 24, 2):
        labels[i] = names[(truth[i] + 1) % 3]
    labels[45:] = ""
    with (tmp_path / "in.csv").open("w", newline="") as file:
        writer = csv.writer(file)
        writer.writerow(["id", "label", "a", "b", "c", "d"])
        writer.writerows(zip([f"@row, {i}" for i in range(90)], labels, *X.T, strict=True))
    fit = ("fit", tmp_path / "in.csv", "--label", "label", "--id", "id", "--n-neighbors", 5, "--quiet")
    SIIS.ok(*fit, "--out", tmp_path / "one")
    before = rows(tmp_path / "one" / "predictions.csv")

    page = browser.new_context(accept_downloads=True).new_page()
    page.goto((tmp_path / "one" / "report.html").as_uri())
    suspects = page.locator("#rows .id").all_text_contents()
    assert len(suspects) >= 8
    page.keyboard.press("j")  # takes hold of the first row
    page.keyboard.press("k")  # keep what the fit does not believe
    page.keyboard.press("a")
    page.reload()
    assert page.text_content("#progress-text").startswith("2 of ")
    with page.expect_download() as waiting:
        page.click("#download")
    waiting.value.save_as(tmp_path / "corrections.csv")
    page.context.close()

    SIIS.ok(*fit, "--out", tmp_path / "two", "--corrections", tmp_path / "corrections.csv")
    after = rows(tmp_path / "two" / "predictions.csv")
    kept, accepted = suspects[:2]
    kept, accepted = (name if name in after else f"'{name}" for name in (kept, accepted))
    assert after[kept]["label"] == after[kept]["given"] == before[kept]["given"] != before[kept]["label"]
    assert after[accepted]["given"] == after[accepted]["label"] != before[accepted]["given"]
    assert not {kept, accepted} & set(rows(tmp_path / "two" / "label_issues.csv"))
