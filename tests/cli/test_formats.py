"""From the export of a labelling tool to answers in its format, and back with corrections."""

import json

import openpyxl
import pytest

from cli_case import QUICK, read_csv, write_csv
from encoder_case import write_pictures
from tool_case import annotation, read_lines, sentences, tasks, write_json, write_lines

pytestmark = pytest.mark.slow


def test_label_studio_there_and_back(siis, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    found = tasks(80)
    write_json(tmp_path / "export.json", found)
    done = siis.ok("fit", "export.json", "--label", "topic", "--out", "results", "--seed", 0)
    assert "answers.json" in done.stdout
    assert "1 label marked as the truth: verified" in done.stderr
    written = json.loads((tmp_path / "results" / "answers.json").read_text(encoding="utf-8"))
    assert [task["id"] for task in written] == [task["id"] for task in found]
    assert "predictions.json" in done.stdout
    suspects = [task["id"] for task in written if task["data"]["siis_is_issue"]]
    listed = [int(row["id"]) for row in read_csv(tmp_path / "results" / "label_issues.csv")]
    assert sorted(suspects) == sorted(listed)
    assert 104 in suspects
    answer = {row["id"]: row["label"] for row in read_csv(tmp_path / "results" / "predictions.csv")}
    for task in written:
        (result,) = task["predictions"][-1]["result"]
        assert result["value"]["choices"] == [answer[str(task["id"])]]
    assert json.loads((tmp_path / "results" / "summary.json").read_text())["checked"] == 1

    later = written
    later[4]["annotations"] = [annotation("sport", {"id": 1, "email": "ann@example.org"})]
    write_json(tmp_path / "later.json", later)
    done = siis.ok("corrections", "later.json", "--results", "results")
    again = json.loads((tmp_path / "results" / "answers.json").read_text(encoding="utf-8"))
    assert again[4]["predictions"][-1]["result"][0]["value"]["choices"] == ["sport"]
    assert json.loads((tmp_path / "results" / "summary.json").read_text())["checked"] == 2

    done = siis.ok("predict", "results", "export.json")
    assert done.stdout.splitlines()[1].startswith("100,sport,")


def test_pictures_that_label_studio_names(siis, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    paths, _ = write_pictures(tmp_path / "media" / "upload" / "1", 24)
    found = [
        {
            "id": i,
            "data": {"image": f"/data/upload/1/{path.parent.name}/{path.name}"},
            "annotations": [annotation("ab"[i % 2])] if i % 3 else [],
        }
        for i, path in enumerate(paths)
    ]
    write_json(tmp_path / "export.json", found)
    assert "Name the folder of the files with --image-folder" in siis.refused(
        "fit", "export.json", "--out", "results"
    )
    done = siis.ok("fit", "export.json", "--image-folder", "media", "--out", "results", *QUICK)
    assert "data:image" in (tmp_path / "results" / "report.html").read_text(encoding="utf-8"), "they are shown"
    found[0]["annotations"] = [annotation("a")]
    write_json(tmp_path / "later.json", found)
    done = siis.ok("corrections", "later.json", "--results", "results", "--quiet")
    done = siis.ok("predict", "results", "later.json", "--image-folder", "media", "--quiet")
    assert done.stdout.splitlines()[1].startswith("0,a,")


def test_a_folder_of_doccano(siis, tmp_path):
    texts, topics = sentences()
    rows = [
        {"id": i, "text": text, "label": [topic]} for i, (text, topic) in enumerate(zip(texts, topics, strict=True))
    ]
    write_lines(tmp_path / "export" / "ann.jsonl", rows)
    write_lines(tmp_path / "export" / "bob.jsonl", rows[:20])
    out = tmp_path / "out"
    siis.ok("fit", tmp_path / "export", "--out", out, *QUICK)
    answers = read_lines((out / "answers.bob.jsonl").read_bytes())
    assert [one["siis"]["label"] for one in answers] == topics[:20]
    assert len(read_lines((out / "answers.ann.jsonl").read_bytes())) == 40


def test_a_malformed_line_is_named(siis, tmp_path):
    (tmp_path / "data.jsonl").write_text('{"text": "a", "label": "x"}\n{"text": }\n')
    assert "data.jsonl, line 2: must be JSON" in siis.refused(
        "fit", tmp_path / "data.jsonl", "--out", tmp_path / "out"
    )
    assert not (tmp_path / "out" / "report.html").exists()


def test_a_workbook(siis, table, tmp_path):
    path, ids, _, _ = table
    book = openpyxl.Workbook()
    page = book.create_sheet("July")
    rows = read_csv(path)
    page.append(list(rows[0]))
    for row in rows:
        page.append([row["name"], row["label"] or None, *map(float, list(row.values())[2:])])
    book.save(tmp_path / "book.xlsx")
    out = tmp_path / "out"
    done = siis.ok("fit", tmp_path / "book.xlsx", "--sheet", "July", "--id", "name", "--out", out, *QUICK)
    siis.ok("fit", path, "--id", "name", "--out", tmp_path / "csv", *QUICK)
    assert (out / "predictions.csv").read_bytes() == (tmp_path / "csv" / "predictions.csv").read_bytes()
    done = siis.ok("predict", out, tmp_path / "book.xlsx", "--sheet", "July", "--quiet")
    assert done.stdout.splitlines()[1].startswith(ids[0])
    assert "found none named May" in siis.refused("predict", out, tmp_path / "book.xlsx", "--sheet", "May", "--quiet")


def test_columns_of_cleanlab(siis, table, tmp_path):
    path, ids, labels, _ = table
    out = tmp_path / "out"
    done = siis.ok("fit", path, "--id", "name", "--out", out, "--issue-columns", "cleanlab", "--quiet")
    rows = read_csv(out / "label_issues.csv")
    assert list(rows[0]) == ["id", "is_label_issue", "label_quality", "given_label", "predicted_label"]
    assert [row["id"] for row in rows] == [name for name, label in zip(ids, labels, strict=True) if label]
    given = dict(zip(ids, labels, strict=True))
    assert all(row["given_label"] == given[row["id"]] for row in rows)
    flagged = [row for row in rows if row["is_label_issue"] == "True"]
    assert {row["is_label_issue"] for row in rows} == {"True", "False"}
    assert len(flagged) == json.loads((out / "summary.json").read_text())["suspects"]
    assert all(row["predicted_label"] != row["given_label"] for row in flagged)
    qualities = {row["id"]: row["quality"] for row in read_csv(out / "label_quality.csv")}
    assert all(row["label_quality"] == qualities[row["id"]] for row in rows)
    write_csv(tmp_path / "c.csv", ["id", "label"], [(flagged[0]["id"], flagged[0]["predicted_label"])])
    done = siis.ok("corrections", tmp_path / "c.csv", "--results", out, "--quiet")
    assert "is_label_issue" in (out / "label_issues.csv").read_text(), "the option is kept"
    done = siis("fit", path, "--out", out, "--issue-columns", "other")
    assert done.exit_code == 2
